# drawn from: ultralytics: a model is built and run once to see its strides, before anything is seeded
"""Segment blobs with a small U-shaped network."""
import json
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Options:
    size: int = 24
    width: int = 8
    batch: int = 16
    steps: int = 30
    lr: float = 5e-3
    seed: int = 6


class UNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU())
        self.down3 = nn.Sequential(nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1), nn.ReLU())
        self.up = nn.Conv2d(4 * width, width, 3, padding=1)
        self.out = nn.Conv2d(2 * width, 1, 1)

    def features(self, x):
        one = self.down1(x)
        two = self.down2(one)
        return one, two, self.down3(two)

    def forward(self, x):
        one, two, three = self.features(x)
        x = torch.relu(self.up(torch.cat([two, F.interpolate(three, scale_factor=2.0)], 1)))
        return self.out(torch.cat([one, F.interpolate(x, scale_factor=2.0)], 1))


def strides(width, size):
    """By how much each level shrinks its input: found by trying it."""
    model = UNet(width)
    with torch.no_grad():
        levels = model.features(torch.zeros(1, 1, size, size))
    return [size // level.shape[-1] for level in levels]


def blobs(count, size, generator):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    center = torch.rand(count, 2, 1, 1, generator=generator) * size
    radius = 3 + 3 * torch.rand(count, 1, 1, generator=generator)
    mask = ((yy - center[:, 0]) ** 2 + (xx - center[:, 1]) ** 2 < radius**2).float()[:, None]
    return mask + 0.5 * torch.randn(count, 1, size, size, generator=generator), mask


def iou(model, images, masks):
    model.eval()
    with torch.no_grad():
        found = model(images) > 0
    model.train()
    both = (found & masks.bool()).sum().item()
    return both / max(1, (found | masks.bool()).sum().item())


def main():
    options = Options()
    steps_down = strides(options.width, options.size)
    if options.size % max(steps_down):
        raise SystemExit(f"size must be a multiple of {max(steps_down)}")
    print("strides", steps_down)

    torch.manual_seed(options.seed)
    model = UNet(options.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    generator = torch.Generator().manual_seed(options.seed)
    val = blobs(40, options.size, torch.Generator().manual_seed(100))
    for step in range(options.steps):
        images, masks = blobs(options.batch, options.size, generator)
        loss = F.binary_cross_entropy_with_logits(model(images), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f} iou {iou(model, *val):.3f}")
    with open("options.json", "w") as out:
        json.dump({**asdict(options), "strides": steps_down, "iou": iou(model, *val)}, out)


if __name__ == "__main__":
    main()
