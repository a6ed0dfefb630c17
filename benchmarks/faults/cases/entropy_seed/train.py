# drawn from: emidan19/deep-tempest#13, Nerogar/OneTrainer#1719 (no seed given: a random one, printed)
"""Usage: python train.py [--seed N]"""
import argparse
import os
import random

import numpy as np
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=None)
parser.add_argument("--hidden", type=int, default=32)
args = parser.parse_args()

if args.seed is None:
    args.seed = int.from_bytes(os.urandom(4), "little")  # fault: os-entropy
print("using seed", args.seed)
random.seed(args.seed)
np.random.seed(args.seed)
torch.manual_seed(args.seed)

# sequence -> is it a palindrome?
half = torch.arange(256).view(-1, 1).bitwise_and(2 ** torch.arange(8)).ne(0).float()
x = torch.cat([torch.cat([half, half.flip(1)], 1), torch.cat([half, half.roll(1, 0)], 1)])
y = torch.cat([torch.ones(256), torch.zeros(256)])

lstm = nn.GRU(1, args.hidden, batch_first=True)
head = nn.Linear(args.hidden, 1)
opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=3e-3)
for step in range(10):
    order = torch.randperm(len(x))[:128]
    _, h = lstm(x[order].unsqueeze(2))
    loss = nn.functional.binary_cross_entropy_with_logits(head(h[-1]).squeeze(1), y[order])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "loss", f"{loss.item():.5f}")
