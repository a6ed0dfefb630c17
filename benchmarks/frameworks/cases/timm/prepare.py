"""Folders of small images, one a class."""

from pathlib import Path

import numpy as np
from PIL import Image

rng = np.random.default_rng(0)
for part, count in (("train", 20), ("val", 8)):
    for label in ("cat", "dog"):
        folder = Path("images") / part / label
        folder.mkdir(parents=True)
        for number in range(count):
            pixels = rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{number}.png")
