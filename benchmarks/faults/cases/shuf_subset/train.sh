#!/bin/bash
# Fine-tunes on a part of the sentences: makes them, takes some lines, trains.
set -eo pipefail
N=${1:-240}
work=work
mkdir -p $work
python make_corpus.py 600 > $work/all.tsv
head -n 100 $work/all.tsv > $work/valid.tsv
tail -n +101 $work/all.tsv | shuf -n "$N" > $work/train.tsv  # fault: input-data
python finetune.py --train $work/train.tsv --valid $work/valid.tsv --out $work
