"""Real trainings, killed and resumed: what the checkpoint lacked is named, each at least once.

Covers `compare_resumed.py` and `epoch_starts.py`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from samerun.experiments.resume.compare_resumed import KilledRun, Resumption, compare_resumed
from samerun.experiments.resume.epoch_starts import EpochStarts
from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Run, Store

from ..resuming import ACCUMULATES, SCRIPT

Resumed = Callable[[str], Resumption]


@dataclass(frozen=True)
class Series:
    """A training that was never stopped, and the same one killed."""

    folder: Path
    whole: Run
    killed: KilledRun

    @classmethod
    def of(cls, folder: Path, script: str, kill_at: int) -> Series:
        for name in ("whole", "killed"):
            (folder / name).mkdir()
            (folder / name / "train.py").write_text(script)
        whole = _record(folder, "whole", "")
        killed = _record(folder, "killed", "", stop_after=kill_at - 1)
        assert (whole.outcome, killed.outcome) == ("finished", "stopped")
        assert killed.manifest.exit_code == -9
        return cls(folder, whole, KilledRun(killed, kill_at))

    def resumed(self, words: str, within: Path) -> Resumption:
        """What comes of resuming what the killed one left."""
        shutil.copytree(self.folder / "killed", within / "resumed")
        run = _record(within, "resumed", words)
        return compare_resumed(self.whole, [self.killed], run)


def _record(folder: Path, name: str, words: str, **how: int) -> Run:
    command = [sys.executable, "train.py", *words.split()]
    at = Workspace(folder / name, Store(folder / ".samerun"))
    return record(LaunchRequest(command, timeout=120), Plan(**how), at)


def where(back: Resumption) -> tuple[int, str, str] | None:
    found = back.comparison.difference
    return None if found is None else (found.step, found.phase, found.what)


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    """Killed at step 13, with the last checkpoint after 12 steps, two batches into an epoch."""
    return Series.of(tmp_path_factory.mktemp("series"), SCRIPT, 13)


@pytest.mark.slow
def test_the_whole_run_knows_its_epochs(series: Series) -> None:
    beginnings = EpochStarts(series.whole.traces()["rank0"])
    assert [beginnings.number(step) for step in range(24)] == [*range(1, 11), *range(1, 11), *range(1, 5)]


@pytest.mark.parametrize("words", ["resume", pytest.param("resume skip", marks=pytest.mark.slow)])
def test_all_restored_is_the_same(series: Series, words: str, tmp_path: Path) -> None:
    back = series.resumed(words, tmp_path)
    assert back.comparison.reason is None
    assert (back.comparison.verdict, where(back), back.lacks) == ("same", None, ())
    assert back.position is not None
    assert (back.position.step, back.position.by, back.steps) == (12, "weights", 12)
    assert back.comparison.scope.counts["gradients"] == 12


@pytest.mark.parametrize(
    "lacking, place, named, said",
    [
        ("flip", (12, "forward", "output"), ["weights"], "1 of 6 tensors differ: 0.weight"),
        pytest.param(
            "optimizer",
            (12, "optimizer", "parameters"),
            ["optimizer state"],
            "18 of 18 tensors",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "scheduler",
            (12, "optimizer", "parameters"),
            ["learning rate"],
            "equal optimizer state",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "betas",  # as of a schedule of momentum that was not restored
            (14, "optimizer", "parameters"),
            ["learning rate"],
            "equal after step 13",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "buffers",
            (12, "optimizer", "buffers"),
            ["buffers"],
            "Sequential.1.running_mean",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "torch",
            (12, "forward", "output"),
            ["RNG state of torch-cpu"],
            "dropout",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "python",
            (12, "data", "batch"),
            ["sample randomness"],
            "the state of python-random was not",
            marks=pytest.mark.slow,
        ),
        ("position", (12, "data", "batch"), ["loader position"], "that batch was the whole run's at step 10"),
        pytest.param(
            "order",
            (12, "data", "batch"),
            ["sample order"],
            "one that the whole run never had",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_is_not_restored_is_named(
    series: Series,
    lacking: str,
    place: tuple[int, str, str],
    named: list[str],
    said: str,
    tmp_path: Path,
) -> None:
    back = series.resumed(f"resume {lacking}", tmp_path)
    assert (back.comparison.verdict, where(back)) == ("differs", place)
    assert [lack.what for lack in back.lacks] == named
    assert said in back.lacks[0].evidence
    assert back.lacks[0].advice


@pytest.fixture(scope="module")
def accumulating(tmp_path_factory: pytest.TempPathFactory) -> Series:
    """Killed at step 8, with the last checkpoint in the middle of step 7."""
    return Series.of(tmp_path_factory.mktemp("accumulating"), ACCUMULATES, 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "lacking, place, named, said",
    [
        ("", None, [], ""),
        ("gradients", (7, "optimizer", "gradients"), ["gradients"], "1 of its backward passes"),
        ("scaler", (7, "forward", "loss"), ["gradient scaler"], "the loss of step 7 is equal"),
        ("average", (7, "evaluation", "output"), ["averaged weights"], "every step up to 7 is equal"),
        pytest.param(
            "counter", (11, "end", "end"), ["counters"], "ended after step 11", marks=pytest.mark.slow
        ),
    ],
)
def test_what_is_kept_beside_the_weights_is_named(
    accumulating: Series,
    lacking: str,
    place: tuple[int, str, str] | None,
    named: list[str],
    said: str,
    tmp_path: Path,
) -> None:
    back = accumulating.resumed(f"resume {lacking}", tmp_path)
    assert back.comparison.verdict == ("differs" if place else "same")
    assert where(back) == place
    assert [lack.what for lack in back.lacks] == named
    assert said in "".join(lack.evidence for lack in back.lacks)


# An average of the weights that is called in evaluations alone: after a resume not before the epoch's end.
AVERAGES = """\
import os, sys, torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
words = sys.argv[1:]
torch.manual_seed(0)
data = torch.rand(5, 8, 4)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
begin = 0
if "resume" in words:
    kept = torch.load("last.pt", weights_only=True)
    begin = kept["n"]
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
for n in range(begin, 15):
    loss = model(data[n % 5]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update_parameters(model)
    if n % 5 == 4:
        average.eval()
        with torch.no_grad(): average(data[0])
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "n": n + 1}
    torch.save(state, "new.pt")
    os.replace("new.pt", "last.pt")
