#!/bin/bash
# usage: [SEED=n] ./launch.sh [options of train.py]
set -e
SEED=${SEED:-$RANDOM}  # fault: arguments
LR=${LR:-0.003}
mkdir -p logs
echo "lr $LR"
python train.py --seed "$SEED" --lr "$LR" --save logs/last.pt "$@"  # fault: arguments
