"""Covers `bounded.py`, `changed.py`, `inputs_now.py` and `result.py`."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from samerun.errors import RunError
from samerun.experiments.lock.leaves_file import write_leaves
from samerun.experiments.verify.static import verify_static
from samerun.runs.lock.content import Bounds
from samerun.runs.lock.file import FILE, write_lock

from ..locking import SETTINGS, Machine, lock_of, locked, verified
from ..scripts import Script

SCRIPT = Script(steps=10, batches=("torch-cpu",))
OTHER = {"hardware": {**SETTINGS["hardware"], "processor": "Imagined 2"}}
THREADS = {"threads": {"intra": 1, "inter": 2}}


def flipped(*places: tuple[int, str]) -> Script:
    """The same training, its first run with another bit at each of these places."""
    return replace(SCRIPT, flips=frozenset((1, *place) for place in places), calls=[])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("lr = 0.1\n")
    result = locked(Machine(replace(SCRIPT, calls=[])), tmp_path)
    assert result.lock is not None
    return tmp_path


def bound(folder: Path, loss: float) -> None:
    """As `lock --bounds` writes it."""
    lock = lock_of(folder)
    bounds = Bounds(loss, {}, ("threads: 1 thread",))
    environments = {id_: replace(item, bounds=bounds) for id_, item in lock.environments.items()}
    write_lock(replace(lock, environments=environments), folder / FILE)


def test_the_locked_run_again_is_the_same(folder: Path) -> None:
    result = verified(Machine(flipped()), folder)
    assert result.verdict == "same" and result.steps == 10 and "gradients" in result.quantities
    assert result.environment == result.locked_environment


@pytest.mark.parametrize("quantity", ["batch", "loss", "gradients", "parameters"])
def test_one_changed_bit_differs_at_its_step(folder: Path, quantity: str) -> None:
    result = verified(Machine(flipped((5, quantity))), folder)
    assert result.verdict == "differs"
    first = result.moved[0]
    assert (first.quantity, first.step, first.exact) == (quantity, 5, True)  # the locked run is at hand
    assert result.compared is not None and result.compared.difference is not None
    assert result.compared.difference.step == 5


def test_without_the_locked_run_the_roots_find_the_bit(folder: Path) -> None:
    shutil.rmtree(folder / ".samerun")
    result = verified(Machine(flipped((5, "gradients"))), folder)
    assert result.verdict == "differs" and [item.step for item in result.moved] == [None]
    assert verified(Machine(flipped()), folder).verdict == "same"


def test_leaves_name_the_step_and_must_be_those_of_the_lock(folder: Path, tmp_path: Path) -> None:
    from samerun.experiments.lock.observed import observe
    from samerun.runs.store import Store

    run = Store(folder / ".samerun").list()[0]
    leaves = observe(run).leaves
    write_leaves(leaves, folder / "leaves.arrow")
    write_leaves(replace(leaves, digests=dict(list(leaves.digests.items())[1:])), folder / "other.arrow")
    shutil.rmtree(folder / ".samerun")
    result = verified(Machine(flipped((5, "gradients"))), folder, leaves=folder / "leaves.arrow")
    assert [(item.step, item.exact) for item in result.moved] == [(5, True)]
    with pytest.raises(RunError, match="not those of the lock"):
        verified(Machine(flipped()), folder, leaves=folder / "other.arrow")


def test_the_first_steps_alone(folder: Path) -> None:
    later = Machine(flipped((8, "loss")))
    result = verified(later, folder, steps=5)
    assert result.verdict == "same" and result.steps == 5
    assert verified(Machine(flipped((4, "loss"))), folder, steps=5).verdict == "differs"


def test_a_lock_without_these_steps_tells_nothing_of_them(folder: Path) -> None:
    lock = lock_of(folder)
    bare = {id_: replace(item, steps=item.steps[4:]) for id_, item in lock.environments.items()}
    write_lock(replace(lock, environments=bare), folder / FILE)
    shutil.rmtree(folder / ".samerun")
    result = verified(Machine(flipped()), folder, steps=5)
    assert (result.verdict, result.reason) == ("unknown", "the lock holds no step below 5")
    assert verified(Machine(flipped()), folder).verdict == "same"


def test_a_lock_that_holds_nothing_is_never_the_same(folder: Path) -> None:
    lock = lock_of(folder)
    bare = {id_: replace(item, steps=(), root={}) for id_, item in lock.environments.items()}
    write_lock(replace(lock, environments=bare), folder / FILE)
    shutil.rmtree(folder / ".samerun")
    assert verified(Machine(flipped()), folder).verdict == "unknown"


def test_static_without_anything_to_compare_is_not_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samerun.experiments.verify.static.select_environment", lambda environ: {})
    lock = lock_of(folder)
    empty = {id_: replace(item, packages={}, variables={}) for id_, item in lock.environments.items()}
    bare = replace(lock, code=replace(lock.code, files={}), inputs={}, environments=empty)
    result = verify_static(bare, folder / FILE, folder)
    assert result.verdict == "unknown" and "no file and no package" in str(result.reason)
    assert verify_static(replace(bare, code=lock.code), folder / FILE, folder).verdict == "same"


def test_changed_code_is_named_first(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.2\n")
    result = verified(Machine(flipped((5, "gradients"))), folder)
    assert result.verdict == "differs"
    assert [(item.kind, item.name) for item in result.changed] == [("code", "train.py")]


def test_code_that_changed_without_a_bit_is_the_same_and_named(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.1  # as before\n")
    result = verified(Machine(flipped()), folder)
    assert result.verdict == "same"
    assert [(item.kind, item.name) for item in result.changed] == [("code", "train.py")]


@pytest.mark.parametrize(
    "settings, kind, name",
    [
        (THREADS, "setting", "threads"),
        ({"packages": {**SETTINGS["packages"], "numpy": "2.5.0"}}, "package", "numpy"),
        ({"environment": {"LANG": "C.UTF-8", "PYTHONHASHSEED": "7"}}, "variable", "PYTHONHASHSEED"),
    ],
)
def test_the_same_machine_used_otherwise_differs_and_says_how(folder, settings, kind, name) -> None:
    result = verified(Machine(flipped((5, "gradients")), settings), folder)
    assert result.verdict == "differs"
    assert [(item.kind, item.name) for item in result.changed] == [(kind, name)]
    assert verified(Machine(flipped(), settings), folder).verdict == "same"  # where no bit moved


def test_another_machine_is_unknown_without_bounds_and_within_with_them(folder: Path) -> None:
    rounded = flipped((5, "gradients"))
    result = verified(Machine(rounded, OTHER), folder)
    assert result.verdict == "unknown" and "Imagined 1 → Imagined 2" in (result.reason or "")
    bound(folder, 1e-3)
    result = verified(Machine(flipped((5, "gradients")), OTHER), folder)
    assert result.verdict == "within"
    assert [(item.name, item.bound) for item in result.distances] == [("loss", 1e-3)]


def test_beyond_the_bounds_another_machine_differs(folder: Path) -> None:
    bound(folder, 1e-9)
    other_losses = Machine(replace(SCRIPT, init=("nondeterministic-kernels",), calls=[]), OTHER)
    result = verified(other_losses, folder)
    assert result.verdict == "differs"
    assert [item.distance > item.bound for item in result.distances] == [True]
    bound(folder, 10.0)
    assert verified(other_losses, folder).verdict == "within"


@pytest.mark.parametrize("what", ["rng", "end"])
def test_other_draws_differ_on_every_machine_even_within_the_bounds(folder: Path, what: str) -> None:
    bound(folder, 10.0)
    result = verified(Machine(flipped((3, what)) if what == "rng" else flipped((10, what)), OTHER), folder)
    assert result.verdict == "differs"


@pytest.mark.parametrize("more", [(), ((3, "loss"),)])
def test_draws_that_moved_alone_are_said_to_be_alone(folder: Path, more: tuple[tuple[int, str], ...]) -> None:
    result = verified(Machine(flipped((3, "rng"), *more)), folder)
    assert result.verdict == "differs"
    assert any("draws alone moved" in note for note in result.notes) == (not more)


def test_other_code_on_another_machine_is_not_within(folder: Path) -> None:
    bound(folder, 10.0)
    (folder / "train.py").write_text("lr = 0.2\n")
    assert verified(Machine(flipped((5, "gradients")), OTHER), folder).verdict == "differs"


def test_another_command_is_stale_and_nothing_is_run(folder: Path) -> None:
    script = flipped()
    result = verified(Machine(script), folder, command=("python", "other.py"))
    assert result.verdict == "stale" and not script.calls
    assert result.update == ("samerun", "lock", "--update", "--", "python", "other.py")


def test_another_command_is_locked_with_the_control_of_the_lock(folder: Path) -> None:
    lock = replace(lock_of(folder), mode="seeded", seed=5, compatible=True, limit=3)
    lock = replace(lock, control=("clock", "uninitialized-memory"), fill="nan")
    write_lock(lock, folder / FILE)
    result = verified(Machine(flipped()), folder, command=("python", "other.py"))
    assert " ".join(result.update) == (
        "samerun lock --update --mode seeded --seed 5 --compatible --steps 3 --control clock "
        "--control uninitialized-memory=nan -- python other.py"
    )


def test_an_input_that_changed_is_stale(folder: Path) -> None:
    from samerun.digest import digest_bytes

    (folder / "data.txt").write_text("1 2 3")
    lock = lock_of(folder)
    held = digest_bytes(b"1 2 3", "file").hex()
    write_lock(replace(lock, inputs={"data.txt": held, "…/elsewhere.txt": held}), folder / FILE)
    assert verified(Machine(flipped()), folder).verdict == "same"
    (folder / "data.txt").write_text("1 2 4")
    result = verified(Machine(flipped()), folder)
    assert result.verdict == "stale" and result.reason == "inputs are not those of the lock: data.txt changed"
    (folder / "data.txt").unlink()
    assert "data.txt is gone" in (verified(Machine(flipped()), folder).reason or "")


def test_a_run_that_fails_is_unknown(folder: Path) -> None:
    result = verified(Machine(replace(SCRIPT, crashes={1: 3}, calls=[])), folder)
    assert result.verdict == "unknown" and "exit code 1" in (result.reason or "") and result.output


def test_another_class_is_added_where_it_repeats_and_is_the_same_from_then_on(folder: Path) -> None:
    rounded = replace(SCRIPT, flips=frozenset((run, 5, "gradients") for run in (1, 2)))
    result = verified(Machine(replace(rounded, calls=[]), OTHER), folder, add=True)
    assert result.verdict == "unknown" and result.lock is not None
    write_lock(result.lock, folder / FILE)
    assert len(lock_of(folder).environments) == 2
    again = Machine(replace(rounded, calls=[]), OTHER)
    assert verified(again, folder).verdict == "same"
    assert verified(Machine(flipped((4, "gradients")), OTHER), folder).verdict == "differs"
    assert verified(Machine(flipped()), folder).verdict == "same"  # the first machine


def test_what_does_not_repeat_or_must_not_be_otherwise_is_not_added(folder: Path) -> None:
    result = verified(Machine(flipped((5, "gradients")), OTHER), folder, add=True)
    assert result.lock is None and "do not give the same bits" in result.notes[-1]
    other_draws = replace(SCRIPT, flips=frozenset((run, 3, "rng") for run in (1, 2)), calls=[])
    result = verified(Machine(other_draws, OTHER), folder, add=True)
    assert result.lock is None and "must hold on every machine" in result.notes[-1]


def test_data_that_moved_differs_though_the_loss_is_within_its_bound(folder: Path) -> None:
    bound(folder, 10.0)
    assert verified(Machine(flipped((5, "batch")), OTHER), folder).verdict == "within"
    lock = lock_of(folder)
    (environment,) = lock.environments.values()
    portable = {**lock.portable, "batch": environment.root["batch"]}  # as measured with --bounds
    write_lock(replace(lock, portable=portable), folder / FILE)
    assert verified(Machine(flipped((5, "gradients")), OTHER), folder).verdict == "within"
    assert verified(Machine(flipped((5, "batch")), OTHER), folder).verdict == "differs"
