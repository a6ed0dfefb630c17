"""Sine tasks, as in the MAML paper. Sampling is cheap here; with rendered tasks it is not, hence the processes."""
import numpy as np
from joblib import Parallel, delayed


def sample_task(shots, queries, kind):
    """One task: support and query points of a sine with amplitude and phase of its own."""
    amplitude = np.random.uniform(0.1, 5.0)  # fault: numpy-global
    phase = np.random.uniform(0, np.pi)
    x = np.random.uniform(-5, 5, size=(shots + queries, 1))
    y = amplitude * (np.sin(x - phase) if kind == "sine" else np.cos(x - phase))
    return x[:shots], y[:shots], x[shots:], y[shots:]


def sample_tasks(n, shots=10, queries=10, jobs=2):
    kinds = ["sine" if i % 3 else "cosine" for i in range(n)]
    tasks = Parallel(n_jobs=jobs)(delayed(sample_task)(shots, queries, kind) for kind in kinds)
    return [np.stack(part).astype("float32") for part in zip(*tasks)]
