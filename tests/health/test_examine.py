"""Real trainings: those with a planted fault are noted with its line, and those that only look so are not.

Covers `case.py`, `constant.py`, `draws.py`, `drift.py`, `loaders.py`, `ranks.py`, `repeated.py` and
`workers.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cli.command import called, samerun
from trainer import Trainer

from samerun.health.examine import examine
from samerun.runs.plan import Control

from . import scripts
from .scripts import HEAD, line_of

TORCHRUN = ("python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
slow = pytest.mark.slow


def noted(
    trainer: Trainer, script: str, *words: str, ranks: bool = False, control: Control | None = None
) -> tuple[str, ...]:
    trainer.script(HEAD + script)
    run = trainer.record(*(TORCHRUN if ranks else ()), "train.py", *words, control=control)
    assert run.outcome == "finished", (run.path / "output.txt").read_text()
    return examine(run)


@pytest.mark.parametrize(
    "script, words, ranks, mark, said",
    [
        pytest.param("SEEDED_WORKERS", (), False, "seeded", "of the pass before", id="workers seeded alike"),
        pytest.param(
            "SEEDED_WORKERS",
            ("apart",),
            False,
            "seeded",
            "in two passes over the data",
            id="workers seeded alike in each pass",
            marks=slow,
        ),
        pytest.param("TWO_LOADERS", (), False, None, "workers of two loaders", id="loaders", marks=slow),
        pytest.param("EVERY_SAMPLE", ("0",), False, "every", "with 42 for each sample", id="samples"),
        pytest.param(
            "EVERY_SAMPLE", ("2",), False, "every", "with 42 for each sample", id="in workers", marks=slow
        ),
        pytest.param(
            "BY_EVALUATION", (), False, "evaluation", "with 1234 again", id="evaluation", marks=slow
        ),
        pytest.param("PUT_BACK", (), False, None, "earlier state was put back", id="put back", marks=slow),
        pytest.param(
            "COPIED", (), False, "copied", "each sample is trained on 2 times", id="iterable", marks=slow
        ),
        pytest.param("RANKS", ("equal",), True, None, "dropout masks", id="dropout on ranks", marks=slow),
        pytest.param(
            "RANKS", ("rate",), True, "wrapped", "have other weights from step 0", id="rates", marks=slow
        ),
        pytest.param("RANKS", ("inside",), True, "wrapped", "not its .module", id="no averaging", marks=slow),
        pytest.param("BY_HAND", ("apart",), True, "by hand", "have other weights", id="by hand", marks=slow),
        pytest.param("RANKS_OF_WORKERS", ("sum",), True, "sum", "workers of ranks", id="sum", marks=slow),
    ],
)
def test_a_fault_is_noted_with_its_line(
    trainer: Trainer, script: str, words: tuple[str, ...], ranks: bool, mark: str | None, said: str
) -> None:
    text = getattr(scripts, script)
    (note,) = noted(trainer, text, *words, ranks=ranks)
    assert note.startswith("seed health: ") and said in note
    if mark is not None:
        assert line_of(text, mark) in note


@pytest.mark.parametrize(
    "is_controlled", [pytest.param(False, marks=slow), True]
)  # a control leaves them as they are
def test_generators_that_a_dataset_holds_are_noted(trainer: Trainer, is_controlled: bool) -> None:
    (note,) = noted(trainer, scripts.HELD, control=Control() if is_controlled else None)
    held = ("Held.rng (numpy-generator)", "Held.torch (torch-cpu)")
    held += ("Held.more['crop'][0] (python-random)", "Held.more['crop'][1] (numpy-global)")
    assert all(name in note for name in held)
    assert line_of(scripts.HELD, "held") in note and "and of the pass before" in note


@pytest.mark.parametrize(
    "script, ranks",
    [
        pytest.param("LOADERS", False, marks=slow),
        ("KEYED", False),
        pytest.param("ONE_BATCH", False, marks=slow),
        pytest.param("EVALUATIONS", False, marks=slow),
        pytest.param("BEGUN_ANEW", False, marks=slow),
        pytest.param("WORKERS_AS_ADVISED", False, marks=slow),
        pytest.param("RANKS", True, marks=slow),
        pytest.param("BY_HAND", True, marks=slow),
        pytest.param("JOINED", True, marks=slow),
        pytest.param("RANKS_OF_WORKERS", True, marks=slow),
    ],
)
def test_what_only_looks_so_is_not_noted(trainer: Trainer, script: str, ranks: bool) -> None:
    assert noted(trainer, getattr(scripts, script), ranks=ranks) == ()


def test_check_says_it_beside_the_verdict_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HEAD + scripts.EVERY_EPOCH)
    words = ("check", "--json", "out.json", "--junit", "out.xml", "--html", "out.html", "--")
    words += (sys.executable, "train.py")
    done = called(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ same" in done.stdout
    result = json.loads((tmp_path / "out.json").read_text())
    (note,) = [note for note in result["notes"] if note.startswith("seed health: torch-cpu")]
    assert f"torch.manual_seed at {line_of(scripts.EVERY_EPOCH, 'epoch')} seeds it with 0 again" in note
    for shown in (done.stdout, (tmp_path / "out.xml").read_text(), (tmp_path / "out.html").read_text()):
        assert "seed health: torch-cpu drew the same numbers in step 4" in " ".join(shown.split())


def test_run_says_it_and_another_seed_in_each_epoch_is_well(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HEAD + scripts.EVERY_EPOCH)
    done = samerun("run", "--mode", "off", "--", sys.executable, "train.py", "well", cwd=tmp_path)
    assert done.returncode == 0 and "seed health" not in done.stderr
