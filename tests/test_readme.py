"""Every python block of the README and of the pages on the library runs, and does what is said beside it."""

from __future__ import annotations

import ast
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pages import (
    BESIDE_PEERS,
    COMING_FROM,
    LIBRARY,
    README,
    ROOT,
    Training,
    block,
    blocks,
    other,
    run,
    uncontrolled,
)
from peers.work import bits, by_sample, next_draws, order

import samerun
from samerun.digest import digest_value
from samerun.testing import assert_same_run

LOADER = ROOT / "docs" / "data" / "loader.md"
TESTED = {
    README: {"As a library 1"},
    LIBRARY: {"A training that resumes anywhere 1", "Asserts for your own tests 1"},
    COMING_FROM: {"The seven-line recipe 1", "The seven-line recipe 2"} | BESIDE_PEERS,
}

pytestmark = pytest.mark.filterwarnings("ignore:PYTHONHASHSEED was not set")


@pytest.mark.parametrize("page", TESTED, ids=lambda page: page.stem)
def test_every_block_has_a_test(page: Path) -> None:
    assert set(blocks(page)) == TESTED[page]


# --- as a library ---------------------------------------------------------------------------------------


def test_control_and_streams() -> None:
    drawn = []
    code = block("As a library 1").replace("...  #", "draw()  #")
    with uncontrolled():
        run(code, epoch=1, index=3, draw=lambda: drawn.append(next_draws()))
        after = next_draws()
        samerun.seed_everything(42)
        fresh = next_draws()
        beyond = next_draws()
    inside, isolated = drawn
    assert inside == isolated == after == fresh != beyond


IMAGES = torch.zeros(22, 4)


def library(folder: Path, *, code: str, stop_after: int | None = None, resume: bool = False) -> Training:
    """The block on data and state, as a new process whose model begins with other weights each time."""
    training = Training(stop_after)
    torch.manual_seed(int(resume))
    model, optimizer = training.build()
    training.run(code, images=IMAGES, model=model, optimizer=optimizer, resume=resume)
    return training


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Training:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("whole"))
        return library(Path(), code=block("A training that resumes anywhere 1"))


@pytest.mark.parametrize("stop_after", [1, 4, 5, 7])
def test_data_and_state_go_on_after_any_batch(
    whole: Training, stop_after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = block("A training that resumes anywhere 1")
    stopped = library(tmp_path, code=code, stop_after=stop_after)
    assert bits(stopped.batches) == bits(whole.batches[:stop_after])
    resumed = library(tmp_path, code=code, resume=True)
    assert len(whole.batches) == 10 and bits(resumed.batches) == bits(whole.batches[stop_after:])
    assert bits(resumed.model.parameters()) == bits(whole.model.parameters())


def test_without_the_loader_it_does_not_go_on(
    whole: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = other(block("A training that resumes anywhere 1"), ', "loader": loader}', "}")
    library(tmp_path, code=code, stop_after=2)
    resumed = library(tmp_path, code=code, resume=True)
    assert bits(resumed.batches) == bits(whole.batches)  # from the start
    assert bits(resumed.model.parameters()) != bits(whole.model.parameters())


def test_asserts_for_tests() -> None:
    names: dict[str, Any] = {}
    for code in blocks(ROOT / "docs" / "testing.md").values():
        names.update(run(code))
    code = block("Asserts for your own tests 1")
    scope = run(code, **{name: names[name] for name in ("train", "Training", "make")})
    scope["test_my_training"]()
    turns = itertools.count()
    with pytest.raises(AssertionError, match="not the same"):
        assert_same_run(lambda: names["train"]()["losses"] + [next(turns)])


# --- the seven-line recipe ------------------------------------------------------------------------------


def loaded(name: str, *, workers: int = 2, seed: int = 0) -> list[torch.Tensor]:
    code = other(block(name), "num_workers=2", f"num_workers={workers}").replace("(0)", f"({seed})")
    batches: list[torch.Tensor] = Training().run(code + "batches = list(loader)\n")["batches"]
    return batches


def test_the_recipe_repeats_with_the_same_number_of_workers_only() -> None:
    before = "The seven-line recipe 1"
    two, again, none = loaded(before), loaded(before), loaded(before, workers=0)
    assert bits(two) == bits(again)
    assert order(two) == order(none)
    assert set(by_sample(two).values()).isdisjoint(by_sample(none).values())


def test_after_it_the_workers_do_not_matter() -> None:
    after = "The seven-line recipe 2"
    assert bits(loaded(after)) == bits(loaded(after, workers=0))
    assert set(by_sample(loaded(after, seed=1)).values()).isdisjoint(by_sample(loaded(after)).values())


def test_after_it_the_loader_goes_on_in_the_middle_of_an_epoch() -> None:
    code = block("The seven-line recipe 2")
    first, second = (Training().run(code)["loader"] for _ in range(2))
    batches = iter(first)
    for _ in range(2):
        next(batches)
    second.load_state_dict(first.state_dict())
    assert bits(second) == bits(batches)


# --- docs/data/loader.md --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", blocks(LOADER))
def test_a_block_of_the_loaders_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each holds what it shows by asserts, with what the blocks before it have defined."""
    if "stateful" in name:
        pytest.importorskip("torchdata", reason="torchdata is not installed; `make peers` installs it")
    page = blocks(LOADER)
    assert "assert " in page[name]
    with uncontrolled():
        scope = run("\n".join(definitions(page, name)))
        before = states()
        run(page[name], **scope).clear()  # its workers end now
        assert (states() == before) == ("stateful" not in name)


def states() -> bytes:
    numpys = np.random.get_state()
    return digest_value((random.getstate(), numpys[1:], torch.get_rng_state()))


def definitions(page: dict[str, str], name: str) -> list[str]:
    """Imports, classes and functions of the page up to a block, without what they are used for."""
    earlier = itertools.takewhile(lambda each: each != name, page)
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)
    return [
        ast.unparse(node)
        for each in earlier
        for node in ast.parse(page[each]).body
        if isinstance(node, kinds)
    ]
