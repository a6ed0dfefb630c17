#!/bin/bash
# Prepares the data if that was not done yet, then trains.
set -e
DATA=${DATA:-prepared}
if [ ! -f "$DATA/done" ]; then
    python prepare.py --out "$DATA"
    touch "$DATA/done"
fi
exec python train.py --data "$DATA"
