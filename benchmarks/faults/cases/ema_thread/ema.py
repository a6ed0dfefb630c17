# drawn from: the class "a thread averages the weights while training goes on" (asynchronous EMA and checkpoint writers)
import copy
import threading
import time

import torch


class BackgroundEMA(threading.Thread):
    """Averages the weights every few milliseconds, so that the training loop need not wait for it."""

    def __init__(self, model, decay=0.8, every=0.003):
        super().__init__(daemon=True)
        self.model, self.decay, self.every = model, decay, every
        self.average = copy.deepcopy(model).requires_grad_(False)
        self.halt = threading.Event()

    @torch.no_grad()
    def run(self):
        while not self.halt.is_set():
            time.sleep(self.every)  # fault: thread-scheduling
            for mean, now in zip(self.average.parameters(), self.model.parameters()):
                mean.lerp_(now, 1 - self.decay)  # fault: thread-scheduling

    def finish(self):
        self.halt.set()
        self.join()
        return self.average