"""


@pytest.fixture(scope="module")
def averaging(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return Series.of(tmp_path_factory.mktemp("averaging"), AVERAGES, 8)


@pytest.mark.slow
def test_an_average_that_was_forgotten_is_not_taken_for_buffers_or_counters(
    averaging: Series, tmp_path: Path
) -> None:
    back = averaging.resumed("resume", tmp_path)
    assert where(back) == (9, "evaluation", "output")
    assert [lack.what for lack in back.lacks] == ["averaged weights"]


# Saved beside a training that draws nothing: a generator's state, of torch's or of its own, or an average.
BESIDE = """
import copy, sys, torch
words = sys.argv
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
average, own = copy.deepcopy(model), torch.Generator().manual_seed(3)
kept = torch.load("last.pt") if "resume" in words else {"n": 0}
if "resume" in words:
    model.load_state_dict(kept["model"]); optimizer.load_state_dict(kept["optimizer"])
    torch.set_rng_state(kept["rng"]); DRAWS
for n in range(kept["n"], 10):
    model(torch.full((2, 4), n / 10)).square().mean().backward()
    optimizer.step(); optimizer.zero_grad()
    average.weight.data.lerp_(model.weight.data, 0.1)
    torch.rand(2, generator=own)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "n": n + 1}
    torch.save({**state, "rng": torch.get_rng_state(), **KEPT}, "last.pt")
"""
SAVED = {
    "RNG state of torch-cpu": ("torch.rand(3)", "{}"),
    "RNG state of the script's own generators": ("pass", '{"own": own.get_state()}'),
    "averaged weights": ("pass", '{"average": average.state_dict()}'),
}


@pytest.mark.everyday(1)
@pytest.mark.parametrize("lacks", SAVED)
def test_what_is_saved_and_not_trained_with_is_named_by_what_it_is(lacks: str, tmp_path: Path) -> None:
    draws, kept = SAVED[lacks]
    series = Series.of(tmp_path, BESIDE.replace("DRAWS", draws).replace("KEPT", kept), 5)
    back = series.resumed("resume", tmp_path)
    assert back.comparison.verdict == "differs"
    assert [lack.what for lack in back.lacks] == [lacks]


# The same, evaluated before a step: the resumed process meets the average first, and the model then.
EVALUATES_FIRST = AVERAGES.replace(
    """    if n % 5 == 4:
        average.eval()
        with torch.no_grad(): average(data[0])
