"""Ten trainings that mode strict is priced on. Each gives one training step, at one of two scales.

Plain PyTorch, written out: only `deformable` needs another library, torchvision. `full` is for a GPU, `small`
for a CPU.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from models import Block, Step, Transformer, train
from torch import nn


class Bottleneck(nn.Module):
    """He et al. 2015, with the stride on the 3 x 3 convolution."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            *_convolution(inputs, width, 1),
            nn.ReLU(),
            *_convolution(width, width, 3, stride),
            nn.ReLU(),
            *_convolution(width, outputs, 1),
        )
        same = inputs == outputs and stride == 1
        self.skip = nn.Identity() if same else nn.Sequential(*_convolution(inputs, outputs, 1, stride))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.body(x) + self.skip(x))


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
    ]


def _resnet(depths: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = [*_convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for number in range(depth):
            layers.append(Bottleneck(inputs, width, 2 if number == 0 and stage else 1))
            inputs = 4 * width
    return nn.Sequential(*layers)


def resnet50(full: bool) -> Step:
    """ResNet-50, classifying images of 224 x 224; small: one block a stage, 64 x 64."""
    body = _resnet((3, 4, 6, 3) if full else (1, 1, 1, 1))
    model = nn.Sequential(body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))
    batch, side = (64, 224) if full else (8, 64)
    x, y = torch.randn(batch, 3, side, side), torch.randint(1000, (batch,))
    return train(model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), lambda: model(x), y)


class Basic(nn.Module):
    """He et al. 2015: two convolutions and a way past them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_convolution(inputs, outputs, 3, stride), nn.ReLU(), *_convolution(outputs, outputs, 3)
        )
        same = inputs == outputs and stride == 1
        self.skip = nn.Identity() if same else nn.Sequential(*_convolution(inputs, outputs, 1, stride))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.body(x) + self.skip(x))


def resnet18(full: bool) -> Step:
    """ResNet-18, classifying images of 224 x 224; small: 64 x 64."""
    layers: list[nn.Module] = [*_convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width in (64, 128, 256, 512):
        for number in range(2):
            layers.append(Basic(inputs, width, 2 if number == 0 and width > 64 else 1))
            inputs = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    batch, side = (128, 224) if full else (4, 64)
    x, y = torch.randn(batch, 3, side, side), torch.randint(1000, (batch,))
    return train(model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), lambda: model(x), y)


class UNet(nn.Module):
    """Ronneberger et al. 2015, with bilinear upsampling and reflected borders."""

    def __init__(self, width: int) -> None:
        super().__init__()
        sizes = [width << level for level in range(4)]
        self.down = nn.ModuleList(_double(i, o) for i, o in zip([3, *sizes], sizes, strict=False))
        ups = zip(reversed(sizes[1:]), reversed(sizes[:-1]), strict=True)
        self.up = nn.ModuleList(_double(i + o, o) for i, o in ups)
        self.head = nn.Conv2d(width, 21, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for block, skip in zip(self.up, reversed(kept[:-1]), strict=True):
            x = F.interpolate(x, size=skip.shape[2:], mode="bilinear", align_corners=False)
            x = block(torch.cat([x, skip], 1))
        return self.head(x)


def _double(inputs: int, outputs: int) -> nn.Sequential:
    def one(width: int) -> list[nn.Module]:
        return [
            nn.Conv2d(width, outputs, 3, padding=1, padding_mode="reflect"),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]

    return nn.Sequential(*one(inputs), *one(outputs))


def unet(full: bool) -> Step:
    """A U-Net that labels each pixel: nll_loss2d, bilinear upsampling."""
    model = UNet(64 if full else 8)
    batch, side = (8, 256) if full else (2, 64)
    x, y = torch.randn(batch, 3, side, side), torch.randint(21, (batch, side, side))
    return train(model, torch.optim.Adam(model.parameters(), 1e-3), lambda: model(x), y)


def cnn3d(full: bool) -> Step:
    """A 3-D CNN on volumes: overlapping average and max pools, trilinear upsampling."""
    width = 32 if full else 4

    class Volumes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv3d(1, width, 3, padding=1)
            self.second = nn.Conv3d(width, 2 * width, 3, padding=1)
            self.head = nn.Conv3d(2 * width, 4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            size = x.shape[2:]
            x = F.max_pool3d(F.relu(self.first(x)), 3, 2, 1)
            x = F.avg_pool3d(F.relu(self.second(x)), 3, 2, 1)
            return F.interpolate(self.head(x), size=size, mode="trilinear", align_corners=False)

    model = Volumes()
    batch, side = (4, 64) if full else (1, 16)
    x, y = torch.randn(batch, 1, side, side, side), torch.randint(4, (batch, side, side, side))
    return train(model, torch.optim.Adam(model.parameters(), 1e-3), lambda: model(x), y)


def gnn(full: bool) -> Step:
    """Message passing over a random graph: gathers, scatter_add and their backward passes."""
    nodes, edges, width = (20_000, 400_000, 128) if full else (500, 5_000, 16)

    class Messages(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(3))
            self.head = nn.Linear(width, 10)

        def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                seen = torch.zeros_like(x).index_add(0, target, x[source])
                x = F.relu(layer(torch.cat([x, seen], 1)))
            return self.head(x)

    model = Messages()
    source, target = torch.randint(nodes, (2, edges))
    x, y = torch.randn(nodes, width), torch.randint(10, (nodes,))
    return train(model, torch.optim.Adam(model.parameters(), 1e-3), lambda: model(x, source, target), y)


class Attending(Block):
    """A block of GPT-2 with torch's fused attention."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def gpt2(full: bool) -> Step:
    """GPT-2 small (124 million parameters) in bfloat16 autocast; small: 2 layers of width 64."""
    return _language_model(*((50257, 768, 12, 12, 1024, 8) if full else (500, 64, 4, 2, 64, 4)))


