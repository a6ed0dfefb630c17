"""What a task of a pool draws is its own: equal in each run, whoever takes it, and no two alike."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from trainer import Trainer

from samerun.runs.plan import Control
from samerun.runs.recorder_errors import read_complaints
from samerun.sources.per_sample.pool_tasks import PoolStreams

TASKS = """
import json, multiprocessing, random, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import torch
torch.set_num_threads(1)

def begin():
    np.random.seed()

def draw(number):
    made = np.random.default_rng().random()
    return [random.random(), float(np.random.rand()), torch.rand(()).item(), made]

def fail(number):
    raise ValueError(number)

def main():
    how, seed = sys.argv[1:]
    if seed:
        random.seed(int(seed)), np.random.seed(int(seed)), torch.manual_seed(int(seed))
    context = multiprocessing.get_context("spawn" if how == "spawn" else "fork")
    if how == "executor":
        with ProcessPoolExecutor(3, mp_context=context) as pool:
            found = [list(pool.map(draw, range(8), chunksize=2)) for _ in range(2)]
            found.append([each.result() for each in [pool.submit(draw, n) for n in range(4)]])
            error = pool.submit(fail, 3).exception()
    elif how == "joblib":
        from joblib import Parallel, delayed
        found = [Parallel(3)(delayed(draw)(n) for n in range(8)) for _ in range(2)]
        error = ValueError(3)
    else:
        with context.Pool(3, initializer=begin) as pool:
            found = [pool.map(draw, range(8)), pool.map(draw, range(8)), list(pool.imap(draw, range(4)))]
            found.append([each.get() for each in [pool.apply_async(draw, (n,)) for n in range(4)]])
            found.append(pool.starmap(draw, [(n,) for n in range(4)], chunksize=2))
            try:
                pool.apply(fail, (3,))
            except ValueError as raised:
                error = raised
    here = [random.random(), float(np.random.rand()), torch.rand(()).item()]
    print(json.dumps([found, here, repr(error), "samerun" in str(error.__cause__)]))

if __name__ == "__main__":
    main()
"""


def run(trainer: Trainer, how: str, seed: str = "", control: int = 0) -> Any:
    made = trainer.record("tasks.py", how, seed, tier="none", control=Control(seed=control))
    assert (made.outcome, read_complaints(made.path)) == ("finished", [])
    return json.loads((made.path / "output.txt").read_text())


@pytest.mark.everyday(1)
@pytest.mark.parametrize("how", ["fork", "executor", pytest.param("spawn", marks=pytest.mark.slow), "joblib"])
def test_a_task_draws_the_same_whoever_takes_it_and_no_two_draw_alike(trainer: Trainer, how: str) -> None:
    if how == "joblib":
        pytest.importorskip("joblib")
    trainer.script(TASKS, "tasks.py")
    first = run(trainer, how)
    assert run(trainer, how) == first
    found, here, error, shows = first
    drawn = [number for tasks in found for task in tasks for number in task]
    assert len(set(drawn)) == len(drawn)
    assert error == "ValueError(3)" and not shows  # nor does a frame of ours stand in what is raised
    others = [run(trainer, how, control=1), run(trainer, how, "5"), run(trainer, how, "6")]
    for other in others:
        assert not set(drawn) & {number for tasks in other[0] for task in tasks for number in task}
    assert others[1][0] != others[2][0]  # the script's own seed counts
    assert here != others[0][1]


IN_ANY_ORDER = """
import json, pickle, random, sys
import numpy as np
import torch
from samerun.sources.per_sample.pass_streams import PassStreams
from samerun.sources.per_sample.pool_tasks import KeyedTask, TaskStreams
from samerun.streams import Stream
def draw():
    made = np.random.default_rng().random()
    return [random.random(), float(np.random.rand()), torch.rand(()).item(), made]
