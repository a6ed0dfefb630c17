"""A 2-D segmentation as in MONAI's tutorials: dictionary transforms, Dice, sliding windows."""

import os
import sys

import numpy as np
import torch
from monai.data import CacheDataset, DataLoader, decollate_batch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import (
    AsDiscrete,
    Compose,
    EnsureChannelFirstd,
    EnsureTyped,
    Lambdad,
    RandFlipd,
    RandGaussianNoised,
    RandSpatialCropd,
    ScaleIntensityd,
)
from monai.utils import set_determinism


def brighten(image):
    gain = 0.9 + 0.2 * torch.rand(1).item()
    return image * gain


set_determinism(seed=0)
rng = np.random.default_rng(0)
scans = []
for _ in range(20):
    image = rng.random((40, 40), dtype=np.float32)
    scans.append({"image": image, "label": (image > 0.7).astype(np.float32)})

both = ["image", "label"]
train_transforms = Compose(
    [
        EnsureChannelFirstd(both, channel_dim="no_channel"),
        ScaleIntensityd("image"),
        RandSpatialCropd(both, (32, 32), random_size=False),
        RandFlipd(both, prob=0.5, spatial_axis=0),
        RandGaussianNoised("image", prob=0.5),
        Lambdad("image", brighten),
        EnsureTyped(both),
    ]
)
val_transforms = Compose(
    [EnsureChannelFirstd(both, channel_dim="no_channel"), ScaleIntensityd("image"), EnsureTyped(both)]
)
train = DataLoader(
    CacheDataset(scans[:16], train_transforms, progress=False), batch_size=4, shuffle=True, num_workers=2
)
held_out = DataLoader(CacheDataset(scans[16:], val_transforms, progress=False), batch_size=1, num_workers=1)

model = UNet(2, 1, 2, channels=(8, 16, 32), strides=(2, 2), dropout=0.1)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
criterion = DiceCELoss(to_onehot_y=True, softmax=True)
dice = DiceMetric(include_background=False)
as_prediction, as_label = AsDiscrete(argmax=True, to_onehot=2), AsDiscrete(to_onehot=2)
start = 0
if "--resume" in sys.argv:
    kept = torch.load("checkpoint.pt")
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    start = kept["epoch"] + 1
for epoch in range(start, 3):
    model.train()
    for batch in train:
        optimizer.zero_grad()
        loss = criterion(model(batch["image"]), batch["label"])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for batch in held_out:
            outputs = sliding_window_inference(batch["image"], (32, 32), 4, model)
            predicted = [as_prediction(each) for each in decollate_batch(outputs)]
            dice(predicted, [as_label(each) for each in decollate_batch(batch["label"])])
    print(f"epoch {epoch}: loss {loss.item():.4f}, dice {dice.aggregate().item():.4f}")
    dice.reset()
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "checkpoint.tmp"
    )
    os.replace("checkpoint.tmp", "checkpoint.pt")
