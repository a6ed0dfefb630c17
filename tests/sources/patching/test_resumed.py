"""A training that goes on from its checkpoint draws numbers of its own, unless the script says otherwise."""

from __future__ import annotations

import ast
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from trainer import Trainer

import samerun
from samerun.runs.plan import Control
from samerun.sources.patching import resumed

SCRIPT = """
    import os, random, sys, uuid
    import numpy as np, torch
    {first}
    model = torch.nn.Linear(2, 1)
    optimizer = {optimizer}
    epoch, kept = 0, []
    if os.path.exists("last.pt"):
        saved = torch.load("last.pt", weights_only=False)
        {before}
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        epoch, kept = saved["epoch"], saved["kept"]
        {after}
    for _ in range(2):
        order = torch.randperm(1000)[:5].tolist()
        model(torch.rand(4, 2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        unseeded = np.random.default_rng().random(), str(uuid.uuid4())
        kept.append([order, random.random(), np.random.rand(), *unseeded])
        torch.save({{
            "model": model.state_dict(), "optimizer": optimizer.state_dict(),
            "epoch": epoch + 1, "kept": kept,
            "rng": (torch.get_rng_state(), random.getstate(), np.random.get_state()),
        }}, "last.pt")
    print(kept)
"""
ADAM = "torch.optim.Adam(model.parameters())"
MOMENTUM = "torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)"
PUT_BACK = "of = saved['rng']; torch.set_rng_state(of[0]); random.setstate(of[1]); np.random.set_state(of[2])"
SEEDS = "torch.manual_seed(1); random.seed(1); np.random.seed(1)"


def train(tmp_path: Path, **parts: str) -> list[list[Any]]:
    """What three parts of a training drew, each of which goes on from the one before."""
    trainer = Trainer(tmp_path)
    script = {"first": "", "optimizer": ADAM, "before": "", "after": "", **parts}
    trainer.script(SCRIPT.format(**script))
    for part in range(3):
        run = trainer.record("train.py", control=Control())
        assert run.manifest.outcome == "finished"
        if part == 1:
            shutil.copy(tmp_path / "last.pt", tmp_path / "two.pt")
    return list(ast.literal_eval((run.path / "output.txt").read_text()))


@pytest.mark.everyday(1)
@pytest.mark.parametrize("optimizer", [ADAM, MOMENTUM])
def test_no_part_draws_what_an_earlier_one_drew(tmp_path: Path, optimizer: str) -> None:
    kept = train(tmp_path, optimizer=optimizer)
    for drawn in zip(*kept, strict=True):
        assert len({str(each) for each in drawn}) == 6
    shutil.copy(tmp_path / "two.pt", tmp_path / "last.pt")
    again = Trainer(tmp_path).record("train.py", control=Control())
    assert ast.literal_eval((again.path / "output.txt").read_text()) == kept  # and each part repeats


@pytest.mark.slow
@pytest.mark.everyday(1)
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_state_that_the_script_puts_back_stays(tmp_path: Path, place: str) -> None:
    """Whether before the optimizer's or after it: the parts are those of a training that never ended."""
    drawn = [kept[:3] for kept in train(tmp_path, **{place: PUT_BACK})]
    whole = tmp_path / "whole"
    whole.mkdir()
    Trainer(whole).script(
        SCRIPT.format(first="", optimizer=ADAM, before="", after="").replace("range(2)", "range(6)")
    )
    run = Trainer(whole).record("train.py", control=Control())
    assert drawn == [kept[:3] for kept in ast.literal_eval((run.path / "output.txt").read_text())]


@pytest.mark.slow
def test_a_seed_that_the_script_gives_stays(tmp_path: Path) -> None:
    kept = train(tmp_path, first=SEEDS)
    assert [each[:3] for each in kept[:2]] == [each[:3] for each in kept[2:4]]  # as without control


def make_state(optimizer: Callable[..., torch.optim.Optimizer], **options: Any) -> dict[str, Any]:
    parameter = torch.nn.Parameter(torch.ones(3))
    made = optimizer([parameter], lr=0.1, **options)
    for _ in range(3):
        parameter.grad = torch.ones(3)
        made.step()
    return made.state_dict()


def test_an_optimizer_is_known_by_its_steps_or_by_what_it_holds() -> None:
    assert resumed._mark_optimizer(make_state(torch.optim.Adam)) == 3
    marks = {resumed._mark_optimizer(make_state(torch.optim.SGD, momentum=m)) for m in (0.5, 0.9)}
    assert len(marks) == 2 and None not in marks
    assert resumed._mark_optimizer(make_state(torch.optim.SGD)) is None
    assert resumed._mark_optimizer({}) is resumed._mark_optimizer({"state": [1]}) is None
    assert resumed._mark_scheduler({"last_epoch": 7}) == 7 and not resumed._mark_scheduler({"last_epoch": 0})


