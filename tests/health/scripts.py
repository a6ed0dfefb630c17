"""Trainings whose seeds are not well, and others that only look so."""

from __future__ import annotations

HEAD = """\
import random, sys, numpy as np, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
torch.set_num_threads(1)

def layers(dropout):
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(dropout), nn.Linear(8, 1))

def made(dropout=0.5):
    model = layers(dropout)
    return model, torch.optim.SGD(model.parameters(), lr=0.001)

class ByHand:  # the first optimizer of torch's in a process has it import its compiler
    def __init__(self, parameters):
        self.parameters = list(parameters)
    def zero_grad(self):
        for p in self.parameters:
            p.grad = None
    def step(self):
        for p in self.parameters:
            p.data = p.data - 0.001 * p.grad

def made_by_hand(dropout=0.5):
    model = layers(dropout)
    return model, ByHand(model.parameters())

def step(model, optimizer, batch):
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

class Noisy(Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        drawn = random.random() + np.random.rand() + torch.rand(4)
        return torch.full((4,), float(index)) + drawn.float()

class Fixed(Dataset):
    def __init__(self):
        self.x = torch.randn(16, 4)
        self.rng = np.random.default_rng(0)  # held, and not drawn from
    def __len__(self):
        return 16
    def __getitem__(self, index):
        return self.x[index]

torch.manual_seed(3); random.seed(3); np.random.seed(3)
"""

# --- not well ---------------------------------------------------------------------------------------------

HELD = """\
class Held(Noisy):
    def __init__(self):
        self.more = {"crop": [random.Random(1), np.random.RandomState(1)]}
        self.rng = np.random.default_rng(1)
        self.torch = torch.Generator().manual_seed(1)
    def __getitem__(self, index):
        drawn = self.rng.random() + self.more["crop"][0].random() + self.more["crop"][1].rand()
        return torch.full((4,), index + drawn) + torch.rand(4, generator=self.torch)
model, optimizer = made_by_hand()
loader = DataLoader(Held(), 4, shuffle=True, num_workers=2)
for epoch in range(2):
    for batch in loader:  # held
        step(model, optimizer, batch)
"""

SEEDED_WORKERS = """\
def seed(worker):
    np.random.seed(7 + (worker if "apart" in sys.argv else 0))  # seeded
model, optimizer = made_by_hand()
loader = DataLoader(Noisy(), 4, shuffle=True, num_workers=2, worker_init_fn=seed)
for epoch in range(2):
    for batch in loader:
        step(model, optimizer, batch)
"""

TWO_LOADERS = """\
model, optimizer = made()
a, b = (DataLoader(Noisy(), 4, shuffle=True, num_workers=1, generator=torch.Generator().manual_seed(2))
        for _ in range(2))
for one, other in zip(a, b):
    step(model, optimizer, one + other)
"""

EVERY_SAMPLE = """\
class Constant(Noisy):
    def __getitem__(self, index):
        random.seed(42)  # every
        return torch.full((4,), index + random.random())
model, optimizer = made_by_hand()
for batch in DataLoader(Constant(), 4, num_workers=int(sys.argv[1])):
    step(model, optimizer, batch)
"""

EVERY_EPOCH = """\
model, optimizer = made_by_hand()
loader = DataLoader(Noisy(), 4, shuffle=True)
for epoch in range(2):
    torch.manual_seed(epoch if "well" in sys.argv else 0)  # epoch
    for batch in loader:
        step(model, optimizer, batch)
"""

BY_EVALUATION = """\
model, optimizer = made()
data = torch.randn(16, 4)
for epoch in range(4):
    for batch in data.split(4):
        step(model, optimizer, batch)
    with torch.no_grad():
        torch.manual_seed(1234)  # evaluation
        model(torch.randn(4, 4))
"""

PUT_BACK = """\
model, optimizer = made()
data = torch.randn(16, 4)
state = torch.get_rng_state()
for epoch in range(2):
    torch.set_rng_state(state)
    for batch in data.split(4):
        step(model, optimizer, batch)
"""

COPIED = """\
class Whole(IterableDataset):
    def __iter__(self):
        for index in range(16):
            yield torch.full((4,), float(index))
model, optimizer = made()
for batch in DataLoader(Whole(), 4, num_workers=2):  # copied
    step(model, optimizer, batch)
"""

RANKS = """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
if "equal" not in sys.argv:
    torch.manual_seed(100 + rank)
model = DistributedDataParallel(net)  # wrapped
optimizer = torch.optim.SGD(model.parameters(), lr=0.001 * (1 + rank if "rate" in sys.argv else 1))
data = list(torch.randn(32, 4, generator=torch.Generator().manual_seed(5)))
for batch in DataLoader(data, 4, sampler=DistributedSampler(data, 2, rank)):
    step(model.module if "inside" in sys.argv else model, optimizer, batch)
dist.destroy_process_group()
"""

RANKS_OF_WORKERS = """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler
dist.init_process_group("gloo")
rank = dist.get_rank()
def seed(worker):
    np.random.seed(50 + (rank + worker if "sum" in sys.argv else 1000 * rank + worker))  # sum
torch.manual_seed(rank)
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
sampler = DistributedSampler(Noisy(), 2, rank)
for batch in DataLoader(Noisy(), 2, sampler=sampler, num_workers=2, worker_init_fn=seed):
    step(model, optimizer, batch)
dist.destroy_process_group()
"""

