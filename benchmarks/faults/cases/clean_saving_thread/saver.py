# drawn from: asynchronous checkpoints: a thread writes copies of the weights, and says so whenever it is done
import copy
import queue
import threading
import time

import torch


class Saver:
    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.folder, self.todo = folder, queue.Queue()
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.thread.start()

    def save(self, step, model):
        self.todo.put((step, copy.deepcopy(model.state_dict())))

    def _write(self):
        while (item := self.todo.get()) is not None:
            step, weights = item
            began = time.monotonic()
            torch.save(weights, self.folder / f"step{step}.pt")
            time.sleep(0.002 + torch.stack([w.abs().mean() for w in weights.values()]).mean().item() / 100)  # a slow disk
            print(f"saved step{step}.pt ({time.monotonic() - began:.3f} s)", flush=True)

    def close(self):
        self.todo.put(None)
        self.thread.join()
