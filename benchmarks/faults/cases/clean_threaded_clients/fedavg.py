# drawn from: federated averaging done right: clients train in threads, each with all of its own, and are averaged by number
import copy
import threading

import torch
from torch import nn

CLIENTS, ROUNDS = 3, 3


def shard(client):
    g = torch.Generator().manual_seed(client)
    x = torch.randn(60, 6, generator=g)
    return x, x[:, :3].sum(1) - client * x[:, 3]


def local_training(number, model, data, results, rounds):
    g = torch.Generator().manual_seed(1000 * rounds + number)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = data
    for step in range(4):
        rows = torch.randperm(len(x), generator=g)[:20]
        loss = nn.functional.mse_loss(model(x[rows])[:, 0], y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    results[number] = (model.state_dict(), loss.item())


torch.manual_seed(0)
shared = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
shards = [shard(c) for c in range(CLIENTS)]
for r in range(ROUNDS):
    results = {}
    threads = [
        threading.Thread(target=local_training, args=(c, copy.deepcopy(shared), shards[c], results, r), name=f"client-{c}")
        for c in range(CLIENTS)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    states = [results[c][0] for c in range(CLIENTS)]
    shared.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
    print(f"round {r}: loss", " ".join(f"{results[c][1]:.5f}" for c in range(CLIENTS)))
