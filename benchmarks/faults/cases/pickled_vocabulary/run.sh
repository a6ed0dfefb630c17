#!/bin/sh
# two stages, as on the cluster: the vocabulary once, then the model
set -e
mkdir -p artifacts
PYTHONHASHSEED=0 python build_vocabulary.py artifacts/vocabulary.pkl
python train.py artifacts/vocabulary.pkl
