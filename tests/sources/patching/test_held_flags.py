"""Flags that stay, and changes of precision that are noted.

Covers `held_flags.py` and `precision_changes.py`.
"""

from __future__ import annotations

import json

import pytest
import torch

import samerun
from samerun.sources.catalogue import find_sources

pytestmark = pytest.mark.filterwarnings("ignore:PYTHONHASHSEED was not set")


def flags():
    cudnn = torch.backends.cudnn
    return cudnn.benchmark, cudnn.deterministic, torch.are_deterministic_algorithms_enabled()


@pytest.fixture(autouse=True)
def as_before():
    before = torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
    precision = torch.get_float32_matmul_precision()
    yield
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = before
    torch.set_float32_matmul_precision(precision)
    torch.use_deterministic_algorithms(False)


CHANGES = {
    "benchmark": lambda: setattr(torch.backends.cudnn, "benchmark", True),
    "deterministic": lambda: setattr(torch.backends.cudnn, "deterministic", False),
    "set_flags": lambda: torch.backends.cudnn.set_flags(_benchmark=True, _deterministic=False),
    "algorithms": lambda: torch.use_deterministic_algorithms(False),
    "algorithms, by name": lambda: torch.use_deterministic_algorithms(mode=True, warn_only=True),
    "debug mode": lambda: torch.set_deterministic_debug_mode("default"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_controlled_stays_whatever_the_script_sets(change):
    torch.backends.cudnn.benchmark = True
    with samerun.control(0):
        CHANGES[change]()
        assert flags() == (False, True, True)
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert flags() == (True, False, False)
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True)
    assert flags() == (False, False, True)


def test_what_is_as_it_is_already_is_no_change_and_a_wrong_call_says_so(notes, monkeypatch):
    source = find_sources()["nondeterministic-kernels"]
    monkeypatch.setattr(source, "_journal", notes)
    monkeypatch.setattr(source, "_noted", set())
    with samerun.control(0):
        torch.use_deterministic_algorithms(True)
        torch.set_deterministic_debug_mode("error")
        torch.set_deterministic_debug_mode(2)
        assert notes.of("note") == []
        for wrong in ((), (True, True)):
            with pytest.raises(TypeError):
                torch.use_deterministic_algorithms(*wrong)
        with pytest.raises(TypeError):
            torch.use_deterministic_algorithms(True, other=1)
        with pytest.raises(RuntimeError):
            torch.set_deterministic_debug_mode(7)
        with pytest.raises((TypeError, RuntimeError)):
            torch.backends.cudnn.benchmark = "yes"
        torch.set_deterministic_debug_mode("warn")
        assert [row.detail for row in notes.of("note")] == ["torch.set_deterministic_debug_mode('warn')"]
        assert flags() == (False, True, True)


def test_within_flags_of_cudnn_too():
    with samerun.control(0), torch.backends.cudnn.flags(enabled=False):
        assert flags() == (False, True, True)
        assert not torch.backends.cudnn.enabled  # the script's own


@pytest.mark.parametrize("change", CHANGES)
def test_modes_that_do_not_control_them_leave_them_to_the_script(change):
    with samerun.control(0, mode="seeded"):
        before = flags(), torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.deterministic = True
        CHANGES[change]()
        assert (flags(), torch.is_deterministic_algorithms_warn_only_enabled()) != (
            (False, True, True),
            False,
        )
        assert before == ((False, False, False), False)


def test_a_run_names_the_lines_that_were_not_done(trainer, output):
    trainer.script(
        "import torch\n"
        "for _ in range(2):\n"
        "    torch.backends.cudnn.benchmark = True\n"
        "torch.use_deterministic_algorithms(False)\n"
        "torch.backends.cudnn.benchmark = False\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "w.sum().backward()\n"
    )
    from samerun.comparing.pairing import read
    from samerun.comparing.uncontrolled import list_held
    from samerun.runs.plan import Control

    held = list_held(read(trainer.record("train.py", control=Control())))
    assert [(row.detail, row.call_site) for row in held] == [
        ("torch.backends.cudnn.benchmark = True", "train.py:3"),
        ("torch.use_deterministic_algorithms(False)", "train.py:4"),
    ]
    assert list_held(read(trainer.record("train.py", control=Control(mode="seeded")))) == []


@pytest.mark.parametrize("devices", [None, ["NVIDIA H100"]])
def test_what_samerun_run_says_of_them_is_what_can_matter(trainer, devices):
    from argparse import Namespace

    from samerun.report.text.uncontrolled import describe_uncontrolled
    from samerun.runs.plan import Control

    trainer.script(
        "import torch\n"
        "torch.backends.cudnn.benchmark = True\n"
        "torch.use_deterministic_algorithms(False)\n"
        "torch.ones(2, requires_grad=True).sum().backward()\n"
    )
    run = trainer.record("train.py", control=Control())
    manifest = json.loads((run.path / "manifest.json").read_text())
    manifest["settings"].setdefault("hardware", {})["devices"] = devices
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    (said,) = describe_uncontrolled(type(run)(run.path), Namespace(scratch=True, command=["python"]))
    assert ("cudnn.benchmark = True at train.py:2" in said) is (devices is not None)
    assert said.endswith("torch.use_deterministic_algorithms(False) at train.py:3")


def test_a_change_of_precision_is_noted_at_its_line(observed):
    notes = observed(find_sources()["matmul-precision"])
    torch.set_float32_matmul_precision("highest")
    torch.set_float32_matmul_precision("high")
    torch.set_float32_matmul_precision("high")
    torch.set_float32_matmul_precision("highest")
    found = [(row.name, json.loads(row.detail)) for row in notes.of("setting")]
    assert found == [
        ("matmul-precision", {"precision": "high"}),
        ("matmul-precision", {"precision": "highest"}),
    ]
    assert all("test_held_flags.py" in row.call_site for row in notes.of("setting"))


def test_a_setting_that_torch_refuses_to_read_hurts_no_change_of_it(observed, monkeypatch):
    source = find_sources()["tf32"]
    notes = observed(source)

    def refuse():
        raise RuntimeError("mixed")

    monkeypatch.setattr(source, "read", refuse)
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high" and notes.of("setting") == []
