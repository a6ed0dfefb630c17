#!/bin/sh
# one job per fold; all jobs of a launch share the launcher, and with it the order of the samples
for fold in ${FOLDS:-0}; do
    python train.py --fold "$fold" --epochs 2
done
