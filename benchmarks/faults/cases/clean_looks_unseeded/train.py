# drawn from: what reviewers take for faults: generators with their default seed, sets of numbers, a seed made of a text
"""Seeds are a text, sets hold numbers, a memory has an empty buffer; none of it moves between runs."""
import gc
import random
import tempfile
import time
import weakref

import numpy as np
import torch
from torch import nn

words = random.Random("experiment-12b")  # str seeds are hashed with sha512, not with hash()
noise = torch.Generator()  # always starts from the same number
rng = np.random.Generator(np.random.PCG64([2, 7, 1, 8]))
torch.set_rng_state(torch.Generator().get_state())


class Ring:
    """A buffer that is written before it is read."""

    def __init__(self, size, dim):
        self.data, self.used = torch.empty(size, dim), 0

    def add(self, rows):
        for row in rows:
            self.data[self.used % len(self.data)] = row
            self.used += 1

    def sample(self, n):
        return self.data[torch.randint(min(self.used, len(self.data)), (n,))]


class Watch:
    alive = weakref.WeakSet()

    def __init__(self):
        Watch.alive.add(self)


def main():
    net = nn.Sequential(nn.Linear(9, 18), nn.Softplus(), nn.Dropout(0.15), nn.Linear(18, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    ring, primes = Ring(300, 9), {n for n in range(2, 200) if all(n % k for k in range(2, n))}
    weights = torch.tensor([float(p) for p in primes][:9]).log()
    with tempfile.TemporaryDirectory() as scratch:
        for step in range(24):
            began = time.time()
            watch = Watch()
            ring.add(torch.from_numpy(rng.normal(size=(16, 9))).float())
            x = ring.sample(words.choice([24, 32, 40]))
            x = x + 0.05 * torch.randn(x.shape, generator=noise)
            loss = nn.functional.huber_loss(net(x)[:, 0], torch.sin(x @ weights))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.save(net.state_dict(), f"{scratch}/{step}.pt")
            del watch
            if step % 6 == 5:
                gc.collect()
                print(f"step {step + 1} loss {loss.item():.6f} ({(time.time() - began) * 1e3:.1f} ms, {len(Watch.alive)} alive)")
    net.load_state_dict(net.state_dict())


if __name__ == "__main__":
    main()
