import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from .dist import set_random_seed


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        dist.init_process_group("gloo")
        self.rank = dist.get_rank()
        set_random_seed(cfg.get("seed"), cfg.get("diff_rank_seed", False))
        model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
        self.model = DistributedDataParallel(model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg["lr"], momentum=0.9)

    def data(self):
        g = torch.Generator().manual_seed(1)
        x = torch.randn(384, 12, generator=g)
        return TensorDataset(x, x[:, :3].argmax(1))

    def train(self):
        data = self.data()
        sampler = DistributedSampler(data, shuffle=True, seed=0)
        loader = DataLoader(data, batch_size=self.cfg["batch"], sampler=sampler)
        for epoch in range(self.cfg["epochs"]):
            sampler.set_epoch(epoch)
            for x, y in loader:
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            if self.rank == 0:
                print(f"Epoch [{epoch + 1}] loss: {loss.item():.4f}", flush=True)
        dist.destroy_process_group()
