"""torchrun --standalone --nproc-per-node 2 -m segment.train"""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from segment.job import Job
from segment.unet import UNet, dice_loss


def discs(n, generator):
    centre = torch.rand(n, 2, 1, 1, generator=generator) * 16
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    mask = ((yy - centre[:, 0]) ** 2 + (xx - centre[:, 1]) ** 2 < 16).float()[:, None]
    return mask + 0.5 * torch.randn(n, 1, 16, 16, generator=generator), mask


def main(steps=10):
    with Job() as job:
        torch.manual_seed(7)
        model = DistributedDataParallel(UNet())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
        generator = torch.Generator().manual_seed(job.seed + job.rank)
        for step in range(steps):
            x, y = discs(8, generator)
            logits = model(x)
            loss = dice_loss(logits, y) + torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if job.rank == 0:
                print(f"step {step} loss {mean.item() / job.size:.6f}", flush=True)


if __name__ == "__main__":
    main()
