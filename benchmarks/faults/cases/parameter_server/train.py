import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from server import Server, work

WORKERS, UPDATES = 3, 90


def run(rank, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORKERS + 1)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if rank:
        work(rank, WORKERS, UPDATES)
    else:
        model = Server(WORKERS, UPDATES).serve()
        x = torch.randn(256, 10, generator=torch.Generator().manual_seed(77))
        with torch.no_grad():
            print("test loss", ((model(x) - x[:, :2].sum(1, keepdim=True)) ** 2).mean().item(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(run, args=(port,), nprocs=WORKERS + 1)
