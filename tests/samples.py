"""A dataset that draws from every library there is, for the tests of samerun.data.

Run as a script it is one rank of several: `python samples.py OUT CONFIGS`, ranks told apart by RANK.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from samerun.data import DataLoader, Sampler, sample_stream, worker_init_fn
from samerun.digest import digest_value

SAMPLES, GLOBAL_BATCH, EPOCHS = 40, 8, 3


class RandomCrop(torch.nn.Module):
    """As torchvision.transforms.v2 does it: parameters drawn from torch's global generator, then applied."""

    def make_params(self) -> dict[str, int]:
        top, left = torch.randint(0, 3, (2,)).tolist()
        return {"top": top, "left": left}

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        params = self.make_params()
        return image[params["top"] : params["top"] + 4, params["left"] : params["left"] + 4]


class Images(Dataset):
    """6 x 6 images, augmented through python, NumPy (old and new) and torch."""

    def __init__(self, samples: int = SAMPLES) -> None:
        self.images = torch.arange(samples * 36, dtype=torch.float32).view(samples, 6, 6)
        self.crop = RandomCrop()

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> dict[str, Any]:
        image = self.crop(self.images[index])
        if random.random() < 0.5:
            image = image.flip(0)
        image = image * np.random.uniform(0.5, 1.5) + torch.randn(4, 4)
        image = image + float(sample_stream("noise").numpy().normal())
        return {"index": index, "image": image, "label": random.gauss(0, 1), "legacy": np.random.randn()}


def sample_digests(loader: Any, epochs: int = EPOCHS) -> list[list[list[tuple[int, str]]]]:
    """For each epoch and batch, the index and the digest of every sample."""
    return [
        [
            [
                (int(index), digest_value({key: value[n] for key, value in batch.items()}).hex())
                for n, index in enumerate(batch["index"])
            ]
            for batch in loader
        ]
        for _ in range(epochs)
    ]


def load(config: dict[str, Any]) -> list[list[list[tuple[int, str]]]]:
    """All epochs of a loader as one rank sees them."""
    config = dict(config)
    world_size, rank = config.pop("world_size"), config.pop("rank")
    sampler = Sampler(Images(), seed=5, rank=rank, world_size=world_size)
    loader = DataLoader(Images(), GLOBAL_BATCH // world_size, sampler=sampler, seed=5, **config)
    return sample_digests(loader)


def whole(ranks: list[Any]) -> list[list[list[Any]]]:
    """The global batches, from those of each rank: their samples take turns."""
    return [
        [
            [sample for turn in zip(*batches, strict=True) for sample in turn]
            for batches in zip(*epochs, strict=True)
        ]
        for epochs in zip(*ranks, strict=True)
    ]


class Noise(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([random.random(), np.random.rand(), torch.rand(1).item()]).double()


def drawn_by_rank(rank: int, epochs: int = 2) -> list[float]:
    """What a stock loader with our worker_init_fn draws on a rank whose global seed is everybody's."""
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), "2"
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Noise(), 2, num_workers=2, worker_init_fn=worker_init_fn)
    return [float(value) for _ in range(epochs) for batch in loader for value in batch.ravel()]


if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    own, count = torch.distributed.get_rank(), torch.distributed.get_world_size()
    found = [load({"world_size": count, "rank": own, **config}) for config in json.loads(sys.argv[2])]
    with open(f"{sys.argv[1]}.{own}", "w") as file:
        json.dump(found, file)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    os._exit(0)
