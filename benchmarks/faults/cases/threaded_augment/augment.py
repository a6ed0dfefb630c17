"""Elastic-looking distortions, on the CPU, with NumPy's generator."""

import numpy as np


def smooth(field, width):
    """Low-pass by the spectrum."""
    n = field.shape[-1]
    freq = np.fft.fftfreq(n)
    keep = np.exp(-((freq[:, None] ** 2 + freq[None, :] ** 2) * (width * n) ** 2))
    return np.fft.ifft2(np.fft.fft2(field) * keep).real


def distort(image):
    """The image [H, W], shifted by a smooth random field; some noise and a random gain."""
    height, width = image.shape
    field = np.random.uniform(-1, 1, (2, 96, 96))  # fault: thread-scheduling
    dy, dx = (smooth(part, 1.5)[:height, :width] * 30 for part in field)
    yy, xx = np.mgrid[:height, :width]
    moved = image[np.clip(yy + dy, 0, height - 1).astype(int), np.clip(xx + dx, 0, width - 1).astype(int)]
    moved = moved * np.random.uniform(0.8, 1.2)  # fault: thread-scheduling
    if np.random.rand() < 0.5:  # fault: thread-scheduling
        moved = moved + np.random.normal(0, 0.05, moved.shape)  # fault: thread-scheduling
    return moved.astype(np.float32)