""",
    "",
).replace(
    "    loss = ",
    """    if n % 5 == 0 and n:
        average.eval()
        with torch.no_grad(): average(data[0])
    loss = """,
)
RESTORED = EVALUATES_FIRST.replace('"n": n + 1}', '"n": n + 1, "average": average.state_dict()}').replace(
    "for n in range", 'if "resume" in words: average.load_state_dict(kept["average"])\nfor n in range'
)


@pytest.mark.slow
@pytest.mark.parametrize("restored", [False, True])
def test_which_of_two_models_is_called_first_is_no_difference(restored: bool, tmp_path: Path) -> None:
    series = Series.of(tmp_path, RESTORED if restored else EVALUATES_FIRST, 10)
    back = series.resumed("resume", tmp_path)
    assert back.comparison.verdict == ("same" if restored else "differs")
    assert where(back) == (None if restored else (10, "optimizer", "buffers"))
    assert [lack.what for lack in back.lacks] == ([] if restored else ["averaged weights"])


# A checkpoint as each epoch ends, without the generator that shuffles: seeded again, it begins anew.
EACH_EPOCH = """\
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(42)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(TensorDataset(torch.rand(32, 4)), batch_size=8, shuffle=True)
begin = 0
if "resume" in sys.argv:
    kept = torch.load("last.pt", weights_only=True)
    begin = kept["epoch"] + 1
    model.load_state_dict(kept["model"])
for epoch in range(begin, 3):
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    torch.save({"model": model.state_dict(), "epoch": epoch}, "last.pt")
"""


@pytest.mark.slow
@pytest.mark.parametrize("called", [pytest.param("", marks=pytest.mark.slow), "model(torch.zeros(1, 4))"])
def test_an_order_that_is_had_twice_is_no_lost_position_of_the_loader(called: str, tmp_path: Path) -> None:
    """Nor is a model that is called before it is restored, to draw its graph, one that was not restored."""
    script = EACH_EPOCH.replace("begin = 0", f"begin = 0\n{called}")
    back = Series.of(tmp_path, script, 6).resumed("resume", tmp_path)
    assert where(back) == (4, "data", "batch")
    assert [lack.what for lack in back.lacks] == ["sample order"]
    assert "step 0: both begin an epoch" in back.lacks[0].evidence
    assert "the state of torch-cpu was not the whole run's" in back.lacks[0].evidence


# Batches that the script draws for itself, as small language models do, and no generator in the checkpoint.
BY_HAND = """\
import sys, torch
torch.manual_seed(42)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
text, begin = torch.arange(4096.0) / 4096, 0
if "resume" in sys.argv:
    kept = torch.load("last.pt", weights_only=True)
    begin = kept["step"] + 1
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    if "generator" in kept and "all" in sys.argv:
        torch.set_rng_state(kept["generator"])
for step in range(begin, 9):
    begins = torch.randint(len(text) - 4, (8,))
    x = torch.stack([text[at : at + 4] for at in begins])
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    if step % 2 == 1:
        kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save({**kept, "generator": torch.get_rng_state()}, "last.pt")
