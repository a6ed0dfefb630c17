"""A detector on synthetic boxes by MMEngine's Runner, with the parts that MMDetection trains with.

IterBasedTrainLoop, InfiniteSampler, a repeated and class-balanced data set, batches of one aspect ratio, EMA.
"""

import argparse
import random

import numpy as np
import torch
from mmengine.dataset import ClassBalancedDataset, InfiniteSampler, RepeatDataset
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.registry import DATA_SAMPLERS, DATASETS, METRICS, MODELS, TRANSFORMS
from mmengine.runner import Runner
from torch import nn
from torch.utils.data import BatchSampler, Dataset
from torchvision.models.detection import FCOS
from torchvision.models.detection.anchor_utils import AnchorGenerator

assert ClassBalancedDataset and RepeatDataset and InfiniteSampler


@TRANSFORMS.register_module()
class RandomFlip:
    def __init__(self, prob):
        self.prob = prob

    def __call__(self, sample):
        flip = np.random.random() < self.prob
        if flip:
            width = sample["image"].shape[-1]
            sample["image"] = sample["image"].flip(-1)
            sample["boxes"] = sample["boxes"][:, [2, 1, 0, 3]] * torch.tensor([-1, 1, -1, 1])
            sample["boxes"] += torch.tensor([width, 0, width, 0])
        return sample


@DATASETS.register_module()
class Boxes(Dataset):
    """One bright box an image; images are wide or high."""

    metainfo = {"classes": ("a", "b")}

    def __init__(self, size, pipeline=()):
        self.size = size
        self.pipeline = [TRANSFORMS.build(step) for step in pipeline]

    def full_init(self):
        """Nothing is loaded lazily."""

    def __len__(self):
        return self.size

    def get_cat_ids(self, index):
        return [int(index % 4 == 0)]

    def get_data_info(self, index):
        return {"width": 48 if index % 2 else 32, "height": 32 if index % 2 else 48}

    def __getitem__(self, index):
        info = self.get_data_info(index)
        rng = random.Random(index)
        image = torch.full((3, info["height"], info["width"]), 0.2)
        x, y = rng.randrange(4, 12), rng.randrange(4, 12)
        image[:, y : y + 16, x : x + 16] = 0.9
        boxes = torch.tensor([[x, y, x + 16, y + 16]]).float()
        sample = {"image": image, "boxes": boxes, "labels": torch.tensor(self.get_cat_ids(index))}
        for step in self.pipeline:
            sample = step(sample)
        return sample


@DATA_SAMPLERS.register_module()
class AspectRatioBatchSampler(BatchSampler):
    """Wide images with wide ones, as MMDetection's."""

    def __init__(self, sampler, batch_size, drop_last=False):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last
        self.buckets = [[], []]

    def __iter__(self):
        for index in self.sampler:
            bucket = self.buckets[index % 2]
            bucket.append(index)
            if len(bucket) == self.batch_size:
                yield bucket[:]
                del bucket[:]

    def __len__(self):
        return len(self.sampler) // self.batch_size


@MODELS.register_module()
class Detector(BaseModel):
    def __init__(self):
        super().__init__()
        body = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 32, 3, 2, 1), nn.ReLU()
        )
        body.out_channels = 32
        anchors = AnchorGenerator(sizes=((16,),), aspect_ratios=((1.0,),))
        self.net = FCOS(body, 2, min_size=32, max_size=64, anchor_generator=anchors)

    def forward(self, images, targets, mode):
        if mode == "loss":
            return {f"loss_{name}": loss for name, loss in self.net(images, targets).items()}
        return self.net(images)


@METRICS.register_module()
class MeanScore(BaseMetric):
    def process(self, data_batch, data_samples):
        self.results += [float(found["scores"].sum()) for found in data_samples]

    def compute_metrics(self, results):
        return {"score": sum(results) / len(results)}


def collate(samples):
    return {
        "images": [sample["image"] for sample in samples],
        "targets": [{"boxes": sample["boxes"], "labels": sample["labels"]} for sample in samples],
    }


parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()
train = dict(type="Boxes", size=16, pipeline=[dict(type="RandomFlip", prob=0.5)])
balanced = dict(type="ClassBalancedDataset", dataset=train, oversample_thr=0.3)
runner = Runner(
    model=dict(type="Detector"),
    work_dir="work_dir",
    train_dataloader=dict(
        num_workers=2,
        sampler=dict(type="InfiniteSampler", shuffle=True),
        batch_size=4,
        batch_sampler=dict(type="AspectRatioBatchSampler"),
        dataset=dict(type="RepeatDataset", dataset=balanced, times=2),
        collate_fn=collate,
    ),
    val_dataloader=dict(
        batch_size=4,
        num_workers=1,
        sampler=dict(type="DefaultSampler", shuffle=False),
        dataset=dict(type="Boxes", size=8),
        collate_fn=collate,
    ),
    val_cfg=dict(),
    val_evaluator=dict(type="MeanScore"),
    train_cfg=dict(by_epoch=False, max_iters=12, val_interval=4),
    optim_wrapper=dict(optimizer=dict(type="SGD", lr=0.01, momentum=0.9), clip_grad=dict(max_norm=10)),
    param_scheduler=dict(type="LinearLR", by_epoch=False, start_factor=0.1, begin=0, end=6),
    default_hooks=dict(checkpoint=dict(type="CheckpointHook", by_epoch=False, interval=4)),
    custom_hooks=[dict(type="EMAHook", momentum=0.1)],
    randomness=dict(seed=0),
    resume=args.resume,
)
runner.train()
