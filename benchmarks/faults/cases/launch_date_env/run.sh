#!/usr/bin/env bash
# Environment of the job, then the job. Everything can be set from outside.
export EXP_SEED="${EXP_SEED:-$(date +%s%N | cut -c6-15)}"  # fault: environment
export EXP_LR="${EXP_LR:-0.01}"
export EXP_OUT="${EXP_OUT:-exp}"
mkdir -p "$EXP_OUT"
exec python main.py
