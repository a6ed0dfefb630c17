"""Under the control of uninitialized-memory it is zeros, wherever it is made, and never NaN."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import pytest
import torch
from trainer import Trainer

import samerun
from samerun.runs.plan import Control

# Small sizes are what the C library keeps for a thread; the larger ones it takes from what was freed.
DIRTY = """
    import io, torch
    from torch import nn
    def dirtied():
        a = [torch.full((n,), 7.5) for n in range(1, 400, 7) for _ in range(4)]
        b = [torch.full((n,), 7.5) for n in (5000, 70000) for _ in range(4)]
        del a, b
    held, wrong = [], 0
    for n in (*range(1, 400, 3), 5000, 70000):
        dirtied()
        like = torch.zeros(n)
        made = [
            torch.empty(n), torch.empty_like(like), like.new_empty(n), torch.empty_strided((n,), (1,)),
            torch.Tensor(n), torch.FloatTensor(n), torch.zeros(0).resize_(n),
            torch.tensor([]).resize_as_(like),
            torch.empty_permuted((n, 2), (1, 0)), torch.UntypedStorage(4 * n),
            nn.Parameter(torch.empty(n)).data,
        ]
        made[9] = torch.tensor([], dtype=torch.uint8).set_(made[9])
        wrong += sum(bool((one != 0).any()) for one in made)
    print("wrong", wrong)
    model = nn.Linear(1, 1)
    model(torch.ones(1, 1)).sum().backward()
    for p in model.parameters(): p.data = p.data - 0.1 * p.grad
"""
MOMENTUM = """
    import torch
    from torch import nn
    class Momentum(torch.optim.Optimizer):
        def __init__(self, params): super().__init__(params, {})
        @torch.no_grad()
        def step(self, closure=None):
            for p in self.param_groups[0]["params"]:
                state = self.state[p]
                if not state: state["v"] = torch.empty_like(p)
                state["v"].mul_(0.9).add_(p.grad)
                p.add_(state["v"], alpha=-0.01)
    torch.manual_seed(0); torch.set_num_threads(1)
    model = nn.Linear(64, 1); optimizer = Momentum(model.parameters())
    x = torch.randn(16, 64)
    junk = [torch.randn(64) * __import__("random").random() for _ in range(50)]; del junk
    for step in range(4):
        loss = model(x).pow(2).mean(); optimizer.zero_grad(); loss.backward(); optimizer.step()
        print("loss", loss.item())
"""


def test_a_run_with_it_controlled_has_zeros_everywhere(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(DIRTY)
    plain = trainer.record("train.py")
    zeroed = trainer.record("train.py", control=Control(only=("uninitialized-memory",)))
    printed = [(run.path / "output.txt").read_text().split() for run in (plain, zeroed)]
    if sys.platform.startswith("linux"):
        assert int(printed[0][1]) > 100, "the script must be able to show it"
    assert printed[1] == ["wrong", "0"]


@pytest.mark.slow
def test_a_state_that_begins_unwritten_trains_as_with_zeros(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(MOMENTUM)
    control = Control(only=("uninitialized-memory",))
    runs = [trainer.record("train.py", control=control) for _ in range(2)]
    trainer.script(MOMENTUM.replace("torch.empty_like", "torch.zeros_like"))
    runs.append(trainer.record("train.py"))
    first, *others = [(run.path / "output.txt").read_text() for run in runs]
    assert others == [first, first]
    losses = [float(line.split()[1]) for line in first.splitlines()]
    assert losses == sorted(losses, reverse=True) and len(set(losses)) == 4


def test_what_is_put_in_place_is_put_back_and_can_be_used_as_the_original() -> None:
    before = torch.empty, torch.empty_like, torch.Tensor.new_empty
    with samerun.control(only=["uninitialized-memory"]):
        assert torch.empty is not before[0]
        assert pickle.loads(pickle.dumps(torch.empty)) == torch.empty
        assert copy.deepcopy(torch.empty) is torch.empty

        @torch.jit.script
        def scripted(x: torch.Tensor) -> torch.Tensor:
            return torch.empty_like(x).fill_(2.0)

        assert scripted(torch.ones(2)).tolist() == [2, 2]
        assert torch.empty(2, 3, dtype=torch.int64, requires_grad=False).tolist() == [[0] * 3] * 2
        assert torch.empty(size=(2,), requires_grad=True).is_leaf
        assert torch.empty(2, device="meta").is_meta
        assert torch.empty(2, layout=torch.sparse_coo).is_sparse
        with pytest.raises(TypeError, match=r"empty\(\): argument 'size'"):
            torch.empty("two")
    assert (torch.empty, torch.empty_like, torch.Tensor.new_empty) == before
    assert "new_empty" not in vars(torch.Tensor) or torch.Tensor.new_empty is before[2]
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is asked of Linux")
def test_a_large_buffer_takes_no_more_memory_than_is_written(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(
        """
        import torch
        def resident(): return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
        held = torch.full((50_000_000,), 7.0)
        del held
        before = resident()
        buffer = torch.empty(4_000_000, 64)
        again = torch.empty(50_000_001)
        buffer[3] = 1
        print(resident() - before < 100, float(buffer[:5].sum()), float(again.abs().max()))
        """
    )
    run = trainer.record("train.py", control=Control(extra=("uninitialized-memory",)))
    assert (run.path / "output.txt").read_text() == "True 64.0 0.0\n"
