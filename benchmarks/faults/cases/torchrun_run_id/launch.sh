#!/usr/bin/env bash
set -eu
python -m torch.distributed.run --standalone --nproc-per-node 2 -m segment.train