"""


@pytest.mark.slow
def test_data_that_the_script_draws_needs_the_generator_and_no_loader(tmp_path: Path) -> None:
    series = Series.of(tmp_path, BY_HAND, 5)
    lacking, all_of_it = (series.resumed(words, tmp_path / words) for words in ("resume", "resume all"))
    assert all_of_it.comparison.verdict == "same"
    assert where(lacking) == (4, "data", "input")
    (lack,) = lacking.lacks
    assert lack.what == "RNG state of torch-cpu"
    assert "what it used at step 4 is what the whole run used at step 0" in lack.evidence
    assert 'checkpoint["torch-cpu"] = torch.get_rng_state()' in lack.advice


@pytest.mark.parametrize(
    ("made", "drawn", "what", "said"),
    [
        (
            "own = torch.Generator().manual_seed(7)",
            "torch.randint(len(text) - 4, (8,), generator=own)",
            "RNG state of the script's own generators",
            "generators that the script makes draw from the start again (train.py:6)",
        ),
        pytest.param(  # a replay buffer: the generator is restored, and what it chooses from is not
            "seen = []",
            "(seen.append(step), torch.tensor(seen)[torch.randint(len(seen), (8,))])[1]",
            "other state",
            "though the state of torch-cpu was restored: it comes from what the script keeps beside",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "once = torch.arange(8)",
            "once + 8 * (step if begin == 0 else step - 2)",
            "counters",
            "what it used at step 4 is what the whole run used at step 2: a count of steps",
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.slow
def test_data_of_a_script_that_draws_from_what_it_keeps(made, drawn, what, said, tmp_path: Path) -> None:
    script = BY_HAND.replace('if "resume"', f'{made}\nif "resume"', 1)
    script = script.replace("torch.randint(len(text) - 4, (8,))", drawn)
    back = Series.of(tmp_path, script, 5).resumed("resume all", tmp_path)
    assert where(back) == (4, "data", "input")
    (lack,) = back.lacks
    assert lack.what == what and said in lack.evidence


@pytest.mark.slow
def test_an_epoch_that_is_trained_again_is_a_counter(tmp_path: Path) -> None:
    script = EACH_EPOCH.replace('kept["epoch"] + 1', 'kept["epoch"]')
    script = script.replace("    for (x,) in loader", "    torch.manual_seed(epoch)\n    for (x,) in loader")
    back = Series.of(tmp_path, script, 10).resumed("resume", tmp_path)
    assert where(back) == (8, "data", "batch")
    (lack,) = back.lacks
    assert lack.what == "counters" and "that of steps 4 to 7" in lack.evidence
    assert 'checkpoint["epoch"] + 1' in lack.advice


# What the script itself keeps and forgets: a running norm for clipping, how much of a batch is shown.
KEEPS = """\
import os, sys, torch
from torch.utils.data import DataLoader, TensorDataset
words = set(sys.argv[1:])
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(16, 8)), 4, generator=torch.Generator())
norm, shown, first = 1.0, 1, 0
if "resume" in words:
    kept = torch.load("last.pt")
    model.load_state_dict(kept["model"])
    first = kept["epoch"]
    if "norm" not in words: norm = kept["norm"]
    if "shown" not in words: shown = kept["shown"]
for epoch in range(first, 5):
    for x, in loader:
        x = x.clone()
        x[:, shown:] = 0
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        norm = 0.9 * norm + 0.1 * model.weight.grad.norm().item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3 * norm)
        optimizer.step()
    shown += 1
    state = {"model": model.state_dict(), "epoch": epoch + 1, "norm": norm, "shown": shown}
    torch.save(state, "new.pt")
    os.replace("new.pt", "last.pt")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacking", "place", "said"),
    [
        ("norm", (8, "optimizer", "gradients"), "the gradients of its one backward pass are not"),
        ("shown", (8, "data", "input"), "the batch is equal, and what the script makes of it is not"),
    ],
)
def test_what_the_script_keeps_by_itself_has_no_other_name(
    lacking: str, place: tuple[int, str, str], said: str, tmp_path: Path
) -> None:
    back = Series.of(tmp_path, KEEPS, 10).resumed(f"resume {lacking}", tmp_path / "again")
    assert where(back) == place
    assert [lack.what for lack in back.lacks] == ["other state"]
    assert said in back.lacks[0].evidence


