"""The RNG ledger of real runs: every generator, here and in workers, by line; and no bit of them moves.

Covers `draws/ledger.py` and `draws/workers.py`.
"""

from __future__ import annotations

import subprocess
import sys

import numpy
import pytest
from trainer import Trainer

from samerun.comparing.draw_ledger import build_ledger
from samerun.runs.plan import Control

SCRIPT = """
import copy, pickle, random, sys
from random import gauss
import numpy as np
import torch, torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from numpy.random import RandomState

more = {word for word in sys.argv[1:]}
random.seed(0); np.random.seed(0); torch.manual_seed(0)
torch.set_num_threads(1)

class Noisy(Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(5)
    def __len__(self): return 12
    def __getitem__(self, n):
        if "worker" in more and n == 7: torch.rand(1)  # in a worker
        return torch.tensor([n + random.random() + self.rng.random() + torch.rand(1).item()])

def main():
    python, numpy = random.Random(1), np.random.default_rng(2)
    legacy, philox = RandomState(3), np.random.Generator(np.random.Philox(4))
    own = torch.Generator().manual_seed(6)
    copied = copy.deepcopy(numpy)
    model = nn.Linear(1, 1)
    loader = DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=1, multiprocessing_context="METHOD")
    values = []
    for step, batch in enumerate(loader):
        if step == 1 and "shared" in more: random.random()  # shared
        if step == 1 and "instance" in more: random._inst.random()  # instance
        if step == 1 and "object" in more: python.random()  # object
        if step == 1 and "global" in more: np.random.rand()  # global
        if step == 1 and "hidden" in more: np.random.mtrand._rand.rand()  # hidden
        if step == 1 and "numpy" in more: numpy.random()  # numpy
        if step == 1 and "legacy" in more: legacy.rand()  # legacy
        if step == 1 and "torch" in more: torch.rand(1)  # torch
        if step == 1 and "given" in more: torch.rand(1, generator=torch.default_generator)  # given
        if step == 1 and "own" in more: torch.rand(1, generator=own)  # own
        values += [random.uniform(0, 1), gauss(0, 1), python.gauss(0, 1), np.random.uniform(), numpy.normal()]
        values += [np.random.randn(), np.random.mtrand._rand.randn(), np.random.mtrand._rand.randn()]
        values += [np.random.ranf(), np.random.mtrand._rand.choice(9), len(np.random.get_state()[1])]
        values += [legacy.normal(), philox.normal(), torch.rand(1, generator=own).item(), copied.normal()]
        order = list(range(9)); python.shuffle(order); values += order
        model.zero_grad()
        F.dropout(model(batch), 0.5).pow(2).mean().backward()
        F.dropout(batch, 0.5, training=False)
        for p in model.parameters(): p.data -= 1e-3 * p.grad
    print(values, [p.tolist() for p in model.parameters()])
    for rng in (numpy, legacy, philox, python, copied):
        again = pickle.loads(pickle.dumps(rng))
        print(repr(type(rng)), isinstance(rng, (np.random.Generator, np.random.RandomState, random.Random)))
        print(type(again).__name__, again.random() == rng.random(), len(pickle.dumps(rng)))
    state = np.random.get_state()
    kept = np.random.normal(), pickle.loads(pickle.dumps(np.random.mtrand._rand)).normal(), np.random.normal()
    np.random.set_state(state)
    print(kept, np.random.normal(), np.random.mtrand._rand.normal(), np.random.get_state()[3:])
    np.random.seed(3)
    print(np.random.get_state()[3:], np.random.rand(), np.random.mtrand.rand())
    print(type(numpy) is np.random.Generator, type(legacy) is np.random.RandomState)
    print(numpy.spawn(1)[0].random())
    print(isinstance(np.random.mtrand._rand, np.random.RandomState), np.random.default_rng(numpy) is numpy)
    class Mine(np.random.RandomState): pass
    print(isinstance(legacy, Mine), isinstance(Mine(1), Mine), issubclass(Mine, RandomState), Mine(1).rand())
    print(random.Random(1).sample(range(99), 9), random.SystemRandom().random() < 1, random.sample("abc", 2))

if __name__ == "__main__":
    main()
"""


def line(word: str) -> str:
    """The line that ends so."""
    (found,) = (n for n, row in enumerate(SCRIPT.splitlines(), 1) if row.rstrip().endswith(word))
    return f"train.py:{found}"


WORDS = [
    "shared",
    "instance",
    "object",
    "global",
    "hidden",
    "numpy",
    "legacy",
    "torch",
    "given",
    "own",
    "worker",
]


