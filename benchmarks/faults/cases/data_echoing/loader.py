# drawn from: data echoing (Choi et al. 2019): while the next batch is not ready, the last one is used again
import queue
import threading
import time

import numpy as np
import torch


class EchoLoader:
    """Batches from a slow source. The training never waits: it takes the last batch again."""

    def __init__(self, batches, size, slowness=0.004):
        self.batches, self.size, self.slowness = batches, size, slowness
        self.ready = queue.Queue(maxsize=4)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        rng = np.random.RandomState(5)
        for _ in range(self.batches):
            x = rng.rand(self.size, 64).astype("float32")
            x[:, ::4] *= x[:, 1::4]
            time.sleep(self.slowness)  # decoding
            self.ready.put(torch.from_numpy(x))
        self.ready.put(None)

    def __iter__(self):
        last = self.ready.get()
        while True:
            yield last
            try:
                fresh = self.ready.get_nowait()  # fault: thread-scheduling
            except queue.Empty:  # fault: thread-scheduling
                continue
            if fresh is None:
                return
            last = fresh
