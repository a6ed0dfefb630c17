"""torchvision's operations, of which only the schemas are needed here: right, repeatable, and put in late.

Covers `families/deform_conv2d.py`, `families/roi_align.py` and `families/roi_pool.py`.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from samerun import ops
from samerun.ops import installation, selftest
from samerun.ops.families import deform_conv2d
from samerun.ops.selftest import run_operation

from .computing import Errors, hold_values, mapped, on_cpu, strided
from .regions import CASES, REFERENCES, schema

CPU = torch.device("cpu")
NAMES = [one.name for one in ops.implementations().values() if one.namespace == "torchvision"]


def kernel(name):
    (found,) = ops.implementations()[name].kernels.values()
    return found


def compute(name, args):
    result = kernel(name)(*args)
    return list(result) if isinstance(result, tuple) else [result]


@pytest.fixture
def declared():
    """torchvision's operators as it declares them, with kernels that give nothing but -1.

    Where another test has imported torchvision, they are its own.
    """
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in NAMES:
        if "torchvision" not in sys.modules:
            library.define(schema(name))
        library.impl(name, lambda grad, *_: torch.full_like(grad, -1), "CPU")
    yield
    library._destroy()


def test_every_operation_of_torchvision_has_cases():
    assert set(NAMES) == CASES.keys() == REFERENCES.keys()


HALF = pytest.param(torch.float16, marks=pytest.mark.slow)  # as bfloat16


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, HALF, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_right(name, dtype):
    errors = Errors()
    compared = 0
    for args in CASES[name]():
        narrow = mapped(args, lambda t: t.to(dtype))
        given = args if dtype == torch.float64 else narrow
        for mine, right in zip(compute(name, narrow), REFERENCES[name](*given), strict=True):
            assert (mine.shape, mine.dtype) == (right.shape, dtype)
            assert mine.is_contiguous()
            hold_values(mine, None, right, errors)
            compared += int(right.count_nonzero())
    assert compared > 300


@pytest.mark.parametrize("name", NAMES)
def test_strided_and_expanded_gradients(name):
    for number, (grad, *rest) in enumerate(CASES[name]()):
        if number % 5 == 0:
            expected = compute(name, (grad, *rest))
            again = compute(name, (strided(grad), *rest))
            torch.testing.assert_close(again, expected)
            ones = compute(name, (torch.ones_like(grad), *rest))
            spread = compute(name, (torch.ones((), dtype=grad.dtype).expand(grad.shape), *rest))
            torch.testing.assert_close(spread, ones)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits_in_twenty_runs_at_one_thread_and_at_two(name, declared):
    with on_cpu(name):
        found = run_operation(ops.implementations()[name], CPU, runs=20)
    assert (found.error, found.results) == (None, 1)


def test_images_are_computed_a_few_at_a_time(monkeypatch):
    args = mapped(deform_conv2d._make_example(CPU), lambda t: t.double())
    at_once = deform_conv2d.backward(*args)
    monkeypatch.setattr(deform_conv2d, "_BLOCK", 1)
    one_by_one = deform_conv2d.backward(*args)
    for name, mine, expected in zip(
        ("input", "weight", "offset", "mask", "bias"), one_by_one, at_once, strict=True
    ):
        assert name == "weight" or torch.equal(mine, expected)
        torch.testing.assert_close(mine, expected)


@pytest.mark.parametrize("value", [float("nan"), pytest.param(float("inf"), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("name", [name for name in NAMES if "deform" not in name])
def test_what_is_no_number_goes_where_it_was_read(name, value):
    """One bin of one region: nothing else is touched."""
    spoilt = 0
    for grad, *rest in CASES[name]():
        if not len(grad):
            continue
        only = torch.zeros_like(grad)
        only[0, 0, 0, 0] = 1
        (read,) = compute(name, (only, *rest))
        only[0, 0, 0, 0] = value
        (found,) = compute(name, (only, *rest))
        assert not found[read != 0].isfinite().any()
        neighbours = torch.nn.functional.max_pool2d(
            (read != 0).double(), 3, 1, 1
        )  # weights of 0 are read too
        assert found[neighbours == 0].isfinite().all()
        spoilt += int((read != 0).sum())
    assert spoilt


# --- where they come from --------------------------------------------------------------------------


def test_they_are_replaced_and_put_back(declared):
    one = ops.implementations()["_roi_align_backward"]
    args = one.example(CPU)
    operator = torch.ops.torchvision._roi_align_backward
    with on_cpu(one.name):
        assert torch.equal(operator(*args), kernel(one.name)(*args))
    assert torch.equal(operator(*args), torch.full_like(args[0], -1))


def test_only_what_is_there_is_listed_and_tested(declared, monkeypatch):
    on_the_cpu = {
        name: dataclasses.replace(ops.implementations()[name], devices=("CPU",)) for name in [*NAMES, "put_"]
    }
    for module in (selftest, installation):
        monkeypatch.setattr(module, "implementations", lambda: on_the_cpu)
    assert ops.reasons().keys() == {*NAMES, "put_"}
    assert {(found.name, found.results) for found in selftest.run_selftest(2)} == {
        (name, 1) for name in [*NAMES, "put_"]
    }


def test_what_is_not_there_is_neither_listed_nor_tested(monkeypatch):
    on_the_cpu = {
        name: dataclasses.replace(ops.implementations()[name], devices=("CPU",), namespace="no_such_library")
        for name in NAMES
    }
    for module in (selftest, installation):
        monkeypatch.setattr(module, "implementations", lambda: on_the_cpu)
    assert not ops.reasons()
    assert not list(selftest.run_selftest(2))


def test_what_another_library_brings_is_imported_to_be_tested(monkeypatch, tmp_path):
    (tmp_path / "samerun_brought.py").write_text(
        "import torch\n"
        "library = torch.library.Library('samerun_brought', 'DEF')\n"
        f"library.define('{schema('_roi_align_backward')}')\n"
        "library.impl('_roi_align_backward', lambda grad, *_: -grad, 'CPU')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    one = ops.implementations()["_roi_align_backward"]
    brought = dataclasses.replace(one, devices=("CPU",), namespace="samerun_brought")
    for module in (selftest, installation):
        monkeypatch.setattr(module, "implementations", lambda: {one.name: brought})
    assert not ops.reasons()
    assert [(found.name, found.results) for found in selftest.run_selftest(2)] == [(one.name, 1)]
    sys.modules.pop("samerun_brought").library._destroy()


LIBRARY = {
    "__init__.py": "from torchvision import extension, ops",
    "extension.py": """
