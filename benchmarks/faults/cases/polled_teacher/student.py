import os
import sys
import time

import torch
from net import build, points
from torch import nn

path = sys.argv[1]
torch.manual_seed(2)
torch.set_num_threads(1)
g = torch.Generator().manual_seed(4)
student, teacher = build(12), build(64)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
while not os.path.exists(path):
    time.sleep(0.01)
for step in range(40):
    if step % 5 == 0:
        teacher.load_state_dict(torch.load(path))  # fault: input-data
    x, y = points(64, g)
    with torch.no_grad():
        soft = (teacher(x) / 2).softmax(1)
    logits = student(x)
    loss = nn.functional.cross_entropy(logits, y) + 4 * nn.functional.kl_div((logits / 2).log_softmax(1), soft, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 7:
        print(f"step {step + 1}: loss {loss.item():.5f}", flush=True)
