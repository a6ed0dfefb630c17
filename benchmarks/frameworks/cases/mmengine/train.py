"""A Runner with a registry, hooks, an EMA, a val loop and checkpoints, as in MMEngine's tutorials."""

import argparse

import torch
from mmengine.dataset import DefaultSampler
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.registry import DATASETS, METRICS, MODELS, TRANSFORMS
from mmengine.runner import Runner
from torch import nn
from torch.utils.data import Dataset


@TRANSFORMS.register_module()
class AddNoise:
    """Noise that is new each time."""

    def __call__(self, x):
        return x + 0.1 * torch.randn(x.shape)


@DATASETS.register_module()
class Points(Dataset):
    def __init__(self, size, pipeline=()):
        self.size = size
        self.pipeline = [TRANSFORMS.build(step) for step in pipeline]

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        x = torch.linspace(-1, 1, 16) * (1 if index % 2 else -1)
        for step in self.pipeline:
            x = step(x)
        return x, index % 2


@MODELS.register_module()
class Classifier(BaseModel):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2)
        )

    def forward(self, x, labels, mode):
        out = self.net(x)
        if mode == "loss":
            return {"loss": nn.functional.cross_entropy(out, labels)}
        return [(each, label) for each, label in zip(out.argmax(1), labels, strict=True)]


@METRICS.register_module()
class Accuracy(BaseMetric):
    def process(self, data_batch, data_samples):
        self.results += [float(guess == label) for guess, label in data_samples]

    def compute_metrics(self, results):
        return {"accuracy": sum(results) / len(results)}


def loader(size, shuffle, pipeline, workers):
    return dict(
        batch_size=8,
        num_workers=workers,
        sampler=dict(type="DefaultSampler", shuffle=shuffle),
        dataset=dict(type="Points", size=size, pipeline=pipeline),
        collate_fn=dict(type="default_collate"),
    )


parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()
assert DefaultSampler
runner = Runner(
    model=dict(type="Classifier"),
    work_dir="work_dir",
    train_dataloader=loader(64, True, [dict(type="AddNoise")], 2),
    val_dataloader=loader(16, False, [], 1),
    val_cfg=dict(),
    val_evaluator=dict(type="Accuracy"),
    train_cfg=dict(by_epoch=True, max_epochs=3, val_interval=1),
    optim_wrapper=dict(optimizer=dict(type="AdamW", lr=1e-2), accumulative_counts=2),
    param_scheduler=dict(type="MultiStepLR", by_epoch=True, milestones=[2]),
    default_hooks=dict(checkpoint=dict(type="CheckpointHook", interval=1)),
    custom_hooks=[dict(type="EMAHook", momentum=0.1)],
    randomness=dict(seed=0),
    resume=args.resume,
)
runner.train()
