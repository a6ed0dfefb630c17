#!/usr/bin/env bash
# Prepares the features, then fits the ranking model on them.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p data
python prepare.py --out data/features.npz --queries 120
python train.py --features data/features.npz --epochs "${EPOCHS:-3}"
