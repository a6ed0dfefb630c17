"""A data set in YOLO's form: bright boxes on noise."""

from pathlib import Path

import numpy as np
from PIL import Image

rng = np.random.default_rng(0)
for part, count in (("train", 12), ("val", 4)):
    for kind in ("images", "labels"):
        Path("data", kind, part).mkdir(parents=True)
    for number in range(count):
        pixels = rng.integers(0, 120, (64, 64, 3), dtype=np.uint8)
        x, y = rng.integers(4, 36, 2)
        pixels[y : y + 24, x : x + 24] = 230
        Image.fromarray(pixels).save(Path("data", "images", part, f"{number}.png"))
        line = f"0 {(x + 12) / 64:.4f} {(y + 12) / 64:.4f} {24 / 64:.4f} {24 / 64:.4f}\n"
        Path("data", "labels", part, f"{number}.txt").write_text(line)
Path("data.yaml").write_text(
    f"path: {Path('data').resolve()}\ntrain: images/train\nval: images/val\nnames: [box]\n"
)
