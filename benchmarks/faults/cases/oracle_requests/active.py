# drawn from: the class "a server with a seed, asked by many at once": the answers are seeded, who asks first is not
import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import torch
from oracle import serve
from torch import nn


def ask(url, point):
    request = urllib.request.Request(url, json.dumps(point).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["label"]


def entropy(model, x):
    p = model(x).softmax(1).clamp_min(1e-6)
    return -(p * p.log()).sum(1)


def main():
    torch.manual_seed(31)
    server = serve()
    url = f"http://127.0.0.1:{server.server_port}/label"
    pool = torch.randn(300, 2)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    x, y = torch.empty(0, 2), torch.empty(0, dtype=torch.long)
    for turn in range(3):
        with torch.no_grad():
            chosen = entropy(model, pool).topk(32).indices
        with ThreadPoolExecutor(8) as threads:
            labels = list(threads.map(lambda p: ask(url, p), pool[chosen].tolist()))  # fault: thread-scheduling
        x, y = torch.cat([x, pool[chosen]]), torch.cat([y, torch.tensor(labels)])
        keep = torch.ones(len(pool), dtype=torch.bool)
        keep[chosen] = False
        pool = pool[keep]
        for _ in range(8):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"turn {turn}: {len(x)} labels, loss {loss.item():.6f}")
    server.shutdown()


if __name__ == "__main__":
    main()
