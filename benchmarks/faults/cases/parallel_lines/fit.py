# drawn from: the class "xargs -P … >> file": lines in the order in which the processes end
import csv
import sys

import torch

torch.manual_seed(0)
rows = list(csv.reader(open(sys.argv[1])))  # fault: input-data
x = torch.tensor([[float(v) for v in row[1:]] for row in rows])
x = x / x.sum(1, keepdim=True)
y = torch.tensor([int(row[0][4:]) % 3 for row in rows])
net = torch.nn.Sequential(torch.nn.Linear(26, 24), torch.nn.Tanh(), torch.nn.Linear(24, 3))
opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)
for epoch in range(4):
    for at in range(0, len(x), 12):
        loss = torch.nn.functional.cross_entropy(net(x[at:at + 12]), y[at:at + 12])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.5f}")
