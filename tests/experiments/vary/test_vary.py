"""The loop of `vary`, on trainings of which it is known what they depend on.

Covers `result.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from samerun.errors import UsageError
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.vary.result import VaryResult
from samerun.experiments.vary.vary import VaryRequest, list_changes, vary
from samerun.runs.plan import Control
from samerun.runs.store import Store

from ..imagined import SETTINGS, Imagined

FOUR = ("threads", "hash-seed", "clock", "hostname")


def varied(
    script: Imagined, folder: Path, *factors: str, control: Control | None = None, **asked: Any
) -> VaryResult:
    request = Request(("python", "train.py"), folder, Store(folder / ".samerun"), control=control)
    return vary(request, VaryRequest(factors or FOUR, **asked), Runner(record=script.record))


def verdicts(result: VaryResult) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for effect in result.effects:
        found.setdefault(effect.source, set()).add(effect.verdict)
    return found


def test_a_training_that_depends_on_nothing_is_the_same(tmp_path: Path) -> None:
    result = varied(Imagined(), tmp_path)
    assert result.verdict == "same"
    assert verdicts(result) == {source: {"same"} for source in FOUR}
    assert result.scope.startswith("2 runs, 3 steps")


@pytest.mark.parametrize("source", FOUR)
def test_one_dependence_is_found_and_it_alone(source: str, tmp_path: Path) -> None:
    result = varied(Imagined(on=frozenset({source})), tmp_path)
    assert result.verdict == "differs"
    assert {effect.source for effect in result.dependences()} == {source}
    first = result.dependences()[0]
    assert first.difference is not None
    assert (first.difference.step, first.difference.what) == (1, "loss")
    assert first.repeats is True
    assert first.size.loss_step == 1
    assert first.size.loss_ulps and first.size.loss_ulps > 0
    assert first.size.final_losses is not None


def test_what_does_not_repeat_by_itself_is_controlled_and_said_so(tmp_path: Path) -> None:
    script = Imagined(on=frozenset({"threads"}), repeats_alone=False)
    result = varied(script, tmp_path)
    assert (result.verdict, result.mode) == ("differs", "strict")
    assert any("does not repeat" in note for note in result.notes)
    assert [call["control"] for call in script.calls[:2]] == [None, None]
    assert all(call["control"].mode == "strict" for call in script.calls[2:])


def test_a_varied_source_is_not_controlled(tmp_path: Path) -> None:
    script = Imagined()
    varied(script, tmp_path, "hash-seed", control=Control("strict"))
    only = script.calls[2]["control"].only
    assert "hash-seed" not in only
    assert "python-random" in only


def test_what_does_not_repeat_at_all_is_unknown(tmp_path: Path) -> None:
    result = varied(Imagined(repeats=False), tmp_path)
    assert result.verdict == "unknown"
    assert "does not repeat even with every source controlled" in str(result.reason)


def test_a_difference_by_chance_is_no_dependence(tmp_path: Path) -> None:
    """Run 3 is the first one varied: it differs once, and neither of the runs that follow does."""
    result = varied(Imagined(chance=frozenset({3})), tmp_path, "hostname")
    assert not result.dependences()
    assert result.verdict == "unknown"
    assert "chance" in str(result.effects[0].reason)


def test_a_dependence_does_not_count_when_the_command_changes_meanwhile(tmp_path: Path) -> None:
    script = Imagined(on=frozenset({"hostname"}))
    probe = varied(script, tmp_path, "hostname")
    assert probe.verdict == "differs"
    last = len(script.calls)  # the run that makes sure that nothing changed
    result = varied(Imagined(on=frozenset({"hostname"}), chance=frozenset({last})), tmp_path, "hostname")
    assert result.verdict == "unknown"
    assert any("nothing varied differs" in note for note in result.notes)


def test_runs_that_differ_among_each_other_under_a_change_are_said_to(tmp_path: Path) -> None:
    script = Imagined(on=frozenset({"threads"}), repeats_with={"threads": False})
    result = varied(script, tmp_path)
    assert result.dependences()[0].repeats is False


def test_a_change_that_did_not_take_hold_is_unknown_and_never_the_same(tmp_path: Path) -> None:
    result = varied(Imagined(stubborn=frozenset({"threads"})), tmp_path, "threads")
    assert result.verdict == "unknown"
    assert "did not apply: intra should be 1, and the run reports 2" in str(result.effects[0].reason)


def test_a_command_that_fails_under_a_change_is_unknown_with_its_last_line(tmp_path: Path) -> None:
    result = varied(Imagined(fails=frozenset({"locale"})), tmp_path, "locale", "clock")
    assert result.verdict == "unknown"
    assert "ValueError: no such locale" in str(result.effects[-1].reason)


def test_what_nothing_uses_is_not_in_play(tmp_path: Path) -> None:
    result = varied(Imagined(unused=frozenset({"hostname"})), tmp_path, "hostname")
    assert (result.verdict, result.effects[0].in_play) == ("same", False)


def test_a_change_of_what_is_called_compares_the_weights(tmp_path: Path) -> None:
    other_calls = frozenset({"extra-evaluation"})
    result = varied(Imagined(weights_only=other_calls), tmp_path, "extra-evaluation")
    assert (result.verdict, result.effects[0].weights_only) == ("same", True)
    result = varied(Imagined(weights_only=other_calls, on=other_calls), tmp_path, "extra-evaluation")
    assert result.verdict == "differs"
    assert result.effects[0].difference is not None
    assert (result.effects[0].difference.what, result.effects[0].difference.step) == ("parameters", 1)


def test_halves_of_batches_that_there_are_not_are_unknown(tmp_path: Path) -> None:
    result = varied(Imagined(unused=frozenset({"batch-size"})), tmp_path, "batch-size")
    assert result.verdict == "unknown"
    assert "no module was called" in str(result.effects[0].reason)


def test_two_sources_that_matter_only_together_are_found(tmp_path: Path) -> None:
    both = frozenset({"hostname", "hash-seed"})
    result = varied(Imagined(together=both), tmp_path)
    assert result.verdict == "differs"
    assert not result.dependences()
    assert {source for source, _ in result.together} == both


def test_it_stops_at_the_first_dependence_when_asked_to(tmp_path: Path) -> None:
    result = varied(Imagined(on=frozenset({"threads"})), tmp_path, first=True)
    assert [effect.source for effect in result.effects] == ["threads"]
    assert {source for source, _ in result.untried} == {"hash-seed", "clock", "hostname"}


def test_what_does_not_fit_the_budget_is_not_tried_and_listed(tmp_path: Path) -> None:
    result = varied(Imagined(), tmp_path, budget=0.5)  # a run takes a second
    assert (result.verdict, result.effects) == ("unknown", ())
    assert {source for source, _ in result.untried} == set(FOUR)


def test_the_likely_and_cheap_come_first() -> None:
    order = [change.source for change in list_changes(SETTINGS)]  # type: ignore[arg-type]
    assert order[0] == "threads"
    assert order.index("hash-seed") < order.index("locale") < order.index("hostname") + 3
    assert order.index("threads") < order.index("compile")


def test_random_number_generators_are_varied_only_when_named() -> None:
    assert not {"torch-cpu", "python-random"} & {change.source for change in list_changes(SETTINGS)}  # type: ignore[arg-type]
    assert [change.source for change in list_changes(SETTINGS, ["torch-cpu"])] == ["torch-cpu"]  # type: ignore[arg-type]


def test_an_unknown_factor_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such source"):
        varied(Imagined(), tmp_path, "thread")


def test_a_factor_with_nothing_to_vary_is_said_and_not_the_same(tmp_path: Path) -> None:
    result = varied(Imagined(), tmp_path, "world-size")
    assert result.verdict == "unknown"
    assert any("nothing to vary" in note and "world-size" in note for note in result.notes)


def test_the_number_of_processes_is_found_in_the_command(tmp_path: Path) -> None:
    script = Imagined()
    request = Request(
        ("torchrun", "--nproc-per-node", "2", "train.py"), tmp_path, Store(tmp_path / ".samerun")
    )
    vary(request, VaryRequest(("world-size",)), Runner(record=script.record))
    assert ["torchrun", "--nproc-per-node", "1", "train.py"] in [call["command"] for call in script.calls]
