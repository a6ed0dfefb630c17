"""The traceback of a launched process, which the summary of its launcher hides at the end of the output."""

from __future__ import annotations

import re
from collections.abc import Sequence

_START = "Traceback (most recent call last):"
_RANK = re.compile(
    r"(?P<rank>\[(?:rank)?\d+\]:) ?(?P<text>.*)", re.DOTALL
)  # as torch puts it before each line
# What torchrun, and accelerate and deepspeed, end with after a process of theirs has failed.
_LAUNCHERS = (
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
    "subprocess.CalledProcessError",
)


def find_launched_traceback(lines: Sequence[str]) -> list[str] | None:
    """The traceback of the process that failed first, None where no launcher speaks after it.

    Of exceptions that were raised while another was handled, the last.
    """
    if not any(line.startswith(_LAUNCHERS) for line in lines):
        return None
    tracebacks: dict[str, list[str]] = {}  # the last of each rank, in the order in which the ranks failed
    open_: dict[str, list[str]] = {}
    for line in lines:
        found = _RANK.match(line)
        rank, text = (found["rank"], found["text"]) if found else ("", line)
        if text == _START:
            open_[rank] = [text]
        elif rank in open_:
            open_[rank].append(text)
            if not text.startswith(" "):
                whole = open_.pop(rank)
                if not text.startswith(_LAUNCHERS):
                    tracebacks[rank] = whole
    return next(iter(tracebacks.values()), None)
