"""Reads compressed shards ahead of the training with a few threads."""

import io
import queue
import threading
import zlib

import numpy as np


def write_shards(count, rows, width):
    """The shards as they would lie in the object store: name → compressed bytes."""
    store = {}
    for number in range(count):
        rng = np.random.default_rng(number)
        x = rng.normal(size=(rows + 37 * (number % 5), width)).astype(np.float32)
        y = np.sin(x[:, :3].sum(1)) + 0.1 * rng.normal(size=len(x))
        buffer = io.BytesIO()
        np.savez(buffer, x=x, y=y.astype(np.float32))
        store[f"shard-{number:04d}"] = zlib.compress(buffer.getvalue(), 1 + number % 6)
    return store


class PrefetchReader:
    """Iterates over the batches of all shards; `readers` threads keep the queue full."""

    DONE = object()

    def __init__(self, store, batch_size, readers=3, depth=16):
        self.store = store
        self.batch_size = batch_size
        self.queue = queue.Queue(maxsize=depth)
        names = sorted(store)
        self.threads = [
            threading.Thread(target=self._read, args=(names[i::readers],), daemon=True, name=f"reader-{i}") for i in range(readers)
        ]

    def _read(self, names):
        for name in names:
            with np.load(io.BytesIO(zlib.decompress(self.store[name]))) as part:
                x, y = part["x"], part["y"]
            for begin in range(0, len(x) - self.batch_size + 1, self.batch_size):
                self.queue.put((x[begin : begin + self.batch_size], y[begin : begin + self.batch_size]))  # fault: thread-scheduling
        self.queue.put(self.DONE)

    def __iter__(self):
        for thread in self.threads:
            thread.start()  # fault: thread-scheduling
        running = len(self.threads)
        while running:
            item = self.queue.get()  # fault: thread-scheduling
            if item is self.DONE:
                running -= 1
                continue
            yield item