above = TaskStreams(PassStreams.all_of(Stream(0, "pool")), {})
tasks = [pickle.dumps(KeyedTask(draw, above.child(number))) for number in range(4)]
drawn = {number: pickle.loads(tasks[int(number)])() for number in sys.argv[1]}
print(json.dumps(drawn, sort_keys=True))
"""


@pytest.mark.slow
def test_what_a_worker_did_before_a_task_changes_nothing(trainer: Trainer) -> None:
    trainer.script(IN_ANY_ORDER, "tasks.py")
    runs = [
        trainer.record("tasks.py", order, tier="none", control=Control()) for order in ("0123", "31", "20")
    ]
    first, *others = (json.loads((made.path / "output.txt").read_text()) for made in runs)
    assert {**others[0], **others[1]} == first
    assert len({number for task in first.values() for number in task}) == 16


def run_plain(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "tasks.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_what_is_drawn_beside_a_pool_stays(trainer: Trainer, tmp_path: Path) -> None:
    trainer.script(TASKS, "tasks.py")
    assert run(trainer, "fork", "5")[1] == json.loads(run_plain(tmp_path, "fork", "5"))[1]


SEEDS_ITSELF = """
import json, multiprocessing, random
import numpy as np
def draw(number):
    random.seed(number), np.random.seed(number)
    return random.random(), float(np.random.rand())
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(json.dumps(pool.map(draw, range(4))))
"""
THREADS = """
import random
from multiprocessing.pool import ThreadPool
random.seed(5)
with ThreadPool(1) as pool:
    print(pool.map(lambda _: random.random(), range(3)), pool.apply(lambda: random.random()))
"""


@pytest.mark.parametrize("text", [SEEDS_ITSELF, THREADS])
def test_what_seeds_itself_and_what_shares_the_generators_keeps_its_numbers(
    text: str, trainer: Trainer, tmp_path: Path
) -> None:
    trainer.script(text, "tasks.py")
    made = trainer.record("tasks.py", tier="none", control=Control())
    assert (made.path / "output.txt").read_text() == run_plain(tmp_path)


def test_pools_that_cannot_be_remembered_have_a_stream_for_each_task() -> None:
    streams = PoolStreams(0)

    class Unhashable:
        __hash__ = None

    pool, other = Unhashable(), Unhashable()
    assert len({streams.next(each).of_globals.torch.seed64 for each in (pool, pool, other)}) == 3


TRIALS = """
import concurrent.futures, json, multiprocessing, random, sys
import numpy as np
import torch
torch.set_num_threads(1)
context = multiprocessing.get_context(sys.argv[1])
def draw(_):
    own = float(np.random.default_rng().random())
    return random.random(), own, float(np.random.rand()), torch.rand(()).item()
def trial(kind):
    if kind == "pool":
        with context.Pool(1) as pool:
            return pool.map(draw, range(3), chunksize=1)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return list(pool.map(draw, range(3)))
if __name__ == "__main__":
    found = []
    for kind in "pool", "executor":
        for seed in 0, 1, 0, None, None:
            if seed is not None:
                np.random.seed(seed)
                torch.manual_seed(seed)
            found.append(trial(kind))
    print(json.dumps(found))
"""


@pytest.mark.everyday(1)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_trial_that_is_repeated_draws_what_its_workers_would_have_without_us(
    method: str, trainer: Trainer
) -> None:
    """Forked workers begin with the states of NumPy and torch here; Python's generator is seeded in each."""
    trainer.script(TRIALS)
    made = trainer.record("train.py", method, tier="none", control=Control())
    trials = json.loads((made.path / "output.txt").read_text())
    for one in trials[:5], trials[5:]:
        alike = [
            [first[at] == second[at] for at in range(4)] for first, second in zip(one[0], one[2], strict=True)
        ]
        assert alike == [[False, False, method == "fork", method == "fork"]] * 3
        others = [number for trial in (one[0], one[1], *one[3:]) for task in trial for number in task]
        assert len(set(others)) == len(others)


GOES_ON = """
import json, multiprocessing, random
import torch
torch.set_num_threads(1)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(2)).sum().backward()
optimizer.step()
state = optimizer.state_dict()
def train(number):
    before = random.random(), torch.rand(()).item()
    torch.optim.Adam(model.parameters()).load_state_dict(state)
    return *before, random.random(), torch.rand(()).item()
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(json.dumps(pool.map(train, range(6), chunksize=1)))
"""


@pytest.mark.slow
def test_each_task_that_goes_on_from_a_checkpoint_draws_new_numbers(trainer: Trainer) -> None:
    trainer.script(GOES_ON, "tasks.py")
    runs = [trainer.record("tasks.py", tier="none", control=Control()) for _ in range(2)]
    first, second = (json.loads((made.path / "output.txt").read_text()) for made in runs)
    assert first == second
    drawn = [number for task in first for number in task]
    assert len(set(drawn)) == len(drawn) == 24


FORKED = """
import multiprocessing
import numpy as np
def draw(number):
    return float(np.random.rand())
if __name__ == "__main__":
    np.random.seed(5)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(draw, range(4)))
"""


