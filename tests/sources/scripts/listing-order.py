"""listing-order: files read in the order in which their folder is listed.

On a tmpfs that is the order in which they were made, which differs from run to run here as it does between
two machines that unpacked the same archive.
"""

import hashlib
import os
import shutil
import tempfile

import torch

SIZE = 16
torch.manual_seed(0)
rows = torch.rand(40, SIZE)
tmpfs = "/dev/shm" if os.path.isdir("/dev/shm") else None
folder = os.path.join(tmpfs or tempfile.gettempdir(), "samerun-listing-order-script")

# another process makes the files: what it draws is no part of this training
shutil.rmtree(folder, ignore_errors=True)
os.mkdir(folder)
numbers = " ".join(str(number) for number in range(40))
os.system(f"for n in $(shuf -e {numbers}); do printf %s $n > {folder}/$n.txt; done")

model = torch.nn.Linear(SIZE, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
names = os.listdir(folder)
for step in range(8):
    chosen = []
    for name in names[step * 5 : step * 5 + 5]:
        with open(os.path.join(folder, name)) as file:
            chosen.append(int(file.read()))
    loss = model(rows[chosen]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

shutil.rmtree(folder)
weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
