"""Memory that comes into torch past its operations: what a file held, and what nothing wrote.

Covers `uninitialized.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from trainer import Trainer

from samerun.digest.host import digest_dense
from samerun.recording.ops.digest_cache import Memory
from samerun.recording.trace.tensor_digests import Tensors
from samerun.runs.schema import UNINITIALIZED

SCRIPT = """
import torch
for name, value in (("a", 1.0), ("b", 2.0), ("c", 1.0)):
    torch.save(torch.full((8,), value), f"{name}.pt")
model = torch.nn.Linear(3, 1)
loaded = [torch.load(f"{name}.pt") for name in "abc"]
partly = torch.empty(4, 3)
partly[:2] = 1
wholly = torch.empty(4, 3)
wholly.fill_(1)
wholly[:2] = 2
model(wholly).sum().backward()
"""


READS = """
import copy, torch
weight = torch.nn.Parameter(torch.empty(3))
kept = copy.deepcopy(weight)
(weight * kept).sum().backward()
"""
IN_PLACE = """
import torch
kept = torch.empty(3)
kept.mul_(0.9).add_(1)
lists = [torch.empty(3)]
torch._foreach_mul_(lists, 0.5)
fine = torch.empty(3).zero_().add_(1)
fine = torch.empty(3).normal_().mul_(2)
fine = torch.empty(3).copy_(fine).neg_()
"""
PIECES = """
import torch
whole = torch.empty(4, 3)
whole[:2] = 1
whole[2:] = 2
lazily = torch.empty(4, 3)
lazily[:2] = 1
lazily[:1].sum()
lazily[2:] = 2
early = torch.empty(4, 3)
early[:2] = 1
early.sum()
early[2:] = 2
column = torch.empty(4, 3)
column[:, 1] = 1
"""
COLLECTS = """
import tempfile, torch, torch.distributed as dist
dist.init_process_group("gloo", init_method=f"file://{tempfile.mkdtemp()}/store", rank=0, world_size=1)
received, sent = torch.empty(3), torch.empty(3)
dist.all_gather([received], torch.ones(3))
received.add(1)
dist.all_reduce(sent)
dist.destroy_process_group()
"""
OPTIMIZES = """
import torch
class Momentum(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            kept = torch.empty_like(p)
            p.add_(kept.mul_(0.9).add_(p.grad), alpha=-0.01)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = Momentum([weight], {})
weight.sum().backward()
optimizer.step()
"""


@pytest.fixture(scope="module")
def all_rows(tmp_path_factory):
    """Of one process: several scripts in turn, as importing torch takes longer than all of them."""
    trainer = Trainer(tmp_path_factory.mktemp("memory"))
    scripts = {"one": SCRIPT, "reads": READS, "in_place": IN_PLACE, "pieces": PIECES, "collects": COLLECTS}
    scripts["optimizes"] = OPTIMIZES
    for name, script in scripts.items():
        trainer.script(script, f"{name}.py")
    trainer.script(f"import {', '.join(scripts)}")
    return trainer.rows(trainer.record("train.py", tier="ops"))


@pytest.fixture(scope="module")
def rows(all_rows):
    return [row for row in all_rows if (row.call_site or "").startswith("one.py:")]


@pytest.fixture(scope="module")
def read(all_rows):
    """read(script): (operation, line, line that made it), where memory was read that nothing wrote."""
    found = [row for row in all_rows if row.what == "operation" and row.flags & UNINITIALIZED]
    return lambda name: [
        (row.name, row.call_site, row.detail) for row in found if (row.call_site or "").startswith(name)
    ]


def test_what_a_file_held_is_an_input(rows):
    a, b, c = [row.inputs for row in rows if row.name == "aten.set_.source_Storage_storage_offset"][-3:]
    assert a is not None
    assert a == c != b


def test_memory_that_is_written_in_part_is_told_with_its_line(rows):
    assert [(row.name, row.call_site) for row in rows if row.what == "unwritten"] == [
        ("torch.empty", "one.py:7")
    ]


def test_memory_that_is_written_in_pieces_is_told_where_it_is_read_before_the_last(all_rows):
    found = [row.call_site for row in all_rows if row.what == "unwritten"]
    found = [site for site in found if (site or "").startswith("pieces.py")]
    assert found == ["pieces.py:10", "pieces.py:14"]


def test_what_a_collective_is_given_to_write_to_is_not_read(read):
    """What it sends is."""
    assert read("collects") == [("c10d.allreduce_.default", "collects.py:7", "collects.py:4")]


COPIED = """
import copy, os, sys, torch
torch.manual_seed(0)
model = torch.nn.Linear(50, 1)
model.weight.data.view(torch.int32)[0, 7] ^= int(sys.argv[1])
garbage = [torch.frombuffer(bytearray(os.urandom(n)), dtype=torch.float32).clone() for n in [200, 400] * 20]
held = torch.ones(50)
del garbage
kept = copy.deepcopy(model.state_dict())
held.resize_(100)
held[50:] = 2
(held[:50] * kept["weight"] + model(held[50:])).sum().backward()
"""


@pytest.mark.slow
def test_what_new_memory_happened_to_hold_is_no_difference(tmp_path):
    trainer = Trainer(tmp_path)
    trainer.script(COPIED)

    def moved(*args):
        rows = trainer.rows(trainer.record("train.py", *args, tier="ops"), "operation")
        start = next(n for n, row in enumerate(rows) if row.name == "aten.set_.source_Storage")
        return [(row.name, row.call_site, row.digest, row.inputs) for row in rows[start - 1 :]]

    first, second, other = moved("0"), moved("0"), moved("1")
    assert first == second
    assert ("aten.resize_.default", "train.py:10") in [row[:2] for row in first]
    assert ("aten.copy_.default", "train.py:9") in [row[:2] for row in first]
    assert [row[:2] for row in other] == [row[:2] for row in first]
    assert other != first  # one bit of the model


WITHOUT_STORAGE = """
import copy, torch
held = torch.empty(4)
sparse = torch.eye(3).to_sparse()
sparse.add_(sparse)
sparse.sparse_resize_((4, 4), 2, 0)
torch.empty((2, 2), layout=torch.sparse_coo).mul_(2)
copy.deepcopy(torch.empty(3, device="meta")).resize_(9)
try:
    torch.UntypedStorage(4).copy_(torch.UntypedStorage(8))
except RuntimeError:
    pass
with torch.inference_mode():
    copy.deepcopy(torch.ones(3)).resize_(40)
model = torch.nn.Linear(3, 1)
model(torch.ones(2, 3)).sum().backward()
"""


@pytest.mark.parametrize("window", [None, (-1, 2)], ids=["whole", "a window"])
def test_tensors_without_storage_do_not_break_it_off(tmp_path, window):
    trainer = Trainer(tmp_path)
    trainer.script(WITHOUT_STORAGE)
    run = trainer.record("train.py", tier="ops", window=window)
    assert run.manifest.outcome == "finished", (run.path / "output.txt").read_text()
    assert [row.detail for row in trainer.rows(run, "note") if row.name == "recorder-error"] == []
    assert any(row.name == "aten.sparse_resize_.default" for row in trainer.rows(run, "operation"))
    assert run.manifest.steps == 1


def test_what_reads_unwritten_memory_says_which_line_made_it(read):
    assert read("reads")[0] == ("aten.clone.default", "reads.py:4", "reads.py:3")
    assert {detail for *_, detail in read("reads")} == {"reads.py:3"}


def test_an_operation_in_place_reads_what_it_computes_with_and_not_what_it_overwrites(read):
    assert read("in_place") == [
        ("aten.mul_.Tensor", "in_place.py:4", "in_place.py:3"),
        ("aten._foreach_mul_.Scalar", "in_place.py:6", "in_place.py:5"),
    ]


def test_the_line_that_made_it_may_be_in_an_optimizer_of_the_users(read):
    assert read("optimizes") == [("aten.mul_.Tensor", "optimizes.py:12", "optimizes.py:7")]


def test_a_storage_that_went_is_let_go_and_what_was_known_of_it_with_it():
    memory = Memory(Tensors())
    values = np.zeros(100, dtype=np.float32)  # at one address throughout, and written past torch
    names = []
    for number in range(50):
        values[7] = number
        tensor = torch.from_numpy(values)
        names.append(tensor.untyped_storage()._cdata)
        assert memory.input(tensor) == memory.output(tensor) == digest_dense(tensor)
        del tensor
        memory.settle()
    assert len(set(names)) < len(names)  # while one is held, no other storage has its name


def test_a_storage_that_is_there_is_known_without_reading_it_again():
    memory = Memory(Tensors())
    values = np.zeros(100, dtype=np.float32)
    tensor = torch.from_numpy(values)
    known = memory.output(tensor)
    for _ in range(100):
        memory.settle()
        memory.output(torch.zeros(5))
    values[7] = 1  # past torch, which only a window of steps looks for
    assert memory.input(tensor) == known
    tensor[7] = 2
    assert memory.input(tensor) == digest_dense(tensor) != known
