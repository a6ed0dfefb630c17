from __future__ import annotations

import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import samerun
from samerun.runs.difference import Gap, Strength
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources
from samerun.sources.foreign_kernels import LIBRARIES, ForeignKernels, is_foreign

from .differences import operation, origin, row, side, weights

PAGE = Path(samerun.__file__).parents[2] / "docs" / "explanations" / "foreign-kernels.md"
KNOWN = find_sources()["foreign-kernels"]
GAP = Gap("aten.div.Tensor", "train.py:20", "aten.zeros.default", "pool.py:29")


@pytest.mark.parametrize(
    ("op", "library"),
    [
        ("flash_attn._flash_attn_backward.default", "flash_attn"),
        ("selective_scan_cuda.bwd", "mamba_ssm"),
        ("causal_conv1d_cuda.causal_conv1d_bwd", "causal_conv1d"),
        ("pyg.scatter_sum.default", "pyg_lib"),
        ("gsplat.rasterize_to_pixels_3dgs_bwd.default", "gsplat"),
    ],
)
def test_an_operation_of_a_library_is_named_with_its_switch(op, library):
    found = KNOWN.recognise(operation(origin=origin(op)))
    assert (found.strength, found.call_site) == (Strength.SEEN, "train.py:9")
    assert f"of {library}" in found.text
    (known,) = (each for each in LIBRARIES if each.name == library)
    assert all(f"{name}={value}" in found.advice for name, value in known.variables)
    assert found.beyond_control is not bool(known.variables or known.functions)
    kernels = find_sources()["nondeterministic-kernels"].recognise(operation(origin=origin(op)))
    assert kernels.strength < found.strength
    for columns in ({"inputs_equal": False}, {"draws": True}, {"reads_uninitialized": True}):
        assert KNOWN.recognise(operation(origin=origin(op, **columns))) is None


def test_a_kernel_of_ones_own_has_no_control():
    found = KNOWN.recognise(operation(origin=origin("triton.row_sum")))
    assert (found.strength, found.beyond_control) == (Strength.STRONG, True)
    assert KNOWN.recognise(operation()) is None
    assert KNOWN.recognise(weights()) is None


@pytest.mark.parametrize(
    "op", ["aten.add.Tensor", "aten::mul", "exp", "inductor.forward", "torchvision.nms.default"]
)
def test_what_is_torchs(op):
    assert not is_foreign(op)


@pytest.mark.parametrize("op", ["triton.f", "addext.addto", "mine.op.default", "flash_attn.f"])
def test_what_is_not(op):
    assert is_foreign(op)


def test_memory_that_cupy_may_have_written():
    cuda = {"torch-cuda": {"initial_seeds": [1]}}
    uses = side(settings={"packages": {"torch": "2.13", "cupy": "14"}, **cuda})
    later = origin("aten.div.Tensor", inputs_equal=False)
    found = KNOWN.recognise(operation(origin=later, gap=GAP, a=uses))
    assert (found.call_site, found.beyond_control) == ("pool.py:29", True)
    assert "cupy" in found.text
    assert KNOWN.recognise(operation(origin=later, a=uses)) is None
    assert KNOWN.recognise(operation(origin=later, gap=GAP)) is None
    in_the_end = replace(side(settings=cuda), manifest={"settings": {"packages": {"numba": "0.6"}}})
    assert "numba" in KNOWN.recognise(operation(origin=later, gap=GAP, a=in_the_end)).text
    on_the_cpu = side(settings={"packages": {"numba": "0.6"}})
    assert KNOWN.recognise(operation(origin=later, gap=GAP, a=on_the_cpu)) is None
    threads = side(row("threads", "start"), settings={"packages": {"cupy": "14"}, **cuda})
    assert KNOWN.recognise(operation(origin=later, gap=GAP, a=threads)) is None


def test_the_switches_are_set_unless_the_user_set_them(monkeypatch):
    for name in KNOWN.variables:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MAMBA_DETERMINISTIC", "0")
    found = KNOWN.environment(Control())
    assert found["NVTE_ALLOW_NONDETERMINISTIC_ALGO"] == "0"
    assert (found["CAUSAL_CONV1D_DETERMINISTIC"], found["MAMBA_DETERMINISTIC"]) == ("1", "0")
    monkeypatch.setitem(sys.modules, "mamba_ssm", types.ModuleType("mamba_ssm"))
    assert KNOWN.describe() == {"MAMBA_DETERMINISTIC": "0"}


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, deterministic=False):
    return causal, deterministic


def test_calls_are_made_deterministic_unless_they_say_otherwise(monkeypatch):
    module = types.ModuleType("flash_attn.flash_attn_interface")
    module.flash_attn_func = flash_attn_func
    module.flash_attn_varlen_func = lambda q: "of a version without the switch"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    undo = ForeignKernels().control(Control())
    ask = module.flash_attn_func
    assert ask(1, 2, 3) == (False, True)
    assert ask(1, 2, v=3, causal=True) == (True, True)
    assert ask(1, 2, 3, deterministic=False) == (False, False)
    assert ask(1, 2, 3, 0.0, None, True, False) == (True, False)
    assert module.flash_attn_varlen_func(1) == "of a version without the switch"
    with pytest.raises(TypeError, match="unexpected"):
        ask(1, 2, 3, other=4)
    undo()
    assert module.flash_attn_func(1, 2, 3) == (False, False)


def test_heads_that_are_too_large_for_it_are_left_alone(monkeypatch):
    module = types.ModuleType("flash_attn_interface")
    module.flash_attn_func = flash_attn_func
    monkeypatch.setitem(sys.modules, module.__name__, module)
    undo = ForeignKernels().control(Control())
    found = [module.flash_attn_func(torch.ones(1, 2, size), 2, 3)[1] for size in (64, 192, 256)]
    assert found == [True, True, False]
    undo()


def test_a_switch_that_differs_between_two_commands_is_the_reason():
    on, off = ({"foreign-kernels": {"MAMBA_DETERMINISTIC": value}} for value in "10")
    assert "MAMBA_DETERMINISTIC" in KNOWN.recognise(weights(a=side(settings=on), b=side(settings=off))).text
    assert KNOWN.recognise(weights(a=side(settings=on), b=side(settings=on))) is None


def test_each_library_is_on_its_page_with_its_switch():
    page = PAGE.read_text(encoding="utf-8")
    for library in LIBRARIES:
        name = "flash_attn 3" if library.name == "flash_attn_interface" else library.name
        assert name in page
        assert all(f"{variable}={value}" in page for variable, value in library.variables)
        assert library.since in page
