"""What the compiler would make on CUDA is changed while samerun's operations are installed, and put back.

There is no such device here: what is shown is that the changes are made, whenever the compiler is imported.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from samerun import ops
from samerun.ops import installation


def on_cuda():
    return installation.put_in(ops.implementations().values(), lambda _: ("CUDA",))


@pytest.fixture
def ir(monkeypatch):
    import torch._inductor.ir as ir

    return ir


@pytest.mark.parametrize("splits", [1, 4])
@pytest.mark.parametrize("fallback", [True, False])
def test_a_scan_is_never_split(ir, monkeypatch, splits, fallback):
    seen = []

    def num_splits(cls, **kwargs):
        return "hint", splits

    def create(cls, device, dtypes, *, can_fallback_to_aten=True):
        seen.append(cls.num_splits(device=device))
        return ["scan"] * len(dtypes)

    monkeypatch.setattr(ir.Scan, "num_splits", classmethod(num_splits))
    monkeypatch.setattr(ir.Scan, "create", classmethod(create))
    with on_cuda():
        made = ir.Scan.create("cuda", (torch.float32,), can_fallback_to_aten=fallback)
    left = splits > 1 and fallback
    assert made == ([None] if left else ["scan"])
    assert seen == ([] if left else [("hint", 1)])
    assert ir.Scan.create("cuda", (torch.float32,)) == ["scan"]
    assert seen[-1] == ("hint", splits)


@pytest.mark.slow
def test_a_scan_on_the_cpu_is_compiled_as_ever(ir):
    x = torch.rand(5000)

    def run(x):
        return x.cumsum(0) * 2

    with on_cuda():
        assert torch.allclose(torch.compile(run)(x), run(x))


@pytest.mark.slow
def test_the_compiler_is_not_imported_for_it_and_changed_when_it_is():
    code = """if True:
        import sys
        import torch
        from samerun import ops
        from samerun.ops import installation
        stack = installation.put_in(
            (one for one in ops.implementations().values() if one.name == "cumprod"), lambda _: ("CUDA",)
        )
        print("torch._inductor.ir" in sys.modules)
        import torch._inductor.ir as ir
        print(ir.Scan.create.__func__.__module__)
        stack.close()
        print(ir.Scan.create.__func__.__module__)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "samerun.ops.torch_hooks.inductor", "torch._inductor.ir"], (
        done.stderr
    )
