# drawn from: Lightning-AI/pytorch-lightning#6988 and its like: the main process is seeded, the ranks are not
"""Two ranks over gloo."""
import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def train(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    g = torch.Generator().manual_seed(rank)
    for step in range(10):
        x = torch.randn(32, 10, generator=g)
        y = x[:, :3].sum(1, keepdim=True)
        x = x + torch.from_numpy(np.random.normal(0, 0.1, x.shape)).float()  # fault: numpy-global
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if rank == 0 and step % 3 == 0:
            print(f"step {step} loss {loss.item():.5f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    np.random.seed(0)
    mp.spawn(train, args=(2, free_port()), nprocs=2)
