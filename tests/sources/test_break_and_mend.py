"""Each source breaks a small real training, is recognised as the reason, and its control mends it.

The scripts are tests/sources/scripts/<id>.py: each has one fault, and differs in every pair of runs.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from samerun.comparing.compare_runs import compare
from samerun.explaining.explain import explain
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources

SCRIPTS = Path(__file__).parent / "scripts"

# Controlled alone, each makes its script repeat itself.
MENDED = [
    "clock",
    "hash-seed",
    "library-generators",
    "listing-order",
    "nondeterministic-kernels",
    "numpy-generator",
    "numpy-global",
    "os-entropy",
    "process-id",
    "triton-autotune",
    "python-random",
    "torch-cpu",
    "uninitialized-memory",
    "worker-arrival",
    "worker-seeds",
]
# Recognised, but what mends them is the user's to change: no control.
NAMED = ["input-data", "memory-address", "resume-state", "system-reads", "thread-scheduling"]
# Differ between commands, not between repeats of one: (words, environment) of the two runs.
BETWEEN = {
    "arguments": (["--lr", "0.1"], {}, ["--lr", "0.2"], {}),
    "environment": ([], {"TZ": "UTC"}, [], {"TZ": "Asia/Tokyo"}),
    "threads": ([], {"OMP_NUM_THREADS": "1"}, [], {"OMP_NUM_THREADS": "2"}),
}


def record_two(trainer, source, **options):
    script = str(SCRIPTS / f"{source}.py")
    return [trainer.record(script, **options) for _ in range(2)]


def causes(a, b, output):
    comparison = compare(a, b)
    assert comparison.verdict == "differs", (comparison.reason, output(a))
    evidence, notes = explain(comparison.difference)
    assert not notes
    return [item.source for item in evidence]


# `make test` breaks and mends these, of every kind one; a generator and workers in tests/cli, memory that is
# not filled in patching/test_zeroed_memory.py. `make thorough` does all.
BROKEN = {"nondeterministic-kernels", "resume-state", "thread-scheduling", "threads", "uninitialized-memory"}


def most_are_slow(sources, quick=BROKEN):
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in sources]


@pytest.mark.parametrize("source", most_are_slow(MENDED + NAMED))
def test_it_is_recognised(trainer, output, source):
    a, b = record_two(trainer, source, tier="ops")
    assert causes(a, b, output)[:1] == [source]


@pytest.mark.parametrize("source", most_are_slow(MENDED, {"nondeterministic-kernels"}))
def test_its_control_mends_it(trainer, output, source):
    a, b = record_two(trainer, source, control=Control(only=(source,), seed=0))
    comparison = compare(a, b)
    assert comparison.verdict == "same", (comparison.reason, comparison.difference, output(a))
    assert comparison.scope.steps > 0


@pytest.mark.parametrize("source", most_are_slow(list(BETWEEN)))
def test_it_is_recognised_between_commands(trainer, output, source):
    words_a, env_a, words_b, env_b = BETWEEN[source]
    script = str(SCRIPTS / f"{source}.py")
    a = trainer.record(script, *words_a, env=env_a, tier="ops")
    b = trainer.record(script, *words_b, env=env_b, tier="ops")
    assert causes(a, b, output)[:1] == [source]


def test_an_edited_module_is_recognised(trainer, output):
    recorded = []
    for rate in ("0.1", "0.1 / (step + 1)"):
        trainer.script(f"def rate(step):\n    return {rate}\n", "recipe.py")
        env = {"PYTHONPATH": str(trainer.folder)}
        recorded.append(trainer.record(str(SCRIPTS / "edited-code.py"), env=env, tier="ops"))
    assert causes(*recorded, output)[:1] == ["code"]


def test_a_training_that_finds_its_work_done_says_what_it_runs_with(trainer, output):
    trainer.script("""
        import os, torch
        torch.manual_seed(0)
        torch.set_num_threads(1)
        model, start = torch.nn.Linear(4, 2), 0
        if os.path.exists("last.pth"):
            saved = torch.load("last.pth", weights_only=True)
            model.load_state_dict(saved["model"])
            start = saved["epoch"] + 1
        for epoch in range(start, 2):
            model(torch.randn(8, 4)).pow(2).mean().backward()
            for p in model.parameters():
                p.data, p.grad = p.data - 0.1 * p.grad, None
            torch.save({"model": model.state_dict(), "epoch": epoch}, "last.pth")
    """)
    a, b = (trainer.record("train.py", tier="ops") for _ in range(2))
    assert (a.manifest.steps, b.manifest.steps) == (2, 0)
    assert b.manifest.settings.keys() >= {"cpu-isa", "hardware", "tf32", "threads"}
    found, _ = explain(compare(a, b).difference)
    assert (found[0].source, found[0].call_site) == ("resume-state", "train.py:7"), output(b)
    assert "last.pth" in found[0].text
    assert not {item.source for item in found} & {"cpu-isa", "environment", "hardware", "tf32", "threads"}


@pytest.mark.slow
def test_another_version_of_a_package_is_recognised(trainer, output):
    recorded = []
    for version in ("1.0", "1.1"):
        site = trainer.folder / version
        site.mkdir()
        trainer.script(
            f"__version__ = '{version}'\n\ndef scale(x):\n    return x * {version}\n",
            f"{version}/augmenter.py",
        )
        env = {"PYTHONPATH": str(site)}
        recorded.append(trainer.record(str(SCRIPTS / "packages.py"), env=env, tier="ops"))
    assert causes(*recorded, output)[:1] == ["packages"]


@pytest.mark.parametrize("source", [*NAMED, *BETWEEN, "code", "packages", "hardware"])
def test_what_has_no_control_says_so(source):
    known = find_sources()[source]
    assert known.advice
    if source != "threads":
        assert not known.controllable


def test_every_script_is_of_a_source():
    # A script named code.py would stand for Python's own module of that name.
    assert {path.stem.removeprefix("edited-") for path in SCRIPTS.glob("*.py")} <= find_sources().keys()


@pytest.mark.slow
def test_strict_control_mends_every_one_at_once(trainer, output):
    """All the sources that the mode covers in one process, as `samerun run` controls them."""
    modes = [source for source in MENDED if "strict" in find_sources()[source].modes]
    for source in modes[:: max(len(modes) // 3, 1)]:
        a, b = record_two(trainer, source, control=Control(mode="strict", seed=3))
        assert compare(a, b).verdict == "same", (source, output(a))


assert os.path.isdir(SCRIPTS)