BY_HAND = """\
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank if "apart" in sys.argv else 0)
model, optimizer = made()
torch.manual_seed(100 + rank)
for _ in range(3):
    model(torch.randn(4, 4)).pow(2).mean().backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()  # by hand
    optimizer.zero_grad()
dist.destroy_process_group()
"""

# --- well -------------------------------------------------------------------------------------------------

JOINED = """\
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(50 + rank)
with Join([model]):  # rank 1 has more batches
    for _ in range(3 + 2 * rank):
        step(model, optimizer, torch.randn(4, 4))
for _ in range(2):
    step(model, optimizer, torch.randn(4, 4))
dist.destroy_process_group()
"""

LOADERS = """\
model, optimizer = made()
for workers, more in ((0, {}), (2, {}), (2, {"persistent_workers": True})):
    loader = DataLoader(Noisy(), 4, shuffle=True, num_workers=workers, **more)
    held_out = DataLoader(Fixed(), 4, num_workers=workers, **more)
    for epoch in range(2):
        for batch in loader:
            step(model, optimizer, batch)
        with torch.no_grad():
            for batch in held_out:
                model(batch)
"""

KEYED = """\
class Keyed(Noisy):
    def __init__(self):
        self.torch, self.own, self.old = torch.Generator(), random.Random(1), np.random.RandomState(1)
    def __getitem__(self, index):
        self.torch.manual_seed(index); self.own.seed(index); self.old.seed(index)
        return torch.randn(4, generator=self.torch) + self.own.random() + self.old.rand()
class Everywhere(Noisy):
    def __getitem__(self, index):
        torch.manual_seed(index); random.seed(index); np.random.seed(index)
        return torch.randn(4) + random.random() + np.random.rand()
model, optimizer = made_by_hand(0.0)
for data in (Keyed(), Everywhere()):
    for workers in (0, 2):
        loader = DataLoader(data, 4, shuffle=workers > 0, num_workers=workers)
        for epoch in range(2):
            for batch in loader:
                step(model, optimizer, batch)
"""

ONE_BATCH = """\
model, optimizer = made()
batch = next(iter(DataLoader(Noisy(), 8)))
for _ in range(4):
    step(model, optimizer, batch)
for _ in range(3):
    for batch in DataLoader(Fixed(), 16):
        step(model, optimizer, batch)
model, optimizer = made(0.0)
for _ in range(4):
    torch.manual_seed(7)
    step(model, optimizer, torch.randn(8, 4))
"""

EVALUATIONS = """\
data = torch.randn(16, 4)
for model, optimizer in (made_by_hand(), made_by_hand(0.0)):
    for epoch in range(3):
        for batch in data.split(4):
            step(model, optimizer, batch)
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(99)
            model(torch.randn(4, 4))
        kept = torch.get_rng_state(), random.getstate(), np.random.get_state()
        torch.manual_seed(5); random.seed(5); np.random.seed(5)
        with torch.no_grad():
            model(torch.randn(4, 4) + random.random() + np.random.rand())
        torch.set_rng_state(kept[0]); random.setstate(kept[1]); np.random.set_state(kept[2])
"""

BEGUN_ANEW = """\
import copy
from torch.utils.checkpoint import checkpoint
for fold in range(2):
    torch.manual_seed(0); random.seed(0); np.random.seed(0)
    model, optimizer = made()
    part = torch.utils.data.Subset(Noisy(), range(8 * fold, 8 * fold + 8))
    for batch in DataLoader(part, 4, num_workers=2):
        step(model, optimizer, batch)
data = torch.randn(16, 4).split(4)
kept = copy.deepcopy((model.state_dict(), optimizer.state_dict())), torch.get_rng_state()
for batch in data:
    step(model, optimizer, batch)
model.load_state_dict(kept[0][0]); optimizer.load_state_dict(kept[0][1]); torch.set_rng_state(kept[1])
for batch in data:
    step(model, optimizer, batch)
class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = model
    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)
for batch in data:
    step(Checkpointed(), optimizer, batch)
"""

WORKERS_AS_ADVISED = """\
class Own(Noisy):
    rng = None
    def __getitem__(self, index):
        seed = torch.randint(2**31, ()).item()
        both = []
        for _ in range(2):  # an image and its mask, transformed alike
            random.seed(seed)
            both.append(random.random())
        return torch.full((4,), index + self.rng.random() + sum(both))
def seed(worker):
    get_worker_info().dataset.rng = random.Random(torch.initial_seed())
    np.random.seed(torch.initial_seed() % 2**32)
class Split(IterableDataset):
    def __iter__(self):
        for index in range(get_worker_info().id, 16, get_worker_info().num_workers):
            yield torch.full((4,), float(index)) + torch.rand(4)
class Ones(IterableDataset):
    def __iter__(self):
        return iter(torch.ones(16, 4))
model, optimizer = made()
generator = torch.Generator().manual_seed(0)
for data in (Own(), Split(), Ones()):
    loader = DataLoader(data, 4, num_workers=2, worker_init_fn=seed if data.__class__ is Own else None,
                        generator=generator)
    for epoch in range(2):
        for batch in loader:
            step(model, optimizer, batch)
"""


def line_of(script: str, mark: str) -> str:
    """The call site of the line that ends with `# mark`."""
    lines = (HEAD + script).splitlines()
    return f"train.py:{next(n for n, line in enumerate(lines, 1) if line.endswith('# ' + mark))}"
