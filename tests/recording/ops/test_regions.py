"""What is past the dispatcher and known as a whole is recorded as one operation.

Covers `regions.py`, `triton_kernels.py` and `extensions.py`.
"""

from __future__ import annotations

import pytest
from trainer import Trainer

from samerun.comparing.compare_runs import compare

KERNEL = """
import os, sys
os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, out, by, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) * by, mask=inside)

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        scale[(1,)](x, out, float(sys.argv[1]), x.numel(), BLOCK=16)  # forward
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        scale[(1,)](grad.contiguous(), out, 3.0, grad.numel(), BLOCK=16)  # backward
        return out

torch.manual_seed(0)
w = torch.randn(10, requires_grad=True)
for _ in range(2):
    Scale.apply(w).square().sum().backward()
    w.data, w.grad = w.data - 0.01 * w.grad, None
"""


def line(script: str, words: str) -> str:
    (number,) = (number for number, text in enumerate(script.splitlines(), 1) if words in text)
    return f"train.py:{number}"


def test_a_launch_is_an_operation_at_its_line_and_what_it_wrote_is_known(trainer: Trainer, output):
    pytest.importorskip("triton")
    trainer.script(KERNEL)
    a, b, other = (trainer.record("train.py", by, tier="ops") for by in ("2.0", "2.0", "2.5"))
    assert a.manifest.outcome == "finished", output(a)
    launches = [row for row in trainer.rows(a, "operation") if row.name.startswith("triton.")]
    assert [(row.name, row.call_site) for row in launches[:2]] == [
        ("triton.scale", line(KERNEL, "# forward")),
        ("triton.scale", line(KERNEL, "# backward")),
    ]
    assert launches[1].phase == "backward"
    assert len(launches) == 4 and all(row.digest for row in launches)
    assert compare(a, b).verdict == "same"
    difference = compare(a, other).difference
    assert (difference.op, difference.call_site) == ("triton.scale", line(KERNEL, "# forward"))


WITHIN = """
import torch
from library.scaled import Scaled

class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2  # mine, backward

w = torch.ones(3, requires_grad=True)
for _ in range(2):
    y = Scaled.apply(w)  # of a library
    Mine.apply(y).sum().backward()  # mine, forward
    w.data, w.grad = w.data - 0.01 * w.grad, None
"""
SCALED = """
import torch

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        return grad.cos()
"""


def test_a_backward_pass_in_python_has_its_own_line_or_that_of_the_call_of_a_librarys(trainer: Trainer):
    library = trainer.folder / "site-packages" / "library"
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "scaled.py").write_text(SCALED)
    trainer.script(f"import sys; sys.path.insert(0, {str(library.parent)!r})\n" + WITHIN)
    rows = [row for row in trainer.rows(trainer.record("train.py", tier="ops"), "operation")]
    sites = {
        (row.name.split(".")[1], row.phase == "backward"): row.call_site for row in rows if row.module is None
    }
    shift = "\n" + WITHIN
    assert sites["mul", True] == line(shift, "# mine, backward")
    assert sites["sin", False] == sites["cos", True] == line(shift, "# of a library")


EXTENSION = """
import sys
import torch
import selective_scan_cuda  # a module whose functions are built in
torch.manual_seed(0)
w = torch.randn(5, requires_grad=True)
for _ in range(2):
    with torch.no_grad():
        gate = selective_scan_cuda.fwd(w + float(sys.argv[1]))  # called
    assert selective_scan_cuda.count([1, 2]) == 2 and selective_scan_cuda.fwd.__name__ == "gelu"
    (w * gate).sum().backward()
    w.data, w.grad = w.data - 0.01 * w.grad, None
"""


@pytest.mark.slow
def test_a_call_of_an_extension_is_an_operation(trainer: Trainer, output):
    (trainer.folder / "selective_scan_cuda.py").write_text(
        "import torch\nfwd = torch._C._nn.gelu\ncount = len\n"
    )
    trainer.script(EXTENSION)
    a, b, other = (trainer.record("train.py", by, tier="ops") for by in ("0", "0", "1"))
    assert a.manifest.outcome == "finished", output(a)
    rows = trainer.rows(a, "operation")
    calls = [row.call_site for row in rows if row.name == "selective_scan_cuda.fwd"]
    assert calls == [line(EXTENSION, "# called")] * 2
    assert not any("gelu" in row.name for row in rows)  # what it is made of is not recorded apart
    assert compare(a, b).verdict == "same" and compare(a, other).verdict == "differs"
    assert trainer.record("train.py", "0", tier="steps").manifest.outcome == "finished"
