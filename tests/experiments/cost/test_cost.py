"""The loop of `cost`: turns taken by real processes, prices and the search on imagined ones.

Covers `configurations.py`, `interleave.py`, `result.py` and `timed_run.py`.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from trainer import Trainer

from samerun.experiments.cost import cost as module
from samerun.experiments.cost.configurations import AGAIN, Setup, list_setups
from samerun.experiments.cost.cost import Rounds, cost
from samerun.experiments.cost.interleave import run_in_turns
from samerun.experiments.cost.result import CostResult
from samerun.experiments.cost.timed_run import TimedRun
from samerun.experiments.progress import Listener
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.recording.steps.step_timer import step_seconds
from samerun.runs.manifest import Manifest
from samerun.runs.plan import Control, Plan
from samerun.runs.store import Run, Store

from ..imagined import SETTINGS, Imagined

TOY = """
    import os
    import torch
    from samerun.recording.steps import step_timer
    step_timer._now = lambda: os.path.getsize("work")  # a clock that the work of both commands moves
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(int(os.environ.get("STEPS", 12))):
        net(torch.randn(3, 4)).sum().backward()
        with open("work", "a") as work:
            work.write(os.environ.get("NAME", "-") * int(os.environ.get("TIMES", 1)))
        optimizer.step()
        optimizer.zero_grad()
