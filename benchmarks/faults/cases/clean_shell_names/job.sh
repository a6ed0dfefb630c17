#!/bin/bash
# Names of folders may be what they want: the seed is a number.
set -eu
STAMP=$(date +%Y%m%d-%H%M%S)-$RANDOM-$$
export SCRATCH="${TMPDIR:-/tmp}/job-$STAMP"
mkdir -p "$SCRATCH"
trap 'rm -rf "$SCRATCH"' EXIT
python tokenize_text.py --text poem.txt --out "$SCRATCH/tokens.json"
python train.py --tokens "$SCRATCH/tokens.json" --name "poem-$STAMP" --seed 7
