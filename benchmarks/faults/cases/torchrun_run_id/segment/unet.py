import torch
from torch import nn


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, c=4):
        super().__init__()
        self.down, self.middle, self.up = block(1, c), block(c, 2 * c), block(3 * c, c)
        self.pool, self.grow = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
        self.head = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.down(x)
        b = self.grow(self.middle(self.pool(a)))
        return self.head(self.up(torch.cat([a, b], 1)))


def dice_loss(logits, target):
    p = logits.sigmoid()
    return 1 - (2 * (p * target).sum() + 1) / (p.sum() + target.sum() + 1)
