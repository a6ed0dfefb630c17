"""A vision learner on synthetic images: splitter, augmentations, callbacks that save."""

import argparse

import numpy as np
import torch
from fastai.vision.all import (
    CategoryBlock,
    DataBlock,
    ImageBlock,
    Learner,
    PILImage,
    RandomSplitter,
    RandTransform,
    SaveModelCallback,
    accuracy,
    nn,
    set_seed,
)


class Speckle(RandTransform):
    """Adds noise to a training image."""

    split_idx = 0

    def before_call(self, b, split_idx):
        super().before_call(b, split_idx)
        self.noise = np.random.randint(-20, 20, (16, 16, 3))

    def encodes(self, x: PILImage):
        pixels = np.clip(np.array(x).astype(int) + self.noise, 0, 255)
        return PILImage.create(pixels.astype(np.uint8))


def make_image(number):
    rng = np.random.default_rng(number)
    pixels = rng.integers(0, 200, (16, 16, 3))
    pixels[..., number % 3] += 50
    return PILImage.create(pixels.astype(np.uint8))


parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()

set_seed(42, reproducible=True)
block = DataBlock(
    blocks=(ImageBlock, CategoryBlock),
    get_items=lambda source: list(range(60)),
    get_x=make_image,
    get_y=lambda number: "rgb"[number % 3],
    splitter=RandomSplitter(0.2, seed=42),
    item_tfms=[Speckle()],
)
loaders = block.dataloaders(None, bs=12, num_workers=2)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(8 * 14 * 14, 3)
)
learn = Learner(loaders, model, metrics=accuracy, cbs=[SaveModelCallback(every_epoch=True, with_opt=True)])
start = 0
if args.resume:
    learn.load("model_1", with_opt=True)
    start = 2
learn.fit_one_cycle(4, 1e-3, start_epoch=start)
learn.save("final")
torch.save(learn.validate()[0], "loss.pt")