import torch
library = torch.library.Library("torchvision", "DEF")
library.define("roi_align(Tensor input, Tensor rois) -> Tensor")
library.impl("roi_align", lambda input, rois: torch.empty_like(input), "Meta")
library.define("SCHEMA")
library.impl("_roi_align_backward", lambda grad, *_: torch.full_like(grad, -1), "CPU")
""",
    "ops/__init__.py": "from torchvision.ops.roi_align import roi_align",
    "ops/roi_align.py": """
def _roi_align(input, rois):
    return "the detour"

def roi_align(input, rois):
    return _roi_align(input, rois)
""",
}
PROGRAM = """
import sys, torch
from torch._subclasses.fake_tensor import FakeTensorMode
from samerun.ops import installation, implementations

def computed():
    one = implementations()["_roi_align_backward"]
    args = one.example(torch.device("cpu"))
    return torch.ops.torchvision._roi_align_backward(*args).unique().numel() > 1

def straight(device):
    with FakeTensorMode():
        x = torch.empty(1, device=device)
        return torchvision.ops.roi_align(x, x) != "the detour"

def said():
    return [computed(), straight("cuda"), straight("cpu")]

early = sys.argv[1] == "early"
finders = list(sys.meta_path)
if early:
    import torchvision
with installation.put_in(implementations().values(), lambda _: ("CPU",)):
    import torchvision
    assert said() == [True, True, False], said()
assert said() == [False, False, False], said()
assert sys.meta_path == finders
assert "exec_module" not in vars(sys.modules["torchvision.ops.roi_align"].__loader__)
with installation.put_in(implementations().values(), lambda _: ("CPU",)):
    assert said() == [True, True, False], said()
print("good")
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["early", "late"])
def test_torchvision_is_imported_before_or_after(when, tmp_path):
    """And its detour in Python is taken only where samerun is not in place, or has no kernel."""
    for name, text in LIBRARY.items():
        path = tmp_path / "torchvision" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("SCHEMA", schema("_roi_align_backward")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}", when],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    assert done.stdout.split() == ["good"], done.stderr
