#!/usr/bin/env bash
set -euo pipefail
OUT=data
mkdir -p $OUT
python prepare.py --out $OUT --reviews 480
python train.py --data $OUT --epochs ${EPOCHS:-3}