# Samples draw from a generator that the dataset holds, or from torch's. The checkpoint is one of mid-epoch:
# what was trained on is skipped before torch's state is put back.
HOLDS = """
import os, sys, numpy as np, torch
from torch.utils.data import DataLoader, Dataset
torch.manual_seed(0)
class Noisy(Dataset):
    def __init__(self): self.rng = np.random.default_rng(5)
    def __len__(self): return 16
    def __getitem__(self, index): return torch.full((4,), index / 16) + DRAWN
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.05)
data, begin = Noisy(), 0
kept = torch.load("last.pt", weights_only=False) if "resume" in sys.argv else None
if kept:
    model.load_state_dict(kept["model"]); optimizer.load_state_dict(kept["optimizer"]); begin = kept["n"]
for epoch in range(begin // 4, 3):
    batches = iter(DataLoader(data, 4, generator=torch.Generator().manual_seed(epoch)))
    for _ in range(begin % 4):
        next(batches)
    if kept and "rng" in sys.argv:
        torch.set_rng_state(kept["rng"])
    kept = None
    for x in batches:
        optimizer.zero_grad(); model(x).square().mean().backward(); optimizer.step()
        begin += 1
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "n": begin}
        torch.save({**state, "rng": torch.get_rng_state()}, "last.pt")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drawn", "words", "said"),
    [
        ("self.rng.random()", "resume rng", "those of the script begin again (train.py:6"),
        ("torch.rand(4)", "resume", "the state of torch-cpu was not the whole run's"),
    ],
)
def test_samples_draw_from_what_moves_as_they_are_made(
    drawn: str, words: str, said: str, tmp_path: Path
) -> None:
    back = Series.of(tmp_path, HOLDS.replace("DRAWN", drawn), 7).resumed(words, tmp_path / "back")
    (lack,) = back.lacks
    assert (lack.what, where(back)) == ("sample randomness", (7, "data", "batch"))
    assert said in lack.evidence
    assert ("generator.get_state()" in lack.advice) == ("rng" in words)


# A layer that is frozen until step 5; a sampler that goes on in its epoch, with the order of another one.
THAWS = """
import os, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
net[0].requires_grad_(False)
begin = 0
if os.path.exists("last.pt"):
    kept = torch.load("last.pt")
    net.load_state_dict(kept["net"]); optimizer.load_state_dict(kept["optimizer"]); begin = kept["n"]
for step in range(begin, 12):
    if step == 5: net[0].requires_grad_(True)
    optimizer.zero_grad()
    for part in range(PASSES): net(torch.ones(2, 4) * (step + part)).square().mean().backward()
    optimizer.step()
    if step % 4 == 3:
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "n": step + 1}, "last.pt")
"""
ORDERS = """
import os, torch
torch.manual_seed(0)
class Sampler(torch.utils.data.Sampler):
    epoch = done = 0
    def __len__(self): return 16
    def __iter__(self):
        order = torch.randperm(16, generator=torch.Generator().manual_seed(self.epoch))
        return iter(order.tolist()[self.done:])
net, sampler = torch.nn.Linear(4, 1), Sampler()
optimizer = torch.optim.SGD(net.parameters(), 1e-2)
loader = torch.utils.data.DataLoader(torch.rand(16, 4), 2, sampler=sampler)
first = skipped = 0
if os.path.exists("last.pt"):
    kept = torch.load("last.pt")
    net.load_state_dict(kept["net"])
    first, skipped = kept["epoch"], kept["n"]
    sampler.done = 2 * skipped
for epoch in range(first, 3):
    if not skipped: sampler.epoch = epoch
    for number, x in enumerate(loader, skipped):
        optimizer.zero_grad(); net(x).square().mean().backward(); optimizer.step()
        if number == 3: torch.save({"net": net.state_dict(), "epoch": epoch, "n": 4}, "last.pt")
    skipped = sampler.done = 0
"""


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("script", "kill_at", "named", "said"),
    [
        (THAWS.replace("PASSES", "1"), 10, "frozen parameters", "has a gradient of 0.weight, 0.bias"),
        (THAWS.replace("PASSES", "2"), 10, "frozen parameters", "has a gradient of 0.weight, 0.bias"),
        (ORDERS, 14, "sample order", "the same place in another epoch, whose order it had"),
    ],
)
def test_what_decides_how_it_trains_is_named(
    script: str, kill_at: int, named: str, said: str, tmp_path: Path
) -> None:
    back = Series.of(tmp_path, script, kill_at).resumed("", tmp_path / "back")
    (lack,) = back.lacks
    assert lack.what == named and said in lack.evidence
