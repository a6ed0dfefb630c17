"""A stream of its own for one use of torch's default generators: what others draw does not move it."""

from __future__ import annotations

from typing import Any

from samerun.streams import stream_seed


class TorchStream:
    """While entered, torch's default generators (CPU, and CUDA once in use) are those of the stream.

    It goes on where it was left. Nests in itself without effect; not for several threads at once.
    """

    def __init__(self, seed: int, id_: str) -> None:
        self._seed = stream_seed(seed, id_)
        self._mine: list[Any] = []
        self._before: list[Any] = []
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        generators = _list_generators()
        self._before = [generator.get_state() for generator in generators]
        for at, generator in enumerate(generators):
            if at < len(self._mine):
                generator.set_state(self._mine[at])
            else:
                generator.manual_seed(stream_seed(self._seed, at))

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        generators = _list_generators()
        self._mine = [generator.get_state() for generator in generators]
        for generator, state in zip(generators, self._before, strict=False):
            generator.set_state(state)


def _list_generators() -> list[Any]:
    import torch

    cuda: Any = torch.cuda
    return [torch.default_generator, *(cuda.default_generators if cuda.is_initialized() else ())]
