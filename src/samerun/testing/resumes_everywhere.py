"""A training that is interrupted after any step, and resumed, ends as if it had never been."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from samerun import state
from samerun.controls import control, isolate_rng
from samerun.errors import StateError, UsageError
from samerun.runs.plan import Mode
from samerun.streams import stream_seed
from samerun.testing.describe import describe_difference
from samerun.testing.step_digests import Moment, digest_end, digest_step, list_generators
from samerun.testing.unrestored import describe_forgotten, list_holdings

_MANY = 10_000  # steps: a training that does not end is a mistake


class Training(Protocol):
    """What `make()` returns."""

    @property
    def objects(self) -> Mapping[str, Any]:
        """For samerun.state.save; an attribute will do."""

    def step(self) -> Any:
        """One optimizer step; raises StopIteration when the training is over."""


def assert_resumes_everywhere(make: Callable[[], Training], *, seed: int = 0, mode: Mode = "strict") -> None:
    """Interrupt a training after every step, resume it from its checkpoint, and compare each later step.

    `make()` builds everything anew and returns an object with `step()`, which makes one optimizer step and
    raises StopIteration at the end, and with `objects`, the mapping to give to `samerun.state.save`. A plain
    value in `objects` is put back as the attribute of that name.

    The training runs once without and once with a checkpoint after every step (and before the first); then
    once from each checkpoint, as the same command started again would: controlled with the same seed, made
    anew, the generators then left somewhere else, and loaded. Compared, bit for bit, after each step: what
    `step()` returned, gradients, every object's state, every generator; and at the end also what the returned
    object holds outside of `objects`: modules, anything with `state_dict()`, tensors, arrays, generators. So
    an average of the weights that was forgotten is found. n steps cost about n * (n + 5) / 2.

    Raises AssertionError naming the step, the first quantity that differs and, when it can be found out, what
    was not saved or not restored; UsageError when `make()` does not give such an object.
    """
    with isolate_rng(), tempfile.TemporaryDirectory(prefix="samerun-") as folder:
        trial = _Trial(make, seed, mode, Path(folder))
        whole = trial.whole()
        trial.with_checkpoints(whole)
        for done in range(len(whole)):
            trial.resumed(whole, done)


class _Trial:
    """One training, made again and again."""

    def __init__(self, make: Callable[[], Training], seed: int, mode: Mode, folder: Path) -> None:
        self._make = make
        self._control = control(seed, mode=mode)
        self._folder = folder
        self._first: Training | None = None

    def whole(self) -> list[Moment]:
        """The moments after each step of the training that is left alone, and that after its end."""
        with self._control:
            self._first = self._made()
            moments = list(_walk_moments(self._first))
        if len(moments) == 1:
            raise UsageError("step() raised StopIteration at once: there is no step to interrupt after")
        return moments

    def with_checkpoints(self, whole: list[Moment]) -> None:
        """Save before the first step and after each, and see that this changes nothing."""
        with self._control:
            training = self._made()
            state.save(self._checkpoint(0), **training.objects)
            for done, (expected, now) in enumerate(zip(whole, _walk_moments(training), strict=False), 1):
                if not expected.same_as(now):
                    raise AssertionError(
                        "without any interruption, the training does not repeat: "
                        f"{_describe_first(expected, now, done, 'second')}. Either it is not the same twice "
                        "(assert_same_run tells), or to save it changes it"
                    )
                if not now.over:
                    state.save(self._checkpoint(done), **training.objects)

    def resumed(self, whole: list[Moment], done: int) -> None:
        """Go on from the checkpoint after `done` steps."""
        with self._control:
            where = self._parting(whole, done)
        if where is not None:
            raise AssertionError(
                f"interrupted after step {done} of {len(whole) - 1} and resumed, the training is not the "
                f"same: {where}. {self._forgotten(done)}".rstrip()
            )

    def _parting(self, whole: list[Moment], done: int) -> str | None:
        """Where the resumed training parts from the whole one, in words."""
        resumed = _walk_moments(self._restarted(done))
        for number, (expected, now) in enumerate(zip(whole[done:], resumed, strict=False), done + 1):
            if number == done + 1 and now.over:  # without a step, there is no last batch and the like to hold
                expected, now = (replace(each, unsaved=()) for each in (expected, now))
            if not expected.same_as(now):
                return _describe_first(expected, now, number, "resumed")
        return None

    def _forgotten(self, done: int) -> str:
        """What a training just resumed has not as the one that went on."""
        with self._control:
            training = self._made()
            for _ in range(done):
                training.step()
            before = list_holdings(training)
        with self._control:
            after = list_holdings(self._restarted(done))
        return describe_forgotten(before, after)

    def _restarted(self, done: int) -> Training:
        """As the same command started again has it: made anew, then loaded."""
        training = self._made()
        for source in list_generators():  # loading must put them back, wherever they are
            source.reseed(stream_seed(done, "polluted", source.id))
        try:
            plain = state.load(self._checkpoint(done), **training.objects)
        except StateError as error:
            raise AssertionError(
                f"interrupted after step {done}, the training cannot be resumed: {error}"
            ) from error
        for name, value in plain.items():
            if value is training.objects[name]:
                continue  # a tensor, list or dict, written in place
            if not hasattr(training, name):
                raise UsageError(
                    f"objects has the plain value {name!r}, but a {type(training).__name__} has no attribute "
                    f"{name!r} to put it back to"
                )
            setattr(training, name, value)
        return training

    def _made(self) -> Training:
        """A new training. Raises UsageError when it is none, or shares an object with the first."""
        training = self._make()
        objects = getattr(training, "objects", None)
        if not isinstance(objects, Mapping) or not callable(getattr(training, "step", None)):
            raise UsageError(
                f"make() returned a {type(training).__name__}; it needs step(), and objects: a mapping of "
                "names to what samerun.state.save is to keep"
            )
        if self._first is not None:
            shared = [
                name for name, value in objects.items() if _is_shared(value, self._first.objects.get(name))
            ]
            if shared:
                raise UsageError(f"make() must make everything anew, but returned the same {shared[0]} twice")
        return training

    def _checkpoint(self, done: int) -> Path:
        return self._folder / f"step{done}.pt"


def _walk_moments(training: Training) -> Iterator[Moment]:
    """After each step, and after the last."""
    for _ in range(_MANY):
        try:
            result = training.step()
        except StopIteration:
            yield digest_end(training)
            return
        yield digest_step(training, result)
    raise UsageError(f"step() has not raised StopIteration in {_MANY} calls; give it a short training")


def _describe_first(expected: Moment, now: Moment, number: int, which: str) -> str:
    """Where two unequal moments part first, in words."""
    if expected.over:
        if not now.over:
            return f"the {which} run makes a step {number}, and the first one ended after step {number - 1}"
    elif now.over:
        return f"the {which} run ends after step {number - 1}, and the first one makes step {number}"
    when = "at the end" if expected.over else f"in step {number}"
    return f"{when}, {describe_difference(expected.difference(now), 'the first run', f'the {which} one')}"


def _is_shared(value: Any, first: Any) -> bool:
    return value is first and callable(getattr(value, "state_dict", None))