@pytest.fixture(scope="module", params=["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def runs(request, tmp_path_factory):
    trainer = Trainer(tmp_path_factory.mktemp("ledger"))
    trainer.script(SCRIPT.replace("METHOD", request.param))
    found = [trainer.record("train.py", *words, tier="ops", window=(-1, 9)) for words in ([], WORDS)]
    for run in found:
        assert run.manifest.outcome == "finished", (run.path / "output.txt").read_text()
    return trainer, found


@pytest.fixture(scope="module")
def drawn(runs):
    return build_ledger(*runs[1])


@pytest.mark.parametrize(
    ("generator", "function", "at"),
    [
        ("python-random", "random.random", "# shared"),
        ("python-random", "random.Random.random", "# instance"),
        ("python-random:generator", "random.Random.random", "# object"),
        ("numpy-global", "numpy.random.rand", "# global"),
        ("numpy-global", "numpy.random.RandomState.rand", "# hidden"),
        ("numpy-generator", "numpy.random.Generator.random", "# numpy"),
        ("numpy-global:generator", "numpy.random.RandomState.rand", "# legacy"),
        ("torch-cpu", "aten.rand.default", "# torch"),
        ("torch-cpu", "aten.rand.generator", "# given"),
        ("torch-cpu:generator", "aten.rand.generator", "# own"),
    ],
)
def test_one_draw_more_is_found_by_its_line(drawn, generator, function, at):
    (found,) = (item for item in drawn if item.call_site == line(at))
    assert (found.generator, found.function, found.step, found.process) == (generator, function, 1, "rank0")
    assert (found.draws_a, found.draws_b, found.values_differ) == (0, 1, True)


def test_one_draw_more_in_a_worker(drawn):
    (found,) = (item for item in drawn if item.call_site == line("# in a worker"))
    assert (found.generator, found.function) == ("torch-cpu", "aten.rand.default")
    assert (found.draws_a, found.draws_b, found.process) == (0, 1, "rank0.worker0")


def test_what_comes_after_it_differs_and_what_came_before_does_not(drawn):
    functions = ["random.uniform", "numpy.random.uniform", "numpy.random.Generator.normal"]
    for function in functions:
        same = [item for item in drawn if item.function == function and item.process == "rank0"]
        assert len({item.step for item in same}) == 3
        for item in same:
            if item.call_site != line("numpy.normal()]"):  # of a generator that drew no more than before
                continue
            assert item.draws_a == item.draws_b == 1
            assert item.values_differ == (item.step >= 1), item
            assert item.state_differs == (item.step >= 1), item


def test_each_line_counts_its_own_draws_alone(drawn):
    first = [item for item in drawn if item.step == 0 and item.process == "rank0"]
    counts = {item.function: item.draws_a for item in first}
    assert counts["random.uniform"] == counts["random.gauss"] == counts["random.Random.shuffle"] == 1
    assert "random.Random.random" not in counts  # gauss and shuffle draw from it themselves
    assert "aten.native_dropout.default" in counts or "aten.bernoulli_.float" in counts
    in_worker = {item.function: item.draws_a for item in drawn if item.process != "rank0" and item.step == 0}
    assert in_worker["random.random"] == in_worker["numpy.random.Generator.random"] == 4


def test_no_number_moves(runs):
    trainer, (run, _) = runs
    words = [sys.executable, "train.py"]
    plain = subprocess.run(words, cwd=trainer.folder, check=True, timeout=120, capture_output=True, text=True)
    assert (run.path / "output.txt").read_text() == plain.stdout


def test_equal_runs_draw_alike(runs):
    trainer, (run, _) = runs
    again = trainer.record("train.py", tier="ops", window=(-1, 9))
    assert all(
        item.draws_a == item.draws_b and not item.values_differ and item.state_differs is False
        for item in build_ledger(run, again)
    )


HELD = """
import sys
import numpy as np
if "held" in sys.argv: from numpy.random import normal
from samerun.launching import bootstrap
from samerun.runs.plan import Plan
bootstrap.start(Plan(run=sys.argv[1], tier="ops"))
if "held" not in sys.argv: from numpy.random import normal
normal()  # leaves a spare one
np.random.seed(0)
print(normal(), np.random.normal(), type(np.random.mtrand._rand).__module__)
class OfGym(np.random.Generator):
    def get_state(self): return self.bit_generator.state  # as gym.utils.seeding has it: it takes nothing
OfGym(np.random.PCG64(0)).random()
"""


@pytest.mark.parametrize("held", ["held", "not held"])
def test_a_seed_reaches_a_function_that_somebody_held_before(held, tmp_path):
    command = [sys.executable, "-c", HELD, str(tmp_path), held]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    expected = numpy.random.RandomState(0).normal(size=2).tolist()
    assert [float(word) for word in done.stdout.split()[:2]] == expected
    assert not (tmp_path / "recording-error.txt").exists()


def test_what_a_control_draws_to_make_a_seed_is_no_draw_of_the_scripts(tmp_path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(
        """
        import os, random, numpy as np, torch
        rng, own = np.random.default_rng(), random.Random()
        token = os.urandom(4)
        torch.nn.Linear(1, 1)(torch.tensor([[rng.random() + own.random()]])).sum().backward()
        """
    )
    run = trainer.record("train.py", tier="ops", control=Control(mode="strict"))
    drawn = [(row.name, row.call_site) for row in trainer.rows(run, "draw")]
    assert sorted(drawn) == [("numpy-generator", "train.py:5"), ("python-random:generator", "train.py:5")]