@pytest.mark.parametrize("compatible", [True, False])
def test_published_numbers_stay_under_a_compatible_control_alone(
    compatible: bool, trainer: Trainer, tmp_path: Path
) -> None:
    trainer.script(FORKED, "tasks.py")
    made = trainer.record("tasks.py", tier="none", control=Control(compatible=compatible))
    assert ((made.path / "output.txt").read_text() == run_plain(tmp_path)) is compatible


MEMBERS = """
import json, multiprocessing, random, sys
import torch
from torch.utils.data import DataLoader, Dataset

class Augmented(Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, index):
        return random.random()

def train(number):
    torch.manual_seed(0)  # equal first weights
    if number % 2:
        random.seed(1)
    return [sample for batch in DataLoader(Augmented(), collate_fn=list) for sample in batch]

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(int(sys.argv[1])) as pool:
        print(json.dumps(pool.map(train, range(6), chunksize=1)))
"""


def test_what_a_task_seeded_is_no_matter_of_the_next_task_there(trainer: Trainer) -> None:
    trainer.script(MEMBERS, "tasks.py")
    one, three = (run(trainer, workers) for workers in "13")
    assert one == three
    seeded, others = one[1::2], one[::2]
    assert seeded == [seeded[0]] * 3  # as the script says, and as torch has it
    assert len({sample for member in others for sample in member}) == 9


HELD = """
import json, multiprocessing, random, sys
import numpy as np
import torch
torch.set_num_threads(1)
seeded = np.random.default_rng(int(sys.argv[3]))
legacy = np.random.RandomState(int(sys.argv[3]))
listed = np.random.default_rng([1, 2])
same = legacy
class Augment:
    def __init__(self):
        self.own = random.Random(int(sys.argv[3]))
augment = Augment()
strong = random.SystemRandom()
def begin():
    global made, torchs
    made, torchs = np.random.default_rng(), torch.Generator()
    torchs.seed()
def draw(_):
    numbers = seeded.random(), legacy.random_sample(), same.random_sample(), augment.own.random()
    return [*map(float, numbers), float(made.random()), torch.rand((), generator=torchs).item()]
def go():
    with multiprocessing.get_context(sys.argv[1]).Pool(int(sys.argv[2]), begin) as pool:
        return pool.map(draw, range(6), chunksize=1)
if __name__ == "__main__":
    found = [go(), go()]
    seeded.random(), legacy.random_sample(), augment.own.random()
    print(json.dumps([*found, go()]))
"""
SEEDED = slice(0, 4)  # of what each task draws


@pytest.mark.parametrize("how", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_generators_that_a_module_holds_begin_with_the_task(
    how: str, trainer: Trainer, tmp_path: Path
) -> None:
    """Equal with any number of workers; a pool repeats an earlier one where it does so plainly."""
    trainer.script(HELD, "tasks.py")

    def go(*arguments: str) -> Any:
        made = trainer.record("tasks.py", how, *arguments, tier="none", control=Control())
        assert (made.outcome, read_complaints(made.path)) == ("finished", [])
        return json.loads((made.path / "output.txt").read_text())

    pools = go("3", "0")
    assert go("1", "0") == pools
    for pool in pools:
        assert len({number for task in pool for number in task}) == 36
    unseeded = [number for pool in pools for task in pool for number in task[SEEDED.stop :]]
    assert len(set(unseeded)) == len(unseeded)  # another pool draws others, as plainly
    assert find_repeats(pools) == find_repeats(json.loads(run_plain(tmp_path, how, "1", "0")))
    assert list_seeded(go("3", "1"))[0] != list_seeded(pools)[0]  # the script's own seed counts


def list_seeded(pools: Any) -> list[list[list[float]]]:
    return [[task[SEEDED] for task in pool] for pool in pools]


def find_repeats(pools: Any) -> list[list[bool]]:
    return [[each == other for other in list_seeded(pools)] for each in list_seeded(pools)]


UNSEEDED = """
import multiprocessing, os, random
import numpy as np
import torch

def task(number):
    return round(np.random.rand() + random.random(), 6)

if __name__ == "__main__":
    random.random(), np.random.rand()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(task, range(8), chunksize=1), flush=True)
"""


def test_alone_it_is_not_named_by_generators_that_nobody_seeded(tmp_path: Path) -> None:
    """A diagnosis controls it with the sources found so far, and the parent's generators are left alone."""
    trainer = Trainer(tmp_path)
    trainer.script(UNSEEDED)
    drawn = []
    for only in (("worker-seeds",), ("worker-seeds",), ()):
        run = trainer.record("train.py", control=Control(only=only) if only else None)
        drawn.append((run.path / "output.txt").read_text())
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(json.loads(drawn[0]))) == 8
