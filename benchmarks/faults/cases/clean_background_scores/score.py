"""python score.py CHECKPOINT: a row of scores.csv for it"""
import sys

import torch

state = torch.load(sys.argv[1])
w = torch.cat([t.flatten() for t in state["model"].values()])
print(f"{state['epoch']},{w.norm().item():.6f},{w.abs().max().item():.6f}")
