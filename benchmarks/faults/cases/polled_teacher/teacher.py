# drawn from: codistillation (Anil et al., 2018): the other model's checkpoint is read again now and then, whichever is there
import os
import sys

import torch
from net import build, points

torch.manual_seed(1)
torch.set_num_threads(1)
g = torch.Generator().manual_seed(3)
model = build(64)
weights = list(model.parameters())
for step in range(1500):
    x, y = points(64, g)
    loss = torch.nn.functional.cross_entropy(model(x), y)
    for w, d in zip(weights, torch.autograd.grad(loss, weights)):
        w.data -= 0.2 * d
    if step % 10 == 0:
        torch.save(model.state_dict(), sys.argv[1] + ".part")
        os.replace(sys.argv[1] + ".part", sys.argv[1])