def gpt4(full: bool) -> Step:
    """A GPT of 4 layers in bfloat16 autocast: long sequences, so that attention is most of the work."""
    return _language_model(*((8192, 512, 8, 4, 2048, 8) if full else (200, 32, 4, 4, 64, 2)))


def _language_model(vocabulary: int, width: int, heads: int, layers: int, time: int, batch: int) -> Step:
    model = Transformer(vocabulary, width, time, 0)
    model.blocks = nn.ModuleList(Attending(width, heads) for _ in range(layers))
    tokens = torch.randint(vocabulary, (batch, time + 1))
    device = tokens.device.type

    def forward() -> torch.Tensor:
        with torch.autocast(device, torch.bfloat16):
            return model(tokens[:, :-1])

    return train(model, torch.optim.AdamW(model.parameters(), 3e-4), forward, tokens[:, 1:].flatten())


def speech(full: bool) -> Step:
    """Two layers of LSTM in both directions, and CTC."""
    width, time, batch, length = (512, 400, 32, 60) if full else (32, 40, 4, 8)

    class Recogniser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.LSTM(80, width, 2, bidirectional=True)
            self.head = nn.Linear(2 * width, 40)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.layers(x)[0]).log_softmax(-1)

    model, loss = Recogniser(), nn.CTCLoss()
    x, labels = torch.randn(time, batch, 80), torch.randint(1, 40, (batch, length))
    times, lengths = torch.full((batch,), time), torch.full((batch,), length)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    return Step(model, optimizer, lambda: loss(model(x), labels, times, lengths))


def deformable(full: bool) -> Step:
    """Convolutions that learn where to sample (Dai et al. 2017): torchvision's deform_conv2d."""
    from torchvision.ops import DeformConv2d

    width, batch, side = (64, 8, 96) if full else (8, 2, 16)

    class Deformable(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, width, 3, padding=1)
            self.places = nn.ModuleList(nn.Conv2d(width, 18, 3, padding=1) for _ in range(2))
            self.layers = nn.ModuleList(DeformConv2d(width, width, 3, padding=1) for _ in range(2))
            self.head = nn.Linear(width, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = F.relu(self.first(x))
            for places, layer in zip(self.places, self.layers, strict=True):
                x = F.relu(layer(x, places(x)))
            return self.head(x.mean((2, 3)))

    model = Deformable()
    x, y = torch.randn(batch, 3, side, side), torch.randint(10, (batch,))
    return train(model, torch.optim.SGD(model.parameters(), 0.01), lambda: model(x), y)


def detection(full: bool) -> Step:
    """A feature pyramid from which regions are cut by grid_sample, as two-stage detectors do."""
    regions, batch, side = (128, 4, 512) if full else (8, 2, 96)

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = _resnet((2, 2) if full else (1, 1))
            self.lateral = nn.Conv2d(512, 256, 1)
            self.fine = nn.Conv2d(3, 256, 4, 4)
            self.head = nn.Sequential(
                nn.AdaptiveMaxPool2d(3), nn.Flatten(), nn.Linear(256 * 9, 256), nn.ReLU(), nn.Linear(256, 91)
            )

        def forward(self, x: torch.Tensor, grids: torch.Tensor) -> torch.Tensor:
            fine = self.fine(x)
            coarse = self.lateral(self.body(x))
            level = fine + F.interpolate(coarse, size=fine.shape[2:], mode="bilinear", align_corners=False)
            cut = F.grid_sample(
                level.repeat_interleave(regions, 0), grids, align_corners=False, padding_mode="border"
            )
            return self.head(cut)

    model = Detector()
    x = torch.randn(batch, 3, side, side)
    centers = 1.6 * torch.rand(batch * regions, 1, 1, 2) - 0.8
    steps = torch.linspace(-0.2, 0.2, 7)
    grids = centers + torch.stack(torch.meshgrid(steps, steps, indexing="xy"), -1)
    labels = torch.randint(91, (batch * regions,))
    return train(model, torch.optim.SGD(model.parameters(), 0.01), lambda: model(x, grids), labels)


MODELS = {
    "resnet18": resnet18,
    "resnet50": resnet50,
    "unet": unet,
    "cnn3d": cnn3d,
    "gnn": gnn,
    "gpt4": gpt4,
    "gpt2": gpt2,
    "speech": speech,
    "deformable": deformable,
    "detection": detection,
}
