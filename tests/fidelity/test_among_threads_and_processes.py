"""Law 2 where a process is not alone: no draw of another thread or process comes again by a keyed sample."""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from trainer import Trainer

import samerun.data
from samerun.runs.plan import Control
from samerun.sources.per_sample import seeder
from samerun.sources.worker_seeds import WorkerSeeds


class Noise(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.rand(8)


class OwnLoader(samerun.data.DataLoader):
    seeds = itertools.count()

    def __init__(self) -> None:
        # Another seed for each: by one seed, they make the same samples, and who draws meanwhile draws alike.
        super().__init__(Noise(), 4, seed=next(self.seeds))


class OtherLoader(DataLoader[Any]):
    def __init__(self) -> None:
        super().__init__(Noise(), 4)


@pytest.mark.filterwarnings("ignore:this loader makes its samples")
@pytest.mark.parametrize("kind", [OwnLoader, OtherLoader])
def test_what_the_main_thread_draws_does_not_come_again_while_another_one_loads(kind: type) -> None:
    undo = WorkerSeeds().control(Control(seed=0))
    assert undo is not None
    loaded, ended = threading.Event(), threading.Event()

    def load() -> None:
        while not ended.is_set():
            for _ in kind():
                loaded.set()

    thread = threading.Thread(target=load)
    try:
        thread.start()
        loaded.wait(60)
        drawn = Counter(np.random.random_sample(2).tobytes() for _ in range(40_000))
        drawn.update(torch.rand(4).numpy().tobytes() for _ in range(40_000))
    finally:
        ended.set()
        thread.join()
        undo()
    assert len(drawn) == 80_000


@pytest.mark.parametrize("kind", [OwnLoader, OtherLoader])
def test_what_another_thread_draws_does_not_come_again_while_the_main_one_loads(kind: type) -> None:
    undo = WorkerSeeds().control(Control(seed=0))
    assert undo is not None
    drawn: list[bytes] = []
    ended = threading.Event()

    def draw() -> None:
        while not ended.is_set():
            drawn.append(np.random.random_sample(2).tobytes())

    thread = threading.Thread(target=draw)
    try:
        thread.start()
        while len(drawn) < 40_000:
            list(kind())
    finally:
        ended.set()
        thread.join()
        undo()
    # The thread may run between two instructions, the reading of a state and the writing of another one.
    assert len(drawn) - len(set(drawn)) < len(drawn) / 1000


def test_in_another_thread_a_loader_of_ours_warns_and_names_its_samples_all_the_same() -> None:
    streams: list[float] = []

    class Named(Noise):
        def __getitem__(self, index: int) -> torch.Tensor:
            streams.append(samerun.data.sample_stream().python().random())
            return torch.zeros(1)

    def load() -> None:
        list(samerun.data.DataLoader(Named(), 4, seed=0))

    said: list[Any] = []

    def load_there() -> None:
        with pytest.warns(RuntimeWarning, match="in another thread than the main one") as caught:
            load()
        said.extend(caught)

    thread = threading.Thread(target=load_there)
    thread.start()
    thread.join()
    assert len(said) == 1
    assert len(set(streams)) == len(streams) == 40
    load()
    assert streams[40:] == streams[:40]


MEMBERS = """
import json, multiprocessing, random, sys
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Augmented(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        own = np.random.default_rng().random()  # of entropy, which nobody seeds
        return [index, random.random(), np.random.rand(), torch.rand(()).item(), own]

def train(number, send):
    torch.manual_seed(0)  # equal first weights
    SEED
    loader = DataLoader(Augmented(), 2, num_workers=WORKERS, collate_fn=list)
    send.put([sample for batch in loader for sample in batch])

if __name__ == "__main__":
    FIRST
    context = multiprocessing.get_context(sys.argv[1])
    queue, found = context.Queue(), []
    for number in range(2):
        member = context.Process(target=train, args=(number, queue))
        member.start()
        found.append(queue.get())
        member.join()
    print(json.dumps(found))
"""


# A fixed seed for an evaluation, the states put back.
EVALUATED = (
    "states = random.getstate(), np.random.get_state(); random.seed(1); np.random.seed(1); "
    "random.setstate(states[0]); np.random.set_state(states[1])"
)
# A sample that has one from another loader.
NESTED = """
    augmented = Augmented()
    class Nested(Dataset):
        def __len__(self):
            return 4
        def __getitem__(self, index):
            return next(iter(DataLoader(augmented, sampler=[index], collate_fn=list)))[0]
    globals()["Augmented"] = Nested
"""


@pytest.mark.everyday(3)
@pytest.mark.parametrize(
    ("how", "workers", "seed", "first", "alike"),
    [
        ("fork", 0, "pass", "pass", (False, False, True, False)),
        ("spawn", 0, "pass", "pass", (False, False, True, False)),
        (
            "fork",
            0,
            "random.seed(0)",
            "pass",
            (True, False, True, False),
        ),  # as the script says, and does for torch
        ("fork", 0, "np.random.seed(0)", "pass", (False, True, True, False)),
        (
            "fork",
            0,
            "random.setstate(random.getstate())",
            "pass",
            (False, False, True, False),
        ),  # of a checkpoint
        ("fork", 0, "np.random.set_state(np.random.get_state())", "pass", (False, False, True, False)),
        ("fork", 0, EVALUATED, "pass", (False, False, True, False)),
        ("fork", 0, f"random.seed(0); {EVALUATED}", "pass", (True, False, True, False)),
        ("fork", 0, "random.seed(0); random.seed()", "pass", (False, False, True, False)),
        ("fork", 0, "np.random.seed()", "np.random.seed(0)", (False, False, True, False)),
        ("fork", 0, NESTED, "pass", (False, False, True, False)),
        ("spawn", 0, NESTED, "pass", (False, False, True, False)),
        ("fork", 0, "pass", "np.random.rand()", (False, True, True, False)),  # a fork has its parent's
        ("spawn", 0, "pass", "np.random.rand()", (False, False, True, False)),
        (
            "fork",
            1,
            "pass",
            "pass",
            (True, True, True, False),
        ),  # torch seeds a worker's generators, by its own seed
    ],
)
def test_processes_that_seed_torch_alike_do_not_augment_alike(
    trainer: Trainer, how: str, workers: int, seed: str, first: str, alike: tuple[bool, ...]
) -> None:
    script = MEMBERS.replace("SEED", seed).replace("FIRST", first)
    trainer.script(script.replace("WORKERS", str(workers)))
    runs = [trainer.record("train.py", how, control=Control(seed=0)) for _ in range(2)]
    found, again = (json.loads(Path(run.path, "output.txt").read_text().splitlines()[-1]) for run in runs)
    assert found == again
    for number, same in enumerate(alike, 1):
        one, other = ([sample[number] for sample in member] for member in found)
        assert (one == other) is same and len({*one, *other}) == (4 if same else 8)


def test_what_a_sample_seeds_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samerun.lineage.get_launched_path", lambda: ("python", 1))
    monkeypatch.setattr(seeder, "_given", set())
    monkeypatch.setattr(seeder, "_began", {})
    before, apart = seeder.capture(), seeder.find_apart()
    seeder.seed_all(7)
    seeder.note_given("python-random")
    seeder.restore(before)
    assert seeder.find_apart() == apart


def test_the_first_process_draws_as_ever_and_others_what_they_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seeder.find_apart() == seeder.TOGETHER
    monkeypatch.setattr("samerun.lineage.get_launched_path", lambda: ("python", 1))
    monkeypatch.setattr(seeder, "_given", set())
    monkeypatch.setattr(seeder, "_began", {})
    torchs, pythons, numpys = (apart := seeder.find_apart()).words
    assert torchs == 0 and len({0, pythons, numpys, apart.entropy}) == 4
    seeder.note_given("numpy-global")
    assert seeder.find_apart() == apart._replace(words=(0, pythons, 0))
    seeder.note_given("python-random")
    assert seeder.find_apart() == apart._replace(words=(0, 0, 0))
    seeder.note_begun("python-random")
    assert seeder.find_apart() == apart._replace(words=(0, pythons, 0))
