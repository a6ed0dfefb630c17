"""CUDA streams: https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from samerun import callsite
from samerun.errors import TooLate
from samerun.runs.difference import Difference, Evidence, Origin, Strength
from samerun.runs.plan import Control
from samerun.sources.evidence import rows
from samerun.sources.source import Journal, Kind, Source, Undo
from samerun.wrapping import SELF, wrap_attribute

_VARIABLE = "CUDA_LAUNCH_BLOCKING"
_COPIES = ("aten.copy_.", "aten._to_copy.")


class StreamRace(Source):
    """Work of two streams that is not ordered by an event: one reads what the other has not written yet.

    The control waits for each kernel before the next is launched, whatever its stream. That is slow, so no
    mode has it.
    """

    id = "stream-race"
    summary = "work on a CUDA stream is used by another one, or by the host, before it is done"
    advice = (
        "torch.cuda.current_stream().wait_stream(side) before what the side stream made is used, "
        "side.wait_stream(torch.cuda.current_stream()) before it reads, tensor.record_stream(side), and "
        "event.synchronize() before a pinned buffer is filled again"
    )
    cannot_mend = "wait for the other stream where its result is used: " + advice
    kind = Kind.ORDER
    hooks_into = "torch"
    evidence = "stream"
    hides = True

    def __init__(self) -> None:
        self._sites: set[str] = set()

    def environment(self, control: Control) -> Mapping[str, str]:
        """One kernel at a time."""
        return {_VARIABLE: "1"}

    def control(self, control: Control) -> Undo | None:
        """The variable is all; it is read when CUDA starts. Raises TooLate after that."""
        import torch

        cuda: Any = torch.cuda
        if cuda.is_initialized() and os.environ.get(_VARIABLE) != "1":
            raise TooLate(
                f"CUDA is already in use: set {_VARIABLE}=1 in the environment, or call samerun before the "
                "first CUDA operation"
            )
        return None

    def observe(self, journal: Journal) -> Undo | None:
        """Note each line that works on a stream of its own."""
        import torch

        def enter(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            # torch's own streams, as of FSDP, are torch's to order
            if (
                getattr(SELF.of(args, kwargs, None), "stream", None) is not None
                and callsite.is_called_directly()
            ):
                frame = callsite.find_user_frame(2)
                site = None if frame is None else callsite.call_site(frame)
                if site is not None and site not in self._sites:  # once for each line
                    self._sites.add(site)
                    journal.note("stream", "torch.cuda.stream", user_only=True)
            return original(*args, **kwargs)

        context: Any = torch.cuda.StreamContext
        return wrap_attribute(context, "__enter__", enter)

    def recognise(self, difference: Difference) -> Evidence | None:
        """Streams were in use, and what differs came of no other random number."""
        origin = difference.origin
        if origin is not None and is_torn_copy(origin):
            text = f"{origin.op} copied other bits than were there: they were written while it was on its way"
            return Evidence(self.id, Strength.SEEN, text, origin.call_site)
        taken = rows.list_racing(difference, "stream")
        if not taken or rows.has_rng_difference(difference):
            return None
        if origin is not None and (origin.draws or origin.reads_uninitialized):
            return None
        if any(rows.find_first_differing(difference, what) for what in ("seed", "listing")):
            return None
        site = taken[-1].call_site
        text = f"work on streams of its own, by {taken[-1].name} at {site}, may not be done when it is used"
        if difference.gap is not None:
            text += f": memory changed between {difference.gap.seen_at} and {difference.gap.met_at}"
            return Evidence(self.id, Strength.STRONG, text, site)
        known = origin is not None and origin.inputs_equal
        return Evidence(self.id, Strength.SLIGHT if known else Strength.PLAUSIBLE, text, site)


def is_torn_copy(origin: Origin) -> bool:
    """Whether a copy of equal bits gave others, which no copy does by itself."""
    return origin.inputs_equal and origin.op.startswith(_COPIES)
