"""The same bits in every run and at every number of threads; and a kernel that differs is found out.

Covers `selftest.py`.
"""

from __future__ import annotations

import dataclasses
import threading

import pytest
import torch

from samerun.cli.main import main
from samerun.ops import implementations, installed
from samerun.ops import selftest as tested
from samerun.ops.installation import put_in
from samerun.ops.selftest import run_operation

from .computing import on_cpu
from .grids import GRIDS, cases

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", GRIDS)
def test_twice_at_one_thread_and_at_several(name):
    with on_cpu(name):
        assert run_operation(implementations()[name], CPU, runs=2).repeats


@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_fifty_times(name):
    with on_cpu(name):
        assert run_operation(implementations()[name], CPU, runs=50).repeats


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3, 4])
@pytest.mark.parametrize("name", ["_index_put_impl_", "put_"])
def test_the_grid_at_every_number_of_threads(name, threads):
    one = implementations()[name]
    for args, _ in cases(name):
        for dtype in (torch.float32, torch.bfloat16):
            single, several = (at_threads(one, args, dtype, count) for count in (1, threads))
            assert torch.equal(single, several)


def at_threads(one, args, dtype, count):
    from .computing import compute, mapped

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with installed():
            return compute(one, mapped(args, lambda t: t.to(dtype)))[0]
    finally:
        torch.set_num_threads(before)


def test_just_as_many_elements_as_torch_computes_in_one_loop():
    """One more, and torch's own kernel shares them out among threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        for count in (2999, 3000, 3001):
            results = set()
            values = torch.rand(count)
            index = torch.zeros(count, dtype=torch.int64)
            with installed():
                for _ in range(200):
                    table = torch.zeros(3).index_put_((index,), values, accumulate=True)
                    results.add(table[0].item())
                    table = torch.zeros(3).index_put_((index,), values)
                    results.add(-table[0].item())
            assert results == {table_sum(values), -values[-1].item()}
    finally:
        torch.set_num_threads(before)


def table_sum(values):
    """As a loop adds them."""
    total = torch.zeros(1)
    for value in values:
        total += value
    return total.item()


def test_the_backward_pass_of_indexing_repeats_itself_without_torchs_flag():
    index = torch.randint(0, 50, (100_000,), generator=torch.Generator().manual_seed(0))
    weights = torch.rand(100_000, 8, generator=torch.Generator().manual_seed(1))
    gradients = []
    before = torch.get_num_threads()
    with installed():
        for threads in (1, 2, 4, 4, 4):
            torch.set_num_threads(threads)
            table = torch.ones(50, 8, requires_grad=True)
            (table[index] * weights).sum().backward()
            gradients.append(table.grad)
    torch.set_num_threads(before)
    assert all(torch.equal(gradients[0], other) for other in gradients)


@pytest.fixture
def restless():
    """An operation that gives another bit every time."""
    calls = iter(range(10**6))

    def bad(self, *args):
        self.view(torch.int32).view(-1)[next(calls)] ^= 1
        return self

    one = implementations()["put_"]
    return dataclasses.replace(one, name="put_", kernels={"put_": bad})


def test_one_changed_bit_is_found(restless):
    with put_in([restless], lambda _: ("CPU",)):
        found = run_operation(restless, CPU, runs=3)
    assert (found.results, found.repeats) == (6, False)


def test_what_cannot_be_computed_does_not_pass():
    def none(device):
        raise RuntimeError("out of memory")

    one = dataclasses.replace(implementations()["put_"], example=none)
    found = run_operation(one, CPU, runs=3)
    assert (found.repeats, found.error) == (False, "out of memory")


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([("a", 1, None), ("b", 1, None)], 0),
        ([("a", 1, None), ("b", 2, None)], 1),
        ([("a", 0, "no memory"), ("b", 1, None)], 3),
        ([("a", 0, "no memory"), ("b", 2, None)], 1),
    ],
)
def test_the_verb_exits_by_what_was_found(found, code, monkeypatch, capsys):
    outcomes = [tested.Outcome(name, "cpu", 5, results, error) for name, results, error in found]
    monkeypatch.setattr(tested, "run_selftest", lambda runs: iter(outcomes))
    assert main(["ops-selftest", "--runs", "5"]) == code
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert [("same" in line, "differs" in line) for line in lines] == [
        (results == 1, results > 1) for _, results, _ in found
    ]


def test_the_verb_runs_what_is_installed_here(capsys):
    assert main(["ops-selftest", "--runs", "2"]) == 0
    assert {"_index_put_impl_", "put_"} <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}


def test_two_threads_of_a_program_at_once():
    """Kernels are called from many threads; nothing of theirs is shared but what is constant."""
    one = implementations()["_adaptive_avg_pool2d_backward"]
    args = one.example(CPU)
    results = []
    with on_cpu(one.name):
        threads = [
            threading.Thread(
                target=lambda: results.append(torch.ops.aten._adaptive_avg_pool2d_backward(*args))
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 4
    assert all(torch.equal(results[0], other) for other in results)
