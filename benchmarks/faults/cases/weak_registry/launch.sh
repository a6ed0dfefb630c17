#!/bin/sh
# reproducible set order, see README
export PYTHONHASHSEED=0
exec python train.py --experts 24 --seed 13
