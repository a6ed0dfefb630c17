"""assert_resumes_everywhere passes trainings that resume exactly, and names what the others forgot.

Covers `step_digests.py`, `unrestored.py` and `unsaved_state.py`.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from samerun import state
from samerun.errors import StateError, UsageError
from samerun.testing import assert_resumes_everywhere

from .trainings import TRAININGS, Digits, Ema, Training, digits


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("name", "workers"),
    [
        *((name, 0) for name in TRAININGS),
        ("digits", 2),
        *(pytest.param(name, 2, marks=pytest.mark.slow) for name in TRAININGS if name != "digits"),
    ],
)
def test_a_training_that_keeps_everything(name: str, workers: int) -> None:
    """Two epochs of 4 steps of 2 batches, from each of the 9 interruption points: the same bits."""
    steps = 0

    def make() -> Training:
        training = TRAININGS[name](workers, accumulate=2)
        step = training.step

        def counted() -> float:
            nonlocal steps
            result = step()
            steps += 1
            return result

        training.step = counted  # type: ignore[method-assign]
        return training

    assert_resumes_everywhere(make)
    assert steps == 8 + 8 + sum(range(9))


@pytest.mark.parametrize("what", ["model", "optimizer", "ema"])
def test_one_bit_that_loading_changes(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = state.load

    def load(path: Any, **objects: Any) -> dict[str, Any]:
        values = real(path, **objects)
        if path.name == "step2.pt":
            tensors = {
                "model": lambda: objects["model"].net[5].bias,
                "optimizer": lambda: objects["optimizer"].state[objects["model"].net[5].bias][
                    "momentum_buffer"
                ],
                "ema": lambda: objects["ema"].shadow.net[5].bias,
            }
            tensors[what]().data.view(torch.int32)[9] ^= 1 << 20  # too large to be rounded away
        return values

    monkeypatch.setattr("samerun.testing.resumes_everywhere.state.load", load)
    with pytest.raises(
        AssertionError, match=r"^interrupted after step 2 of 6 .* not the same: in step 3, "
    ) as caught:
        assert_resumes_everywhere(lambda: digits(count=24))
    assert "In objects, but loading does not bring it back" in str(caught.value)
    assert f"{what}." in str(caught.value)


FORGOTTEN = {
    "model": r"step 2, what step\(\) returned is .* as it was: model\.net\.0\.weight \(torch",
    "optimizer": r"optimizer\.state\[0\]\.momentum_buffer is there in the training that went on only",
    "scheduler": r"scheduler\.last_epoch is 0 in the resumed one, and 1 in the training that went on",
    "ema": r"after step 1 .* at the end, ema\.shadow\..* as it was: ema\.shadow\.net\.0\.weight \(torch",
    "loader": r"loader\.batch is 0 in the resumed one, and 1 in",
    "epoch": r"after step 4 of 6 .* epoch is 0 in the resumed one, and 1 in",
}


@pytest.mark.everyday(3)
@pytest.mark.parametrize("forget", FORGOTTEN)
def test_what_was_forgotten_is_named(forget: str) -> None:
    with pytest.raises(AssertionError, match=r"^interrupted after step \d of 6 and resumed") as caught:
        assert_resumes_everywhere(lambda: digits(count=24, forget=forget))
    assert "Not in objects, and not as it was: " in str(caught.value)
    assert re.search(FORGOTTEN[forget], str(caught.value)), caught.value


class Held(Training):
    """Draws from a generator of its own in each step."""

    def __init__(self, generator: Any, draw: Callable[[Any], float]) -> None:
        small = digits(count=24)
        super().__init__(small.model, small.loader, small.optimizer, small.scheduler)
        self.generator = generator
        self.draw = draw

    def step(self) -> float:
        return super().step() + self.draw(self.generator)


class Kept(Held):
    @property
    def objects(self) -> dict[str, Any]:
        return {**super().objects, "generator": self.generator}


GENERATORS = {
    "python": lambda: (random.Random(0), lambda g: g.random()),
    "numpy": lambda: (np.random.default_rng(0), lambda g: g.random()),
    "legacy": lambda: (np.random.RandomState(0), lambda g: g.rand()),
    "torch": lambda: (torch.Generator().manual_seed(0), lambda g: float(torch.rand((), generator=g))),
}


@pytest.mark.everyday(2)
@pytest.mark.parametrize("library", GENERATORS)
def test_a_generator_of_its_own(library: str) -> None:
    assert_resumes_everywhere(lambda: Kept(*GENERATORS[library]()))
    with pytest.raises(
        AssertionError, match=r"after step 1 .* step 2, what step\(\) returned .*: generator\.state"
    ):
        assert_resumes_everywhere(lambda: Held(*GENERATORS[library]()))


def test_a_generator_deep_in_the_dataset() -> None:
    class Flipped(Digits):
        rng: Any = None

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            image, label = super().__getitem__(index)
            return (image.flip(-1) if self.rng.random() < 0.5 else image), label

    def make() -> Training:
        training = digits(count=24)
        training.loader.dataset.__class__ = Flipped
        training.loader.dataset.rng = np.random.default_rng(0)
        return training

    with pytest.raises(AssertionError, match=r"Not in objects.*: loader\.dataset\.rng\.state"):
        assert_resumes_everywhere(make)


def test_a_stock_loader_has_a_position_that_nobody_can_ask_for() -> None:
    def make() -> Training:
        training = digits(count=24, forget="loader")
        training.loader = DataLoader(Digits(24), batch_size=8, shuffle=True)
        return training

    with pytest.raises(
        AssertionError, match=r"with a position that it does not tell: loader \(a DataLoader\)"
    ):
        assert_resumes_everywhere(make)


class Averaging(Training):
    """Averages its weights in a dict, keeps its last batch and its losses, and says when it was made."""

    def __init__(self) -> None:
        small = digits(count=24)
        super().__init__(small.model, small.loader, small.optimizer, small.scheduler)
        self.mean = {name: weight.clone() for name, weight in self.model.state_dict().items()}
        self.losses: list[float] = []
        self.last: torch.Tensor | None = None
        self.made = time.time()

    def step(self) -> float:
        loss = super().step()
        self.losses.append(loss)
        self.last = torch.tensor(loss)
        for name, weight in self.model.state_dict().items():
            self.mean[name] = (self.mean[name] + weight) / 2
        return loss


class Averaged(Averaging):
    @property
    def objects(self) -> dict[str, Any]:
        return {**super().objects, "mean": self.mean}


def test_tensors_outside_of_objects() -> None:
    assert_resumes_everywhere(Averaged)
    with pytest.raises(
        AssertionError, match=r"at the end, mean\.net\.0\.weight .* differs\. Not in objects.*: mean\.net"
    ):
        assert_resumes_everywhere(Averaging)


class Lossy(Ema):
    """Keeps its average in half of the bits, and so does not lose anything that its state shows."""

    def state_dict(self) -> dict[str, Any]:
        half = {
            name: value.bfloat16()
            for name, value in self.shadow.state_dict().items()
            if value.is_floating_point()
        }
        return {"shadow": half, "updates": self.updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.shadow.load_state_dict(state["shadow"], strict=False)
        self.updates = state["updates"]


def with_ema(cls: type[Ema]) -> Callable[[], Training]:
    def make() -> Training:
        training = digits(count=24)
        training.ema = cls(training.model)
        return training

    return make


def test_bits_that_a_state_leaves_out() -> None:
    with pytest.raises(AssertionError, match=r"^interrupted after step 0 .* in step 1, ema\.shadow"):
        assert_resumes_everywhere(with_ema(Lossy))


class Careless(Ema):
    """Loads a part of its state."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.shadow.load_state_dict(state["shadow"])