"""


def timed(trainer: Trainer, **environment: str) -> TimedRun:
    request = LaunchRequest((sys.executable, "train.py"), environment)
    return TimedRun(request, Plan(tier="none"), Workspace(trainer.folder, trainer.store))


@pytest.mark.slow
def test_two_commands_take_turns_step_by_step(trainer: Trainer) -> None:
    trainer.script(TOY)
    a, b = run_in_turns([timed(trainer, NAME="a"), timed(trainer, NAME="b", TIMES="20")], random.Random(0))
    assert (a.outcome, b.outcome) == ("finished", "finished")
    turns = (trainer.folder / "work").read_text().replace("b" * 20, "b")
    pairs = [turns[at : at + 2] for at in range(0, len(turns), 2)]
    assert len(pairs) == 12
    assert set(pairs) <= {"ab", "ba"}  # one step of each in every pair of turns
    assert (step_seconds(a.path), step_seconds(b.path)) == ([1.0] * 11, [20.0] * 11)  # and no waiting


@pytest.mark.slow
def test_one_that_ends_early_does_not_keep_the_other(trainer: Trainer) -> None:
    trainer.script(TOY)
    a, b = run_in_turns([timed(trainer, STEPS="3"), timed(trainer, STEPS="6")], random.Random(0))
    assert (a.outcome, b.outcome) == ("finished", "finished")
    assert (len(step_seconds(a.path)), len(step_seconds(b.path))) == (2, 5)


@pytest.mark.slow
def test_one_that_fails_at_once_does_not_keep_the_other(trainer: Trainer) -> None:
    trainer.script(TOY)
    bad = replace(timed(trainer), request=LaunchRequest((sys.executable, "-c", "raise SystemExit(3)")))
    a, b = run_in_turns([timed(trainer, STEPS="3"), bad], random.Random(0))
    assert (a.outcome, b.outcome) == ("finished", "failed")


def test_what_the_process_of_a_run_reads_is_what_was_asked_for(trainer: Trainer) -> None:
    plan = Plan(tier="ops", stop_after=3, control=Control("strict", 5, only=("threads",), extra=("clock",)))
    request = LaunchRequest(("python", "train.py"), {"NAME": "a"}, timeout=9.0)
    asked = TimedRun(request, plan, Workspace(trainer.folder, trainer.store, fresh=True))
    read = TimedRun.from_json(asked.to_json())
    assert (read.plan, read.at.folder, read.at.fresh) == (plan, trainer.folder, True)
    assert (read.request.env, read.request.timeout) == ({"NAME": "a"}, 9.0)


# --- the loop ----------------------------------------------------------------------------------------


@dataclass
class Machine:
    """Stands in for turns: a step takes a millisecond times what its controls cost, with some noise."""

    prices: dict[str, float] = field(default_factory=dict)  # by the id of a source that is controlled
    fails: str = ""
    noise: random.Random = field(default_factory=lambda: random.Random(0))

    def side_by_side(self, commands: list[TimedRun], order: random.Random) -> list[Run]:
        return [self._run(command) for command in commands]

    def _run(self, command: TimedRun) -> Run:
        path = command.at.store.create()
        ids = _controlled(command.plan.control)
        failed = self.fails in ids
        price = 1.0
        for id_ in ids:
            price *= self.prices.get(id_, 1.0)
        seconds = [0.001 * price * self.noise.lognormvariate(0, 0.02) for _ in range(20)]
        (path / "rank0.times.json").write_text(f'{{"seconds": {seconds}}}')
        Manifest(
            id=path.name,
            command=tuple(command.request.command),
            cwd=str(command.at.folder),
            started="2026-11-01T12:00:00.000+00:00",
            outcome="failed" if failed else "finished",
            exit_code=1 if failed else 0,
            duration_s=1.0,
        ).write(path)
        return Run(path)


def _controlled(control: Control | None) -> set[str]:
    from samerun.controls import select_sources

    return {source.id for source in select_sources(control)}


@dataclass
class Needs(Imagined):
    """A training whose runs agree only with all of these sources controlled, or with one of those."""

    all_of: frozenset[str] = frozenset()
    or_one_of: frozenset[str] = frozenset()

    def _result(self, how: Any, varied: frozenset[str]) -> bytes:
        from samerun.controls import select_sources

        ids = {source.id for source in select_sources(how["control"])}
        self.repeats = not self.all_of or self.all_of <= ids or bool(self.or_one_of & ids)
        return super()._result(how, varied)


def costed(
    script: Imagined, machine: Machine, folder: Path, monkeypatch: pytest.MonkeyPatch, **rounds: Any
) -> CostResult:
    monkeypatch.setattr(module, "run_in_turns", machine.side_by_side)
    request = Request(("python", "train.py"), folder, Store(folder / ".samerun"))
    return cost(request, Rounds(**rounds), Runner(record=script.record))


def test_a_dear_control_is_named_with_what_it_buys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = "nondeterministic-kernels"
    script = Needs(all_of=frozenset({kernels}))
    result = costed(script, Machine({kernels: 1.3}, noise=random.Random(1)), tmp_path, monkeypatch)
    dearest = result.dearest()
    assert dearest is not None and dearest.name == kernels
    assert dearest.steps is not None and dearest.steps.holds(1.3)
    assert dearest.buys == "without it runs differ"
    nothing = next(price for price in result.prices if price.name == "nothing")
    assert nothing.steps is not None and nothing.steps.holds(1.0)


class Heard(Listener):
    """Keeps what a watcher hears."""

    def __init__(self) -> None:
        self.announced: list[int] = []
        self.made = 0
        self.rounds: list[int] = []
        self.said: list[tuple[int, str]] = []

    def ahead(self, runs: int) -> None:
        self.announced.append(runs)

    def run_ended(self, run: str, steps: int, outcome: str, elapsed: float) -> None:
        self.made += 1
        self.said.append((steps, outcome))

    def so_far(self, result: object) -> None:
        assert isinstance(result, CostResult)
        self.rounds.append(result.rounds)
        assert len(result.prices[0].pairs) == result.rounds


def test_a_watcher_knows_how_much_is_to_come_and_what_is_known_after_each_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "run_in_turns", Machine({"threads": 1.3}).side_by_side)
    heard = Heard()
    request = Request(("python", "train.py"), tmp_path, Store(tmp_path / ".samerun"))
    cost(request, Rounds(search=False), Runner(heard, record=Needs().record))
    (announced,) = heard.announced
    assert announced >= heard.made - 1 > 10
    assert heard.rounds == [1, 2, 3]  # of five: by then each price is known to 2 %
    assert all(steps == 20 for steps, _ in heard.said[1:])
    assert any(said.startswith("threads, a step takes ×1.3") for _, said in heard.said)


def test_a_budget_ends_measuring_however_few_rounds_there_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = costed(Needs(), Machine({}), tmp_path, monkeypatch, search=False, budget=0.0)
    assert few.rounds == 1 and "the budget of 0 s ended after 1 round: prices are rough" in few.notes
    enough = costed(Needs(), Machine({}), tmp_path, monkeypatch, search=False, budget=1e6)
    assert enough.rounds >= 3 and not enough.notes


def test_the_cheapest_is_the_command_left_alone_when_that_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = costed(Needs(), Machine(), tmp_path, monkeypatch)
    assert result.verdict == "same"
    assert result.choices[-1].how == "the command left alone"


def test_the_cheapest_is_mode_seeded_when_seeds_are_all_that_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = costed(Needs(all_of=frozenset({"torch-cpu"})), Machine(), tmp_path, monkeypatch)
    assert [choice.verdict for choice in result.choices] == ["differs", "same", "same"]
    assert result.choices[-1].how == "samerun run --mode seeded"


@pytest.mark.parametrize(("kernels", "one_thread", "cheaper"), [(1.3, 2.0, "kernels"), (2.0, 1.3, "threads")])
def test_the_search_finds_what_is_needed_and_takes_the_cheaper_way(
    kernels: float, one_thread: float, cheaper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Needs(
        all_of=frozenset({"torch-cpu", "nondeterministic-kernels"}), or_one_of=frozenset({"threads"})
    )
    machine = Machine({"nondeterministic-kernels": kernels, "threads": one_thread})
    result = costed(script, machine, tmp_path, monkeypatch)
    cheapest = result.choices[-1]
    assert cheapest.verdict == result.verdict == "same"
    assert cheaper in cheapest.how
    assert "mkl-first-call" not in cheapest.how
    assert cheapest.price is not None and cheapest.price.ratio == pytest.approx(
        min(kernels, one_thread), rel=0.02
    )


def test_nothing_is_cheapest_when_nothing_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = costed(Needs(all_of=frozenset({"no such thing"})), Machine(), tmp_path, monkeypatch)
    assert result.verdict == "differs"
    assert result.choices[-1].how == "none found"
    assert any("samerun diagnose" in note for note in result.notes)


def test_a_way_with_which_the_command_fails_has_a_reason_and_no_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = costed(Needs(), Machine(fails="cpu-isa"), tmp_path, monkeypatch, search=False)
    portable = next(price for price in result.prices if price.name == "portable")
    assert portable.steps is None
    assert "the command fails with it" in str(portable.reason)


def test_the_ways_are_those_that_the_machine_and_the_command_have() -> None:
    names = [setup.name for setup in list_setups(SETTINGS, 0)]
    assert names[0] == "nothing"
    assert {"seeded", "warn", "strict", "portable", "threads", "worker-seeds", "tier steps"} <= set(names)
    assert "cudnn-benchmark" not in names
    with_gpu = {**SETTINGS, "hardware": {"devices": ["a GPU"]}}
    assert "cudnn-benchmark" in [setup.name for setup in list_setups(with_gpu, 0)]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_planted_slowdown_is_found_and_nothing_costs_nothing(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.script(TOY)
    request = Request((sys.executable, "train.py"), trainer.folder, trainer.store)
    planted = Setup("planted", "control: planted", environment={"TIMES": "11"})
    monkeypatch.setenv("TIMES", "10")
    result = cost(request, Rounds(6, search=False), ways=[AGAIN, planted])
    prices = {price.name: price.steps for price in result.prices}
    assert prices["nothing"] is not None and prices["nothing"].holds(1.0)
    assert prices["planted"] is not None
    assert prices["planted"].low > 1.0 and prices["planted"].ratio == pytest.approx(1.10), prices


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_search_on_a_real_graph_network_returns_what_check_calls_the_same(trainer: Trainer) -> None:
    from samerun.experiments.check.check import check

    trainer.script(
        """
        import torch
        torch.set_num_threads(2)
        x = torch.randn(300, 64)
        source = torch.randint(300, (6000,))
        layer = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        weights = torch.nn.Parameter(x)
        optimizer.add_param_group({"params": [weights]})
        for _ in range(12):
            loss = layer(weights[source]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    )
    command = (sys.executable, "train.py")
    result = cost(Request(command, trainer.folder, trainer.store), Rounds(2), ways=[AGAIN])
    assert result.verdict == "same"
    assert result.choices[0].verdict == "differs"
    ids = ["nondeterministic-kernels", "threads"]
    chosen = [id_ for id_ in ids if id_ in result.choices[-1].how]
    control = Control("seeded", extra=tuple(chosen))
    again = check(Request(command, trainer.folder, trainer.store, runs=3, control=control))
    assert again.verdict == "same"
