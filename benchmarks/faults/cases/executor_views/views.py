"""Random views of point clouds, made in other processes."""
import numpy as np


def rotation(rng):
    """A rotation about the vertical axis."""
    angle = rng.uniform(0, 2 * np.pi)
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def make_views(job):
    """`count` views of one cloud, each turned, jittered and with points left out."""
    cloud, count, keep = job
    rng = np.random.default_rng()  # fault: numpy-generator
    views = []
    for _ in range(count):
        chosen = rng.choice(len(cloud), keep, replace=False)
        views.append(cloud[chosen] @ rotation(rng).T + 0.02 * rng.normal(size=(keep, 3)))
    return np.stack(views).astype(np.float32)
