"""YOLO from a configuration, on a small data set, by a trainer with an augmentation of one's own."""

import sys
from pathlib import Path

import torch
from ultralytics import YOLO
from ultralytics.models.yolo.detect import DetectionTrainer


class Brightened(DetectionTrainer):
    """Changes the brightness of each image."""

    def preprocess_batch(self, batch):
        batch = super().preprocess_batch(batch)
        gain = 0.8 + 0.4 * torch.rand(len(batch["img"]), 1, 1, 1)
        batch["img"] = (batch["img"] * gain).clamp(0, 1)
        return batch


if "--resume" in sys.argv:
    model = YOLO("runs/box/weights/last.pt")
    model.train(trainer=Brightened, resume=True)
else:
    model = YOLO("yolo11n.yaml")
    model.train(
        trainer=Brightened,
        data="data.yaml",
        epochs=3,
        imgsz=64,
        batch=4,
        nbs=4,
        seed=0,
        project=str(Path("runs").resolve()),
        name="box",
        exist_ok=True,
        device="cpu",
        amp=False,
        plots=False,
    )
