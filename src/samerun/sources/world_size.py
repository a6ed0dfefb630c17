"""How many processes train together: https://docs.pytorch.org/docs/stable/elastic/run.html."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from samerun.sources.source import Kind, Settings, Source, Variant

_OPTION = re.compile(r"(--nproc[-_]per[-_]node|--num[-_]processes)(?:=(.*))?")


class WorldSize(Source):
    """Gradients of several ranks are added in another order, and each rank has its own part of the data."""

    id = "world-size"
    summary = "another number of ranks groups the samples differently, and adds gradients in another order"
    advice = "compare trainings with the same number of ranks"
    kind = Kind.NUMERICS
    controllable = False

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """One and two processes, for a command that says how many (torchrun, accelerate launch)."""
        return [
            Variant(
                f"{n} process{'' if n == 1 else 'es'}",
                likely=0.8,
                runs=1.5,
                compares="weights",
                rewrite=_make_rewrite(n),
            )
            for n in (1, 2)
        ]


def _make_rewrite(count: int) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """The command with another number of processes; the same command where it says none, or this one."""

    def rewrite(command: tuple[str, ...]) -> tuple[str, ...]:
        words = list(command)
        for at, word in enumerate(words):
            found = _OPTION.fullmatch(word)
            if found is None:
                continue
            if found[2] is not None:
                words[at] = f"{found[1]}={count}"
            elif at + 1 < len(words):
                words[at + 1] = str(count)
            break
        return tuple(words)

    return rewrite