@pytest.mark.parametrize("step", [float("inf"), float("nan"), "many", torch.ones(1, device="meta")])
def test_a_state_of_an_unknown_kind_hurts_nobody(step: Any) -> None:
    """Whatever the mark of it makes of it, the optimizer has taken it by then."""
    called = []

    def load(self: Any, state_dict: Any) -> None:
        called.append(state_dict)

    loaded = resumed._follow(resumed._mark_optimizer)
    resumed._waiting.append(called.clear)
    try:
        loaded(load, (None, {"state": {0: {"step": step}}}), {})
    finally:
        resumed._waiting.remove(called.clear)
    assert called and resumed.get_path() == ()


def test_a_library_does_not_seed_anew() -> None:
    """There a process is seeded as by `torch.manual_seed`, which a resume does not change."""
    state = make_state(torch.optim.Adam)
    with samerun.control(3):
        drawn = torch.rand(3)
    with samerun.control(3):
        torch.optim.Adam([torch.nn.Parameter(torch.ones(3))]).load_state_dict(state)
        assert torch.equal(torch.rand(3), drawn) and resumed.get_path() == ()


def test_once_in_a_process(tmp_path: Path) -> None:
    """Whoever puts an optimizer back again and again draws on."""
    trainer = Trainer(tmp_path)
    trainer.script(
        """
        import torch
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        kept = optimizer.state_dict()
        for _ in range(4):
            optimizer.load_state_dict(kept)
            print(torch.rand(1).item())
        """
    )
    printed = (trainer.record("train.py", control=Control()).path / "output.txt").read_text().split()
    assert all(a != b for a, b in itertools.combinations(printed, 2)) and len(printed) == 4


@pytest.mark.slow
def test_processes_that_a_resumed_one_starts_draw_other_numbers_too(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(
        """
        import multiprocessing, os, random, subprocess, sys, torch

        def draw(_):
            return random.random(), torch.rand(1).item()

        if __name__ == "__main__":
            model = torch.nn.Linear(2, 1)
            optimizer = torch.optim.Adam(model.parameters())
            if os.path.exists("last.pt"):
                optimizer.load_state_dict(torch.load("last.pt"))
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            torch.save(optimizer.state_dict(), "last.pt")
            drawn = []
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    drawn += pool.map(draw, [0])[0][: 1 if method == "fork" else 2]  # torch's is its parent's
            program = "import os, random; print(random.random(), 'SAMERUN_RESUMED' in os.environ)"
            shell = ["bash", "-c", f'{sys.executable} -c "{program}"']
            for command in ([sys.executable, "-c", program], shell):
                number, shown = subprocess.check_output(command, text=True).split()
                assert shown == "False"
                drawn.append(float(number))
            print(drawn)
        """
    )
    parts = [
        ast.literal_eval((trainer.record("train.py", control=Control()).path / "output.txt").read_text())
        for _ in range(3)
    ]
    assert len({number for part in parts for number in part}) == 3 * 5


@pytest.mark.slow
def test_forked_children_that_go_on_are_as_alike_as_without_control(tmp_path: Path) -> None:
    """Python's generator begins anew in each, torch's is a copy of the parent's."""
    trainer = Trainer(tmp_path)
    trainer.script(
        """
        import multiprocessing, os, random, torch

        def train(queue):
            model = torch.nn.Linear(2, 1)
            optimizer = torch.optim.Adam(model.parameters())
            if os.path.exists("last.pt"):
                optimizer.load_state_dict(torch.load("last.pt"))
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            torch.save(optimizer.state_dict(), f"{os.getpid()}.pt")
            queue.put((random.random(), torch.rand(1).item(), f"{os.getpid()}.pt"))

        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        children = [context.Process(target=train, args=(queue,)) for _ in range(2)]
        for child in children: child.start()
        drawn = [queue.get() for _ in children]
        for child in children: child.join()
        os.replace(drawn[0][2], "last.pt")
        print([each[:2] for each in drawn])
        """
    )
    pythons, torchs = [], []
    for _ in range(3):
        run = trainer.record("train.py", control=Control())
        (a, b), (c, d) = ast.literal_eval((run.path / "output.txt").read_text())
        assert b == d
        pythons += [a, c]
        torchs.append(b)
    assert (len(set(pythons)), len(set(torchs))) == (6, 3)
