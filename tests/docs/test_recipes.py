"""docs/recipes.md: the lines before do what the page says is wrong, the lines after do not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pages import ROOT, Training, blocks, other, run, uncontrolled
from peers.work import Augmented, bits, by_sample, next_draws

import samerun

PAGE = blocks(ROOT / "docs" / "recipes.md")
BOTH = (
    "fix_seed",
    "cuDNN flags",
    "use_deterministic_algorithms",
    "seed_worker",
    "worker_init_fn with a rank",
    "init_random_seed",
    "SeedSequence and generators of one's own",
    "train_test_split",
    "set_epoch",
)
MODULES: dict[str, Any] = {"random": random, "np": np, "torch": torch}

pytestmark = pytest.mark.filterwarnings("ignore:PYTHONHASHSEED was not set")


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    with uncontrolled():
        yield
    torch.use_deterministic_algorithms(False)


def test_every_block_has_a_test() -> None:
    after_alone = {"After a refactoring: the same as before? 1"}
    assert set(PAGE) == {f"{heading} {number}" for heading in BOTH for number in (1, 2)} | after_alone


def draw_after(name: str) -> tuple[Any, ...]:
    run(PAGE[name], **MODULES)
    return *next_draws(), float(np.random.default_rng().random())


def test_fix_seed() -> None:
    before, after = "fix_seed 1", "fix_seed 2"
    one, two = draw_after(before), draw_after(before)
    assert one[:3] == two[:3] and one[3] != two[3]
    assert draw_after(after) == draw_after(after)
    samerun.seed_everything(42, compatible=True)
    assert next_draws() == one[:3]


def test_cudnn_flags() -> None:
    flags = torch.backends.cudnn
    before = flags.deterministic
    seen = []
    run(PAGE["cuDNN flags 2"], train=lambda: seen.append(flags.deterministic))
    assert seen == [True] and flags.deterministic == before
    run(PAGE["cuDNN flags 1"], torch=torch)
    assert flags.deterministic
    flags.deterministic = False
    seeded = other(PAGE["cuDNN flags 2"], "seed=0", 'seed=0, mode="seeded"')
    run(seeded, train=lambda: seen.append(flags.deterministic))
    assert seen == [True, False]


def test_use_deterministic_algorithms() -> None:
    pooled, indices = torch.nn.functional.max_pool2d(torch.rand(1, 1, 8, 8), 2, return_indices=True)
    plain = torch.nn.functional.max_unpool2d(pooled, indices, 2)
    with pytest.raises(RuntimeError, match="deterministic"):
        run(PAGE["use_deterministic_algorithms 1"], torch=torch, pooled=pooled, indices=indices)
    torch.use_deterministic_algorithms(False)
    found = run(PAGE["use_deterministic_algorithms 2"], torch=torch, pooled=pooled, indices=indices)
    assert torch.equal(found["restored"], plain)


def load(name: str, *, workers: int, epochs: int = 1, **names: Any) -> list[dict[int, bytes]]:
    """What each sample drew, epoch by epoch."""
    code = other(PAGE[name], "num_workers=1", f"num_workers={workers}") + (
        f"epochs = [list(loader) for _ in range({epochs})]\n"
    )
    return [by_sample(batches) for batches in Training().run(code, **names)["epochs"]]


def test_seed_worker() -> None:
    assert load("seed_worker 1", workers=1) != load("seed_worker 1", workers=2)
    assert load("seed_worker 2", workers=1, epochs=2) == load("seed_worker 2", workers=0, epochs=2)
    first, second = load("seed_worker 2", workers=0, epochs=2)
    assert set(first.values()).isdisjoint(second.values())


class NumpyAndPython(Augmented):
    """What that recipe seeds: torch is seeded by torch itself."""

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([index, random.random(), np.random.rand()], dtype=torch.float64)


def test_worker_init_fn_with_a_rank() -> None:
    before, after = ("worker_init_fn with a rank 1", "worker_init_fn with a rank 2")
    names: dict[str, Any] = {"dataset": NumpyAndPython(), "rank": 0}
    first, second = load(before, workers=1, epochs=2, **names)
    assert first == second
    first, second = load(after, workers=1, epochs=2, **names)
    assert set(first.values()).isdisjoint(second.values())
    assert load(after, workers=1, epochs=2, **names) == [first, second]


def test_init_random_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "broadcast", lambda tensor, src: None)
    cfg: dict[str, int] = {}
    run(PAGE["init_random_seed 1"], np=np, torch=torch, cfg=cfg)
    assert 0 <= cfg["seed"] < 2**31
    run(PAGE["init_random_seed 2"], cfg=cfg)
    drawn = next_draws()
    samerun.seed_everything(cfg["seed"])
    assert next_draws() == drawn
    samerun.seed_everything(cfg["seed"] ^ 1)
    assert next_draws() != drawn


def test_generators_of_ones_own() -> None:
    before, after = (f"SeedSequence and generators of one's own {number}" for number in (1, 2))
    run(PAGE[before], np=np, torch=torch)

    def noise(epoch: int, index: int) -> list[bytes]:
        next_draws()  # other code, which draws as it likes
        numpys, torchs = run(PAGE[after], torch=torch, epoch=epoch, index=index)["noise"]
        return [numpys.tobytes(), *bits([torchs])]

    assert noise(0, 1) == noise(0, 1)
    assert set(noise(0, 1)).isdisjoint(noise(1, 0))


def test_train_test_split() -> None:
    sklearn = pytest.importorskip("sklearn")
    pytest.importorskip("sklearn.model_selection")

    def moved(name: str) -> set[str]:
        files = [f"{number}.png" for number in range(200)]
        few, more = (
            set(run(PAGE[name], files=some, sklearn=sklearn)["test"]) for some in (files, ["new.png", *files])
        )
        return (few ^ more) - {"new.png"}

    assert moved("train_test_split 1")
    assert moved("train_test_split 2") == set()


def test_set_epoch() -> None:
    def order(name: str, *, seed: int, epoch: int) -> list[int]:
        code = PAGE[name].replace("0 + epoch", f"{seed} + epoch").replace("stream(0", f"stream({seed}")
        names = {"torch": torch, "dataset": range(50), "generator": torch.Generator(), "epoch": epoch}
        found: list[int] = run(code, **names)["order"]
        return found

    assert order("set_epoch 1", seed=0, epoch=1) == order("set_epoch 1", seed=1, epoch=0)
    assert order("set_epoch 2", seed=0, epoch=1) != order("set_epoch 2", seed=1, epoch=0)
    assert order("set_epoch 2", seed=0, epoch=1) == order("set_epoch 2", seed=0, epoch=1)


def test_after_a_refactoring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = PAGE["After a refactoring: the same as before? 1"]

    def train() -> torch.Tensor:
        return torch.rand(3) * 2

    run(code, train=train, locked=False)
    run(code, train=lambda: train() + 0.0, locked=True)
    with pytest.raises(AssertionError, match="not the locked bits"):
        run(code, train=lambda: train() * 1.0000002, locked=True)
