"""How many threads compute one operation: https://pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit
from samerun.errors import UsageError
from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources.evidence import settings_diff
from samerun.sources.source import Kind, Label, Settings, Source, Undo, Variant
from samerun.wrapping import undo_all, wrap_attribute

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Threads(Source):
    """Sums are split among threads, so their number is part of the result.

    Mode `portable` holds it at one.
    """

    id = "threads"
    summary = "sums are split among threads: another number of threads changes the low-order bits"
    advice = "torch.set_num_threads(4)  # the same number everywhere; or OMP_NUM_THREADS=4 in the environment"
    kind = Kind.NUMERICS
    variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    must_agree = ("intra",)
    price = Label(7, "one thread")
    modes = ("portable",)
    hooks_into = "torch"

    def environment(self, control: Control) -> Mapping[str, str]:
        """One thread. Raises UsageError when the user asks for another number."""
        for name in _VARIABLES:
            if (own := os.environ.get(name, "1")) != "1":
                raise UsageError(f"{name}={own!r} is not the one thread that is asked for; unset it")
        return dict.fromkeys(_VARIABLES, "1")

    def control(self, control: Control) -> Undo | None:
        """One thread, the only number that every machine has."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        return lambda: torch.set_num_threads(before)

    def describe(self) -> Mapping[str, Any]:
        """Threads within and between operations, and the variables that set them."""
        import torch

        return {
            "intra": torch.get_num_threads(),
            "inter": torch.get_num_interop_threads(),
            **{name: os.environ.get(name) for name in _VARIABLES},
        }

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another number of threads, whatever the script asks for."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(value)

        def keep(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return original(value) if len(args) == 1 and not kwargs else original(*args, **kwargs)

        undo = wrap_attribute(torch, "set_num_threads", keep)
        took()
        return undo_all([lambda: torch.set_num_threads(before), undo])

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """One, two, and as many as there are processors."""
        now = settings.get(self.id, {}).get("intra")
        counts = {1, 2, settings.get("hardware", {}).get("cpus") or 1} - {now}
        return [
            Variant(
                f"{n} thread{'' if n == 1 else 's'}",
                n,
                dict.fromkeys(_VARIABLES, str(n)),
                expects={"intra": n},
                likely=0.9,
            )
            for n in sorted(counts)
        ]

    def recognise(self, difference: Difference) -> Evidence | None:
        """The runs had another number of threads."""
        return settings_diff.find_differing(self.id, difference, keys=("intra",))

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """The number that run A had, set by the script."""
        from samerun.sources.edits import flags

        number = difference.a.settings.get(self.id, {}).get("intra", 1)
        return flags.call_function(code, "torch.set_num_threads", str(number))
