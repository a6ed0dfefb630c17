"""What each source's variants do in a process, and that they leave nothing behind.

Covers `batch_size.py`, `compile.py`, `data_order.py`, `dropout.py`, `extra_evaluation.py`,
`extra_loader.py`, `hostname.py`, `initialisation.py`, `locale.py`, `matmul_precision.py`,
`patching/attribute.py`, `patching/dataloader_args.py`, `patching/clocks/datetime_now.py`,
`patching/identity_calls.py`, `patching/root_modules.py`, `patching/torch_stream.py`,
`patching/unseeded_generators.py`, `persistent_workers.py`, `prefetch.py`, `user.py`, `worker_count.py` and
`working_directory.py`.
"""

from __future__ import annotations

import datetime
import getpass
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

import samerun
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Variant

DATA = TensorDataset(torch.arange(12.0))
SETTINGS: dict[str, dict[str, Any]] = {
    "threads": {"intra": torch.get_num_threads()},
    "hardware": {"cpus": 4, "devices": ["a GPU"], "capability": "AVX2"},
    "worker-count": {"workers": [2, 0]},
    "cpu-isa": {"aten": "AVX2"},
    "tf32": {"matmul": "highest", "cudnn": True},
    "cudnn-benchmark": {"benchmark": False},
}


@contextmanager
def varied(id_: str, value: Any) -> Iterator[list[int]]:
    """The source varied in this process; gives a list that is empty until the change took effect."""
    took: list[int] = []
    with samerun.isolate_rng():
        undo = find_sources()[id_].vary(value, lambda: took.append(1))
        assert undo is not None
        try:
            yield took
        finally:
            undo()


def test_labels_are_unique_and_variants_are_only_of_what_can_be_varied() -> None:
    for id_, source in find_sources().items():
        variants = source.variants(SETTINGS)
        labels = [variant.label for variant in variants]
        assert len(set(labels)) == len(labels), id_
        for variant in variants:
            assert 0 < variant.likely <= 1 and variant.runs >= 1, id_
            assert does_something(variant), id_


def does_something(variant: Variant) -> bool:
    return bool(
        variant.value is not None
        or variant.environment
        or variant.scratch
        or variant.around is not None
        or variant.rewrite is not None
    )


def test_nothing_is_tried_of_devices_and_loaders_that_are_not_there() -> None:
    for id_ in (
        "tf32",
        "cudnn-benchmark",
        "attention-backend",
        "worker-count",
        "persistent-workers",
        "prefetch",
    ):
        assert not find_sources()[id_].variants({}), id_


def test_threads_hold_whatever_the_script_asks_for() -> None:
    before = torch.get_num_threads()
    with varied("threads", before + 1):
        torch.set_num_threads(1)
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    torch.set_num_threads(before)


