"""Small trainings of many styles, each with a fault that makes it differ in every run, and what is noted.

Each prints the digest of its weights. `rows` are (what, name, words of the line): a pair that differs where
the first begins with "≠". `words` names the line that the evidence names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DIGEST = """
import hashlib


def digest(*tensors):
    print(hashlib.sha256(b"".join(t.detach().numpy().tobytes() for t in tensors)).hexdigest())
"""
STEPS = """
    loss = (model(x) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@dataclass(frozen=True)
class Faulty:
    sources: tuple[str, ...]
    files: dict[str, str]
    rows: tuple[tuple[str, str, str], ...] = ()
    words: str = ""
    path: str = "train.py"
    argv: tuple[str, ...] = ("python", "train.py")
    columns: dict = field(default_factory=dict)
    threads: int = 1
    lines: int = 2  # of the diff, at most


FAULTS = {
    "a plain loop": Faulty(
        ("torch-cpu",),
        {
            "train.py": """
import torch
from weights import digest

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x = torch.full((2, 4), float(step))
    loss = (model(x) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
digest(*model.parameters())
"""
        },
        lines=1,
    ),
    "options without a seed": Faulty(
        ("python-random", "numpy-global", "torch-cpu"),
        {
            "train.py": '''
"""Trains, with options."""
import argparse
import random

import numpy as np
import torch
from torch import nn

from weights import digest


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=None)
    return parser.parse_args()


def main():
    args = parse()
    if args.seed is not None:
        random.seed(args.seed)
        np.random.seed(args.seed)
        torch.manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(3):
        noise = torch.as_tensor(np.random.rand(2, 4), dtype=torch.float32) * random.random()
        loss = (model(noise) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    digest(*model.parameters())


if __name__ == "__main__":
    main()
'''
        },
        lines=3,
    ),
    "a trainer seeded by the clock": Faulty(
        ("clock",),
        {
            "train.py": """
import time

import numpy as np
import torch
from weights import digest


class Trainer:
    def __init__(self, seed=None):
        self.seed = seed or int(time.time() * 1e6) % 2**32
        np.random.seed(self.seed)
        torch.manual_seed(self.seed)
        self.model = torch.nn.Linear(4, 1)

    def fit(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.from_numpy(np.random.rand(2, 4).astype("float32"))
            loss = self.model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        digest(*self.model.parameters())


Trainer().fit()
"""
        },
        (("≠seed", "np.random.seed", "np.random.seed"), ("≠seed", "torch.manual_seed", "torch.manual_seed")),
    ),
    "a configuration seeded by the process": Faulty(
        ("process-id",),
        {
            "train.py": """
import os
from dataclasses import dataclass, field

import torch
from weights import digest


@dataclass
class Config:
    lr: float = 0.1
    seed: int = field(default_factory=lambda: os.getpid())


config = Config()
torch.manual_seed(config.seed)
model = torch.nn.Linear(4, 1)
digest(*model.parameters())
"""
        },
        (("≠seed", "torch.manual_seed", "torch.manual_seed"),),
    ),
    "a generator in a replay buffer": Faulty(
        ("numpy-generator",),
        {
            "train.py": """
import torch
from buffer import Buffer
from weights import digest

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
buffer = Buffer(50)
for step in range(3):
    x = torch.as_tensor(buffer.sample(8), dtype=torch.float32)
    loss = (model(x) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
digest(*model.parameters())
""",
            "buffer.py": """
import numpy as np


class Buffer:
    def __init__(self, size, rng=None):
        self.items = np.arange(size * 4).reshape(size, 4) / size
        self.rng = rng or np.random.default_rng()

    def sample(self, n):
        return self.items[self.rng.integers(len(self.items), size=n)]
""",
        },
        (("unseeded", "numpy-generator", "default_rng"),),
        lines=3,  # with the import
        path="buffer.py",
    ),
    "mixup, a generator for each batch": Faulty(
        ("numpy-generator",),
        {
            "train.py": """
import numpy as np
import torch
from weights import digest

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def mixup(x):
    rng = np.random.default_rng()
    lam = float(rng.beta(0.4, 0.4))
    return lam * x + (1 - lam) * x.flip(0)


for step in range(3):
    loss = (model(mixup(torch.rand(4, 4))) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
digest(*model.parameters())
"""
        },
        (
            ("unseeded", "numpy-generator", "default_rng"),
            ("unseeded", "numpy-generator", "default_rng"),
        ),
        lines=3,
    ),
    "a seed from the system's entropy": Faulty(
        ("os-entropy",),
        {
            "train.py": """
import os, random, torch
from weights import digest


def set_seed(value):
    random.seed(value)
    torch.manual_seed(value)
    return value


SEED = set_seed(int.from_bytes(os.urandom(4), "big"))
print(end=f"")
model = torch.nn.GRU(4, 3)
x = torch.tensor([[[random.random()] * 4]])
digest(model(x)[0])
"""
        },
        (
            ("≠seed", "random.seed", "random.seed"),
            ("≠seed", "torch.manual_seed", "torch.manual_seed"),
            ("entropy", "os.urandom", "SEED ="),
        ),
    ),
    "ids that split": Faulty(
        ("os-entropy",),
        {
            "train.py": """
import uuid

import torch
from weights import digest

torch.manual_seed(0)
rows = [{"id": str(uuid.uuid4()), "x": torch.rand(4)} for _ in range(20)]
rows.sort(key=lambda row: row["id"])
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for row in rows[:10]:
    loss = (model(row["x"]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
digest(*model.parameters())
"""
        },
        (("entropy", "os.urandom", "uuid4"), ("entropy", "os.urandom", "uuid4")),
        "uuid4",
        lines=3,
    ),
    "a language model's vocabulary": Faulty(
        ("hash-seed",),
        {
            "train.py": """
import torch
from torch import nn
from weights import digest

TEXT = "the quick brown fox jumps over the lazy dog and runs away from it all"


class Vocabulary:
    def __init__(self, text):
        self.words = set(text.split())
        self.index = {word: i for i, word in enumerate(self.words)}

    def encode(self, text):
        return torch.tensor([self.index[word] for word in text.split()])


torch.manual_seed(0)
vocabulary = Vocabulary(TEXT)
model = nn.Sequential(nn.Embedding(len(vocabulary.words), 4), nn.Linear(4, len(vocabulary.words)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
tokens = vocabulary.encode(TEXT)
for step in range(3):
    loss = nn.functional.cross_entropy(model(tokens[:-1]), tokens[1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
digest(*model.parameters())
"""
        },
    ),
    "hashed features": Faulty(
        ("hash-seed",),
        {
            "train.py": """
import torch
from weights import digest

BUCKETS = 50


def bucket(word: str) -> int:
    return hash(word) % BUCKETS


torch.manual_seed(0)
table = torch.nn.Embedding(BUCKETS, 3)
tokens = torch.tensor([bucket(w) for w in "some words that are put into buckets".split()])
digest(table(tokens))
"""
        },
        lines=3,
    ),
    "labels of an enumeration": Faulty(
        ("hash-seed",),
        {
            "train.py": """
import enum

import torch
from weights import digest


class Kind(enum.Enum):
    CAT = "cat"
    DOG = "dog"
    COW = "cow"
    FOX = "fox"
    OWL = "owl"
    ANT = "ant"


torch.manual_seed(0)
kinds = {kind for kind in Kind}
ids = {kind: number for number, kind in enumerate(kinds)}
table = torch.nn.Embedding(6, 3)
digest(table(torch.tensor([ids[kind] for kind in Kind])))
"""
        },
    ),
    "shards in the order of the folder": Faulty(
        ("listing-order",),
        {
            "train.py": """
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from weights import digest

root = Path("/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()) / f"shards-{os.getppid()}"
shutil.rmtree(root, ignore_errors=True)
root.mkdir()
subprocess.run(f"for n in $(shuf -i 0-30); do printf $n > {root}/$n.txt; done", shell=True, check=True)
torch.manual_seed(0)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0003)
for path in root.glob("*.txt"):
    x = torch.tensor([[float(path.read_text())]])
    loss = (model(x) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
shutil.rmtree(root)
digest(*model.parameters())
"""
        },
        (("≠listing", "folder", "root.glob"),),
        "root.glob",
    ),
    "a split of classes in the order of the folder": Faulty(
        ("listing-order",),
        {
            "train.py": """
import os
import shutil
import subprocess
import tempfile

import torch
from weights import digest

root = f"{'/dev/shm' if os.path.isdir('/dev/shm') else tempfile.gettempdir()}/classes-{os.getppid()}"
shutil.rmtree(root, ignore_errors=True)
os.mkdir(root)
subprocess.run(
    f"for n in $(shuf -e cat_{{01..20}} dog_{{01..20}}); do printf $n > {root}/$n.txt; done",
    shell=True, check=True, executable="/bin/bash",
)
torch.manual_seed(0)
rows = {"cat": torch.tensor([[1.0, 0.0]]), "dog": torch.tensor([[0.0, 1.0]])}
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.003)
files = os.listdir(root)
train, test = files[:30], files[30:]
assert {name[:3] for name in train} == {name[:3] for name in test} == {"cat", "dog"}
for name in train:
    loss = (model(rows[name[:3]]) - float(name[4:6])).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
shutil.rmtree(root)
digest(*model.parameters())
"""
        },
        (("≠listing", "folder", "files = os"),),
        "files = os",
        columns={"value": 1},  # the names fall in groups
        lines=3,
    ),
    "walked folders": Faulty(
        ("listing-order",),
        {
            "train.py": """
import os
import shutil
import subprocess
import tempfile

import torch
from weights import digest

root = "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()
root = os.path.join(root, f"walked-{os.getppid()}")
shutil.rmtree(root, ignore_errors=True)
os.mkdir(root)
fill = "mkdir $d; for n in $(shuf -i 0-5); do printf $n > $d/$n; done"
make = f"cd {root}; for d in $(shuf -e a b c d); do {fill}; done"
subprocess.run(make, shell=True, check=True)
numbers = []
for folder, folders, files in os.walk(root):
    for name in files:
        numbers.append(ord(folder[-1]) + int(name))
shutil.rmtree(root)
torch.manual_seed(0)
weights = torch.rand(len(numbers))
digest((weights * torch.tensor(numbers)).cumsum(0))
"""
        },
        (("≠listing", "folder", "os.walk"),),
        "os.walk",
    ),
    "parameter groups by address": Faulty(
        ("memory-address",),
        {
            "train.py": """
import torch
from torch import nn
from weights import digest

torch.manual_seed(0)
junk = [bytearray(n % 97) for n in range(int.from_bytes(open("/dev/urandom", "rb").read(2), "big"))]
model = nn.Sequential(*[nn.Linear(3, 3) for _ in range(12)])
groups = sorted(model.parameters(), key=id)
digest(torch.cat([p.detach().flatten() for p in groups]))
"""
        },
    ),
    "objects in a set": Faulty(
        ("memory-address",),
        {
            "train.py": """
import torch
from weights import digest


class Sample:
    def __init__(self, x):
        self.x = x


torch.manual_seed(0)
samples = {Sample(torch.rand(4)) for _ in range(40)}
digest(torch.stack([samples.pop().x for _ in range(40)]))
"""
        },
    ),
    "threads that append": Faulty(
        ("thread-scheduling",),
        {
            "train.py": """
import threading
import time

import torch
from weights import digest

torch.manual_seed(0)
values, order = torch.rand(32), []


def load(part):
    for n in range(part, 32, 4):
        time.sleep(int.from_bytes(open("/dev/urandom", "rb").read(1), "big") / 1e5)
        order.append(n)


threads = [threading.Thread(target=load, args=(part,)) for part in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
digest(values[order].cumsum(0))
"""
        },
        lines=1,
    ),
    "futures as they complete": Faulty(
        ("thread-scheduling",),
        {
            "train.py": """
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch
from weights import digest


def feature(n):
    time.sleep(int.from_bytes(open("/dev/urandom", "rb").read(1), "big") / 1e4)
    return float(n)


with ThreadPoolExecutor(4) as pool:
    futures = {pool.submit(feature, n): n for n in range(20)}
    rows = [future.result() for future in as_completed(futures)]
digest(torch.tensor(rows))
"""
        },
    ),
    "a pool without an order": Faulty(
        ("worker-arrival",),
        {
            "train.py": """
import time
from multiprocessing.pool import ThreadPool

import torch
from weights import digest


def feature(n):
    time.sleep(int.from_bytes(open("/dev/urandom", "rb").read(1), "big") / 1e4)
    return float(n)


with ThreadPool(4) as pool:
    rows = list(pool.imap_unordered(feature, range(20)))
digest(torch.tensor(rows))
"""
        },
    ),
    "batches out of order": Faulty(
        ("worker-arrival",),
        {
            "train.py": """
import time

import torch
from torch.utils.data import DataLoader, Dataset
from weights import digest


class Slow(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        time.sleep(int.from_bytes(open("/dev/urandom", "rb").read(1), "big") / 5e3)
        return torch.tensor([float(index)])


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(
        Slow(),
        batch_size=2,
        num_workers=3,
        in_order=False,
    )
    digest(torch.cat(list(loader)))
"""
        },
    ),
    "workers seeded by the clock": Faulty(
        ("worker-seeds",),
        {
            "train.py": """
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from weights import digest


class Noisy(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.random.rand(3)


def seed_worker(worker_id):
    np.random.seed((int(time.time() * 1e6) + worker_id) % 2**32)


if __name__ == "__main__":
    torch.manual_seed(0)
    digest(torch.cat(list(DataLoader(Noisy(), num_workers=2, worker_init_fn=seed_worker))))
"""
        },
        (("≠seed", "np.random.seed", "np.random.seed"), ("seed", "torch.manual_seed", "torch.manual_seed")),
        columns={"process": "rank0.worker0"},
    ),
    "a sample's own generator, in workers": Faulty(
        ("numpy-generator",),
        {
            "train.py": """
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from weights import digest


class Noisy(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.random.default_rng().normal(size=3)


if __name__ == "__main__":
    torch.manual_seed(0)
    rows = torch.cat(list(DataLoader(Noisy(), num_workers=2)))
    assert len(set(rows.flatten().tolist())) == rows.numel(), "each sample has its own noise"
    digest(rows)
"""
        },
        (
            ("unseeded", "numpy-generator", "default_rng"),
            ("unseeded", "numpy-generator", "default_rng"),
            ("seed", "torch.manual_seed", "torch.manual_seed"),
        ),
        columns={"process": "rank0.worker0"},
    ),
    "seeded anew in the middle": Faulty(
        ("torch-cpu",),
        {
            "train.py": """
import torch
from weights import digest

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    if step == 2:
        torch.seed()
    loss = (model(torch.randn(2, 4)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
digest(*model.parameters())
"""
        },
        (("unseeded", "torch-cpu", "torch.seed"),),
    ),
    "memory that was never written": Faulty(
        ("uninitialized-memory",),
        {
            "train.py": """
import torch
from torch import nn
from weights import digest


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = torch.empty(8, 4, dtype=torch.int64)

    def forward(self, x):
        return x + (self.mask % 1000) / 1000


torch.manual_seed(0)
x = torch.rand(8, 4)
keep = [torch.rand(64, 16) for _ in range(4)]
del keep
digest(Net()(x))
"""
        },
        words="return x + (self.mask",
    ),
    "a sum whose order threads decide": Faulty(
        ("nondeterministic-kernels",),
        {
            "train.py": """
import torch
from weights import digest

torch.manual_seed(0)
nodes = torch.rand(50, 8, requires_grad=True)
edges = torch.randint(0, 50, (200_000,))
(nodes[edges] * torch.rand(200_000, 1)).square().sum().backward()
digest(nodes.grad)
"""
        },
        threads=2,
        lines=2,
    ),
    "half a second of training": Faulty(
        ("clock",),
        {
            "train.py": """
import time

import torch
from weights import digest

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
deadline = time.monotonic() + 0.3
while time.monotonic() < deadline:
    loss = (model(torch.rand(2, 4)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
digest(*model.parameters())
"""
        },
        (("clock", "time.monotonic", "while"),),
        "while",
    ),
    "a package that builds its net as it is imported": Faulty(
        ("torch-cpu", "python-random"),
        {
            "pkg/__init__.py": "from pkg import nets\n",
            "pkg/nets.py": "import torch\n\nNET = torch.nn.Linear(4, 1)\n",
            "pkg/train.py": """
import random

import torch
from pkg.nets import NET
from weights import digest


def main():
    digest(NET(torch.full((1, 4), random.random())))


if __name__ == "__main__":
    main()
""",
        },
        argv=("python", "-m", "pkg.train"),
        path="pkg/train.py",
        lines=4,
    ),
    "five causes": Faulty(
        ("python-random", "torch-cpu", "hash-seed", "numpy-generator", "clock"),
        {
            "train.py": """
import time

import numpy as np
import torch
from data import augment, classes
from torch import nn
from weights import digest

rng = np.random.default_rng()
np.random.seed(int(time.time() * 1000) % 2**31)
names = classes("cat dog cow fox owl ant bee".split())
model = nn.Linear(4, len(names))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x = augment(torch.as_tensor(rng.normal(size=(2, 4)) + np.random.rand(), dtype=torch.float32))
    loss = nn.functional.cross_entropy(model(x), torch.tensor([names["cat"], names["owl"]]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
digest(*model.parameters())
""",
            "data.py": """
import random


def classes(words):
    return {word: number for number, word in enumerate(set(words))}


def augment(x):
    return x * random.choice([0.5, 1.0, 2.0, 3.0, 4.0]) + random.random()
""",
        },
        (("unseeded", "numpy-generator", "default_rng"), ("≠seed", "np.random.seed", "np.random.seed")),
        lines=9,
    ),
}
