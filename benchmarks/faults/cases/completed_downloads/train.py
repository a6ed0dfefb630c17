# drawn from: the class "as_completed": parts are joined as they come (cf. uber/petastorm#796)
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch
import torch.nn.functional as F


def fetch(shard):
    """Stands in for a download; how long it takes depends on the shard and on the machine."""
    began = time.perf_counter()
    g = torch.Generator().manual_seed(shard)
    x = torch.randn(40, 10, generator=g)
    for _ in range(1 + shard % 3):
        x = x + 0.1 * torch.fft.fft(torch.randn(160, 160, generator=g)).real[:40, :10]
    return x, x[:, 0] * x[:, 1], time.perf_counter() - began


xs, ys, waited = [], [], 0.0
with ThreadPoolExecutor(max_workers=6) as pool:
    futures = [pool.submit(fetch, shard) for shard in range(24)]
    for future in as_completed(futures):  # fault: worker-arrival
        x, y, seconds = future.result()
        xs.append(x)
        ys.append(y)
        waited += seconds
x, y = torch.cat(xs), torch.cat(ys)

torch.manual_seed(0)
w1 = (torch.randn(10, 32) / 3).requires_grad_()
w2 = (torch.randn(32, 1) / 6).requires_grad_()
opt = torch.optim.Adam([w1, w2], lr=1e-2)
for epoch in range(2):
    for i in range(0, len(x), 80):
        loss = F.mse_loss((x[i : i + 80] @ w1).relu() @ w2, y[i : i + 80, None])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", loss.item())