def test_an_object_that_passes_over_a_part_of_its_state() -> None:
    with pytest.raises(
        AssertionError, match=r"^interrupted after step 1, the training cannot be resumed.*updates"
    ):
        assert_resumes_everywhere(with_ema(Careless))


def test_saving_that_changes_the_run() -> None:
    calls = 0

    class Counted(Ema):
        def state_dict(self) -> dict[str, Any]:
            nonlocal calls
            calls += 1
            return {**super().state_dict(), "calls": calls}

    with pytest.raises(
        AssertionError, match=r"^without any interruption, .* in step 1, ema\.calls is .* saving|save"
    ):
        assert_resumes_everywhere(with_ema(Counted))


def test_a_training_that_is_not_the_same_twice() -> None:
    first = True

    def make() -> Training:
        nonlocal first
        training = digits(count=24)
        if not first:
            with torch.no_grad():
                training.model.net[5].weight.view(torch.int32)[3, 7] ^= 1  # type: ignore[index]
        first = False
        return training

    with pytest.raises(
        AssertionError, match=r"^without any interruption, the training does not repeat: in step 1, "
    ):
        assert_resumes_everywhere(make)


class Line:
    """The smallest training: a plain value, and no more."""

    def __init__(self) -> None:
        self.at = 0

    @property
    def objects(self) -> dict[str, Any]:
        return {"at": self.at}

    def step(self) -> int:
        if self.at == 3:
            raise StopIteration
        self.at += 1
        return self.at


def test_plain_values_are_put_back() -> None:
    assert_resumes_everywhere(Line)


def test_a_resumed_training_that_goes_on_too_long() -> None:
    class Longer(Line):
        def __init__(self) -> None:
            super().__init__()
            self.left = 3

        def step(self) -> int:
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left * 0

        @property
        def objects(self) -> dict[str, Any]:
            return {"nothing": 0}

    Longer.nothing = 0  # type: ignore[attr-defined]
    match = (
        r"makes a step 4, and the first one ended after step 3\. .*: left is 3 in the resumed one, and 2 in"
    )
    with pytest.raises(AssertionError, match=match):
        assert_resumes_everywhere(Longer)


def test_the_generators_are_left_alone() -> None:
    before = random.getstate(), torch.get_rng_state()
    assert_resumes_everywhere(lambda: digits(count=16))
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


class NoStep(Line):
    step = None  # type: ignore[assignment]


class AtOnce(Line):
    def step(self) -> int:
        raise StopIteration


class Endless(Line):
    def step(self) -> int:
        return 0


class Homeless(Line):
    @property
    def objects(self) -> dict[str, Any]:
        return {"elsewhere": self.at}


SHARED = nn.Linear(1, 1)


class Sharing(Line):
    @property
    def objects(self) -> dict[str, Any]:
        return {"model": SHARED, "at": self.at}


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (object, r"returned a object; it needs step\(\)"),
        (NoStep, r"returned a NoStep; it needs step\(\)"),
        (AtOnce, "no step to interrupt after"),
        (Endless, "has not raised StopIteration in"),
        (Homeless, "'elsewhere', but a Homeless has no attribute 'elsewhere'"),
        (Sharing, "make everything anew, but returned the same model twice"),
    ],
)
def test_bad_trainings(make: Any, match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samerun.testing.resumes_everywhere._MANY", 50)
    with pytest.raises(UsageError, match=match):
        assert_resumes_everywhere(make)


def test_what_cannot_be_saved_is_said() -> None:
    class Stock(Line):
        loader = DataLoader(Digits(8))

        @property
        def objects(self) -> dict[str, Any]:
            return {"loader": self.loader, "at": self.at}

    with pytest.raises((UsageError, StateError), match="loader"):
        assert_resumes_everywhere(Stock)
