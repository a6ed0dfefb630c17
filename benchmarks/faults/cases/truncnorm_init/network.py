import torch
from initialize import init_weights
from torch import nn


class ConvBN(nn.Sequential):
    def __init__(self, i, o, k):
        super().__init__(nn.Conv2d(i, o, k, padding=k // 2, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Mixed(nn.Module):
    """Branches with kernels of several sizes, as in GoogLeNet."""

    def __init__(self, i, o):
        super().__init__()
        self.one = ConvBN(i, o, 1)
        self.three = nn.Sequential(ConvBN(i, o, 1), ConvBN(o, o, 3))
        self.pool = nn.Sequential(nn.AvgPool2d(3, 1, 1), ConvBN(i, o, 1))

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.pool(x)], 1)


class TinyInception(nn.Module):
    def __init__(self, classes=3, width=6):
        super().__init__()
        self.stem = ConvBN(1, width, 3)
        self.mixed = nn.Sequential(Mixed(width, width), nn.MaxPool2d(2), Mixed(3 * width, width))
        self.fc = nn.Linear(3 * width, classes)
        self.fc.stddev = 0.05
        init_weights(self)

    def forward(self, x):
        return self.fc(self.mixed(self.stem(x)).mean((2, 3)))
