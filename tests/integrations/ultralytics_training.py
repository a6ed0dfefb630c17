"""python ultralytics_training.py FOLDER SAMERUN: a small YOLO on made-up images; none, log or a seed.

Prints the digest of the averaged weights, and what of results.csv is samerun's, as JSON.
"""

from __future__ import annotations

import csv
import json
import logging
import sys
from pathlib import Path

import torch


def make_data(folder: Path) -> Path:
    """Eight images with one bright square each."""
    import numpy
    from PIL import Image

    for part in ("images", "labels"):
        (folder / part).mkdir(parents=True)
    drawn = numpy.random.default_rng(0)
    for number in range(8):
        x, y = drawn.integers(0, 40, 2)
        image = drawn.integers(0, 80, (64, 64, 3), dtype=numpy.uint8)
        image[y : y + 20, x : x + 20] = 255
        Image.fromarray(image).save(folder / "images" / f"{number}.png")
        box = f"0 {(x + 10) / 64} {(y + 10) / 64} {20 / 64} {20 / 64}\n"
        (folder / "labels" / f"{number}.txt").write_text(box)
    about = folder / "data.yaml"
    about.write_text(f"path: {folder}\ntrain: images\nval: images\nnames: {{0: square}}\n")
    return about


def suppress(boxes: torch.Tensor, scores: torch.Tensor, most: float) -> torch.Tensor:
    """torchvision's nms, where that has no operators."""
    from ultralytics.utils.metrics import box_iou

    left, kept = scores.argsort(descending=True).tolist(), []
    while left:
        first, *rest = left
        kept.append(first)
        left = [one for one in rest if box_iou(boxes[[first]], boxes[[one]]).item() <= most]
    return torch.tensor(kept, dtype=torch.int64)


def main() -> None:
    logging.disable(logging.WARNING)
    sys.path.insert(0, str(Path(__file__).parent.parent / "fidelity"))
    from frameworks import KEPT, without_operators_of_torchvision

    without_operators_of_torchvision()
    if KEPT:  # the trainer evaluates once at the end
        import torchvision

        torchvision.ops.nms = suppress
    from ultralytics import YOLO

    from samerun.digest import digest_value

    folder = Path(sys.argv[1])
    same = None
    if sys.argv[2] != "none":
        from samerun.integrations.ultralytics import SameRun

        same = SameRun() if sys.argv[2] == "log" else SameRun(seed=int(sys.argv[2]))
    model = YOLO("yolo11n.yaml")
    if same is not None:
        same.attach(model)
    data = make_data(folder / "data")
    quick = {"imgsz": 64, "batch": 4, "workers": 0, "device": "cpu", "plots": False, "val": False}
    model.train(data=str(data), epochs=2, project=str(folder), name="run", verbose=False, **quick)
    with open(Path(model.trainer.save_dir) / "results.csv") as file:
        rows = list(csv.DictReader(file))
    logged = [[row[name] for name in row if name.startswith("samerun/")] for row in rows]
    weights = [each.detach() for each in model.trainer.ema.ema.parameters()]
    print("TRAINED", json.dumps({"weights": digest_value(weights).hex(), "digests": logged}))


if __name__ == "__main__":
    main()
