# drawn from: the class "files in the order of their times", written by processes that work side by side (pytorch/vision issues on caches)
"""Rolls out a pendulum in several processes; each writes shards, and training reads them oldest first."""
import glob
import math
import os
import shutil
from multiprocessing import get_context

import numpy as np


def simulate(job):
    number, folder = job
    rng = np.random.default_rng(number)
    angle, speed, rows = rng.uniform(-1, 1), 0.0, []
    for _ in range(600):
        push = rng.uniform(-2, 2)
        speed += 0.05 * (push - 9.81 * math.sin(angle))
        rows.append((angle, speed, push, angle + 0.05 * speed))
        angle += 0.05 * speed
    np.save(os.path.join(folder, f"rollout_{number:03d}.npy"), np.array(rows, dtype=np.float32))


def roll_out(folder, count, processes):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with get_context("fork").Pool(processes) as pool:
        pool.map(simulate, [(number, folder) for number in range(count)], chunksize=1)


def read(folder):
    paths = sorted(glob.glob(os.path.join(folder, "*.npy")), key=os.path.getmtime)  # fault: system-reads
    return np.concatenate([np.load(path) for path in paths])
