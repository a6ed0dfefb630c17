# drawn from: Lightning-AI/pytorch-lightning#6988 done right: each rank seeds everything that it uses
import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    np.random.seed(rank)
    x = torch.randn(256, 6)
    data = TensorDataset(x, x.sin().sum(1, keepdim=True))
    sampler = DistributedSampler(data, shuffle=True, seed=1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1)))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for xb, yb in DataLoader(data, batch_size=16, sampler=sampler):
            xb = xb + torch.from_numpy(np.random.normal(0, 0.02, xb.shape)).float()
            loss = nn.functional.mse_loss(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if rank == 0:
            print("epoch", epoch, "loss", loss.item(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(run, args=(port,), nprocs=2)
