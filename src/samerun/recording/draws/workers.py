"""In a DataLoader worker: the states that its generators begin with, in both tiers.

At tier `ops` also their states before each batch, and what it draws.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data._utils import fetch

from samerun import callsite, digest
from samerun.recording import dynamo_skip
from samerun.recording.draws.ledger import Draws, Generator
from samerun.recording.draws.worker_states import FirstBatches
from samerun.recording.ops.op_schema import own_generator
from samerun.recording.recorder import Recorder
from samerun.sources.per_sample.keying import HandedIndices
from samerun.wrapping import SELF, Parameter, wrap_attribute

_INDEX = Parameter("possibly_batched_index", 1)


class _TorchDraws(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the draws from torch's generators, which a worker has no records of operations for."""

    def __init__(self, draws: Draws) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._draws = draws
        self._apart: Callable[..., Any] | None = None  # draws, out of the compiler's sight

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Whether torch is to import the compiler with the first operation, to keep it out of every one."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether torch.compile is to compile as ever."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one operation."""
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        own = own_generator(kwargs)
        source = own or torch.default_generator
        name = f"torch-{source.device.type}" + (":generator" if own is not None else "")
        drawn = (
            Generator(name, lambda: digest.digest_tensor(source.get_state())),
            str(func),
            functools.partial(func, *args, **kwargs),
            lambda result: result,
            callsite.find_caller(),
        )
        if dynamo_skip.NAME not in sys.modules:
            return self._draws.through(*drawn)
        if self._apart is None:
            never_compiled: Callable[..., Any] = torch.compiler.disable
            self._apart = never_compiled(self._through)
        return self._apart(*drawn)

    def _through(self, *drawn: Any) -> Any:
        return self._draws.through(*drawn)


dynamo_skip.skip(_TorchDraws.__torch_dispatch__.__code__)


class _Worker:
    """Follows one worker process."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._batches = 0
        self._mode: _TorchDraws | None = None
        self._begun = FirstBatches(recorder)

    def begins(self, dataset: Any) -> None:
        """A batch is about to be made."""
        recorder = self._recorder
        if not recorder.cursor.in_worker:
            return
        self._begun.begins(dataset)
        if recorder.plan.tier != "ops":
            return
        if self._mode is None and recorder.journal.draws is not None:
            self._mode = _TorchDraws(recorder.journal.draws)
            self._mode.__enter__()  # type: ignore[no-untyped-call]  # until the process ends
        recorder.rngs.write()

    def ended(self, indices: Any) -> None:
        """The batch of these samples is made."""
        if self._recorder.cursor.in_worker:
            self._begun.made(indices)
            self._recorder.journal.write_draws(self._batches)
            self._batches += 1


def observe(recorder: Recorder) -> None:
    """Hook what makes the batches; a forked worker has a copy of this process's hooks."""
    worker = _Worker(recorder)
    begins, ended = recorder.guard(worker.begins), recorder.guard(worker.ended)
    for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        _wrap(fetcher, begins, ended)


def _wrap(fetcher: Any, begins: Callable[[Any], Any], ended: Callable[[Any], Any]) -> None:
    def fetched(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        index, fetching = _INDEX.of(args, kwargs, None), SELF.of(args, kwargs, None)
        if not isinstance(fetching, fetch._BaseDatasetFetcher):
            return original(*args, **kwargs)  # which says what is wrong
        dataset = fetching.dataset
        if getattr(dataset, "samerun_keyed", False):  # a view: what it shows is meant
            dataset = dataset.dataset
        if isinstance(index, HandedIndices):
            index = index.indices
        begins(dataset)
        try:
            return original(*args, **kwargs)
        finally:
            ended(index)

    wrap_attribute(fetcher, "fetch", fetched)