def test_a_listing_is_turned_round_and_scandir_too(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    names = os.listdir(tmp_path)
    with varied("listing-order", True) as took:
        assert os.listdir(tmp_path) == names[::-1]
        with os.scandir(tmp_path) as entries:
            assert [entry.name for entry in entries] == names[::-1]
        assert took
    assert os.listdir(tmp_path) == names


def test_one_entry_has_no_order(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with varied("listing-order", True) as took:
        assert os.listdir(tmp_path) == ["a"]
        assert not took


def test_the_clock_is_a_year_on_for_the_script() -> None:
    year = 365 * 86400
    real = time.time()
    with varied("clock", year) as took:
        moved = time.time()
        assert datetime.datetime.now().timestamp() - real > year - 60
        assert time.localtime().tm_year == time.localtime(real + year).tm_year
        assert took
        assert time.perf_counter() < real  # the time that passes is left alone
    assert real <= moved - year <= time.time() < moved


def test_names_of_host_and_user() -> None:
    host = socket.gethostname()
    with varied("hostname", "another-host") as took:
        assert socket.gethostname() == "another-host"
        assert took
    assert socket.gethostname() == host
    with varied("user", "somebody"):
        assert getpass.getuser() == "somebody"


def test_the_number_of_workers_and_what_goes_with_it() -> None:
    with varied("worker-count", 0) as took:
        loader = DataLoader(DATA, num_workers=2, prefetch_factor=3, persistent_workers=True)
        assert (loader.num_workers, loader.prefetch_factor, loader.persistent_workers) == (0, None, False)
        assert took
    with varied("worker-count", 2) as took:
        assert DataLoader(DATA, num_workers=2).num_workers == 2
        assert not took
    with varied("prefetch", 5):
        assert DataLoader(DATA, num_workers=1).prefetch_factor == 5
    with varied("persistent-workers", True):
        assert DataLoader(DATA, num_workers=1).persistent_workers
        assert not DataLoader(DATA).persistent_workers
    assert DataLoader(DATA).num_workers == 0


def test_an_unused_loader_moves_the_main_generator_and_no_batch() -> None:
    def loaded() -> tuple[list[Any], float]:
        torch.manual_seed(0)
        batches = [batch[0].tolist() for batch in DataLoader(DATA, batch_size=4)]
        return batches, torch.rand(()).item()

    alone = loaded()
    with varied("extra-loader", True) as took:
        batches, drawn = loaded()
        assert took
    assert batches == alone[0]
    assert drawn != alone[1]


def test_the_precision_of_products() -> None:
    with varied("matmul-precision", "medium"):
        torch.set_float32_matmul_precision("highest")
        assert torch.get_float32_matmul_precision() == "medium"
    assert torch.get_float32_matmul_precision() == "highest"


def test_threads_are_switched_far_more_often() -> None:
    before = sys.getswitchinterval()
    with varied("thread-scheduling", {"switch": 1e-5}) as took:
        assert sys.getswitchinterval() == pytest.approx(1e-5)
        assert not took
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        assert took
    assert sys.getswitchinterval() == before


class Noting(threading.Thread):
    """A thread with a `run` of its own."""

    began = 0.0

    def run(self) -> None:
        self.began = time.monotonic()


@pytest.mark.parametrize("late", [0.0, 0.05])
def test_threads_begin_late(late: float) -> None:
    with varied("thread-scheduling", {"late": late}) as took:
        given: list[float] = []
        threads = (
            Noting(),
            threading.Thread(target=lambda x, *, y: given.append(x + y), args=(1.0,), kwargs={"y": 2.0}),
        )
        start = time.monotonic()
        for thread in threads:
            thread.start()
        started = time.monotonic()
        for thread in threads:
            thread.join()
        assert took
    assert given == [3.0]
    assert threads[0].began - start >= 2 * late
    assert late == 0.0 or started - start < late  # who starts it does not wait


class Counting(nn.Module):
    """A model that counts its calls, as a moving statistic would."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.calls: list[tuple[int, bool]] = []

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        self.calls.append((len(x), self.training))
        return self.inner(x) * scale


def test_a_batch_in_two_halves_gives_the_same_rows_and_gradients() -> None:
    model, x = Counting(), torch.randn(5, 3)
    whole = model(x, scale=2.0)
    whole.sum().backward()
    gradient = model.inner.weight.grad
    model.inner.weight.grad = None
    with varied("batch-size", 2) as took:
        halves = model(x, scale=2.0)
        assert took
        halves.sum().backward()
        model.eval()
        model(x)
        model.train()
    assert model.calls == [(5, True), (2, True), (3, True), (5, False)]
    torch.testing.assert_close(halves, whole)
    torch.testing.assert_close(model.inner.weight.grad, gradient)


def test_a_loss_of_two_halves_is_the_mean_over_the_rows() -> None:
    class Loss(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": x.mean(), "rows": x}

    x = torch.arange(5.0)
    with varied("batch-size", 2):
        out = Loss()(x)
    assert out["loss"].item() == pytest.approx(2.0)
    assert out["rows"].tolist() == x.tolist()


def test_outputs_that_cannot_be_joined_fail_instead_of_passing_for_the_same() -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> str:
            return "odd"

    with varied("batch-size", 2), pytest.raises(RuntimeError, match="two halves"):
        Odd()(torch.zeros(4))


def test_a_validation_pass_more_leaves_the_mode_as_it_was() -> None:
    model = Counting()
    model.inner.eval()
    with varied("extra-evaluation", 1) as took:
        model(torch.zeros(2, 3))
        model(torch.zeros(2, 3))
        assert took
    assert model.calls == [(2, False), (2, True), (2, True)]
    assert model.training and not model.inner.training


def test_eagerly_nothing_is_compiled() -> None:
    own = torch.compile
    with varied("compile", "eager") as took:
        model = Counting()
        assert torch.compile(model) is model
        assert took
    assert torch.compile is own


# --- seeds -------------------------------------------------------------------------------------------


def trained(*changes: tuple[str, int]) -> dict[str, Any]:
    """What each use of randomness drew, under control, with these sources varied."""
    import contextlib

    ids = (
        "initialisation",
        "data-order",
        "dropout",
        "numpy-global",
        "python-random",
        "numpy-generator",
        "torch-cpu",
    )
    values = {**dict.fromkeys(ids, 0), **dict(changes)}
    with contextlib.ExitStack() as stack:
        for id_, value in values.items():
            stack.enter_context(varied(id_, value))
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)
        model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
        first, second = random_split(range(12), [6, 6], generator=torch.Generator().manual_seed(3))  # type: ignore[arg-type]
        found: dict[str, Any] = {
            "initialisation": model[0].weight.tolist(),
            "torch-cpu": [torch.rand(3).tolist(), list(first.indices)],
            "data-order": [int(x[0]) for x in DataLoader(DATA, shuffle=True)],
            "dropout": (model(torch.ones(64, 2)) == 0).tolist(),
            "numpy-global": np.random.rand(3).tolist(),
            "python-random": random.random(),
            "numpy-generator": [np.random.default_rng(5).random(), np.random.RandomState(5).rand()],
        }
        assert set(second.indices).isdisjoint(first.indices)
        return found


@pytest.fixture(scope="module")
def base() -> dict[str, Any]:
    return trained()


def test_the_same_seeds_draw_the_same(base: dict[str, Any]) -> None:
    assert trained() == base


@pytest.mark.parametrize(
    "id_",
    [
        "initialisation",
        "data-order",
        "dropout",
        "numpy-global",
        "python-random",
        "numpy-generator",
        "torch-cpu",
    ],
)
def test_another_seed_of_one_source_moves_it_and_nothing_else(id_: str, base: dict[str, Any]) -> None:
    other = trained((id_, 1))
    moved = {name for name in base if other[name] != base[name]}
    assert moved == {id_}


def test_seeds_of_the_script_are_mixed_and_not_lost() -> None:
    with varied("torch-cpu", 1):
        torch.manual_seed(1)
        one = torch.rand(())
        torch.manual_seed(2)
        assert torch.rand(()) != one
        torch.manual_seed(1)
        assert torch.rand(()) == one


def test_generators_stay_what_they_are_to_those_who_ask() -> None:
    generator, state = torch.Generator(), np.random.RandomState(0)
    with varied("torch-cpu", 1), varied("numpy-generator", 1):
        assert isinstance(generator, torch.Generator)
        assert isinstance(state, np.random.RandomState)
        assert isinstance(torch.Generator(), torch.Generator)
        assert torch.randperm(4, generator=torch.Generator().manual_seed(1)).shape == (4,)


def test_every_rank_shuffles_alike_and_covers_the_data() -> None:
    with varied("data-order", 1) as took:
        parts = [list(DistributedSampler(DATA, num_replicas=2, rank=rank)) for rank in (0, 1)]
        assert took
    plain = [list(DistributedSampler(DATA, num_replicas=2, rank=rank)) for rank in (0, 1)]
    assert sorted(parts[0] + parts[1]) == list(range(12))
    assert parts != plain


def test_a_generator_given_to_a_sampler_is_its_own_again_afterwards() -> None:
    generator = torch.Generator().manual_seed(0)
    loader = DataLoader(DATA, shuffle=True, generator=generator)
    with varied("data-order", 1):
        list(loader)
    assert loader.sampler.generator is generator  # type: ignore[attr-defined]
