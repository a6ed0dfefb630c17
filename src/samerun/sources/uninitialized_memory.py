"""Memory read before it was written: https://pytorch.org/docs/stable/generated/torch.empty.html."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.base.setting import Setting
from samerun.sources.evidence import rows
from samerun.sources.patching import attribute, deterministic, imported, numpy_empty, zeroed_memory
from samerun.sources.source import Journal, Kind, Label, Settings, Undo, Variant

if TYPE_CHECKING:
    from samerun.editing.user_program import Code


class UninitializedMemory(Setting):
    """`torch.empty` and its kin give whatever the memory held; the result then depends on what ran before.

    On request it is zeros, which a process that has just begun gets most of the time. With the value "nan"
    torch fills it with NaN or the largest integer, which shows where it is read, and is no value that the
    training would have had. Torch does that only with deterministic algorithms on, so these are turned on,
    warning only, where they are off. NumPy's arrays are zeros either way.
    """

    id = "uninitialized-memory"
    gives = re.compile(r"(torch|numpy)\.(empty|empty_like|empty_strided)|.*\.(new_empty|resize_)")
    summary = "torch.empty gives whatever the memory held before"
    advice = "torch.zeros(…) instead of torch.empty(…), or write every element before reading one"
    kind = Kind.MEMORY
    fills = True
    evidence = "unwritten"
    buys = "shows memory that is read before it is written; the bits do not need it"
    price = Label(6, "uninitialised memory filled")
    modes = ()
    also_hooks_into = (numpy_empty.MODULE,)

    def __init__(self) -> None:
        super().__init__()
        self._observed = self._zeroed = False

    def environment(self, control: Control) -> Mapping[str, str]:
        """For zeros: what keeps the C library from handing out memory that it did not clear."""
        return {} if control.fill == "nan" else zeroed_memory.build_environment()

    def control(self, control: Control) -> Undo | None:
        """Fill, in what is imported by now."""
        undos: list[Undo] = []
        if not self._zeroed and numpy_empty.are_there():
            self._zeroed = True
            undos += [lambda: setattr(self, "_zeroed", False), numpy_empty.zero()]
        if imported.has("torch", "use_deterministic_algorithms"):
            filled = super().control(control) if control.fill == "nan" else zeroed_memory.zero()
            undos += [filled] if filled is not None else []
        return attribute.undo_all(undos)

    def observe(self, journal: Journal) -> Undo | None:
        """Note NumPy's arrays that nothing has written; tier ops notes those of torch."""
        if self._observed or not numpy_empty.are_there():
            return None
        self._observed = True
        return attribute.undo_all([lambda: setattr(self, "_observed", False), numpy_empty.note_uses(journal)])

    def read(self) -> dict[str, Any]:
        """The fill, and the mode that it depends on."""
        import torch

        return {
            "fill": deterministic.get_memory_module().fill_uninitialized_memory,
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        }

    def write(self, values: Mapping[str, Any]) -> None:
        """As torch's own functions do."""
        deterministic.get_memory_module().fill_uninitialized_memory = values["fill"]
        deterministic.switch(values["deterministic"], values["warn_only"])

    def repeatable(self, control: Control) -> Mapping[str, Any]:
        """Fill with NaN."""
        now = self.read()
        warn_only = now["warn_only"] if now["deterministic"] else True
        return {"fill": True, "deterministic": True, "warn_only": warn_only}

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Two patterns with which the C library fills what it hands out (glibc's M_PERTURB, mallopt(3)).

        Nothing of torch's own changes, so that operations stay the same ones.
        """
        return [
            Variant(
                f"memory filled with 0x{n:02x}", environment={"MALLOC_PERTURB_": str(n ^ 0xFF)}, likely=0.15
            )
            for n in (0x55, 0x7F)
        ]

    def recognise(self, difference: Difference) -> Evidence | None:
        """The origin read memory that nothing had written; what was made so may have brought it in.

        Operations before the first step are not recorded: there, parameters that no generator explains.
        """
        origin = difference.origin
        if origin is not None and origin.reads_uninitialized:
            text = f"{origin.op} read memory that nothing had written"
            if origin.made_at is not None:
                return Evidence(self.id, Strength.SEEN, f"{text}, made at {origin.made_at}", origin.made_at)
            return Evidence(self.id, Strength.SEEN, text, origin.call_site or _find_next_origin(difference))
        later = self._of_later(difference)
        if later is not None or (origin is not None and origin.inputs_equal) or rows.is_explained(difference):
            return later
        return self._of_arrays(difference) or self._of_workers(difference) or self._of_parameters(difference)

    def _of_later(self, difference: Difference) -> Evidence | None:
        """What differs before the training: weights of such memory, or what was freed there."""
        if difference.what not in ("operation", "parameters", "buffers") or difference.phase != "setup":
            return None
        for item in difference.further:
            if item.kind == "origin" and item.reads_uninitialized:
                at = item.made_at or item.call_site
                text = f"{item.op} read memory that nothing had written, later"
                return Evidence(self.id, Strength.FAIR, text, at, of_later=True)
        return None

    def _of_parameters(self, difference: Difference) -> Evidence | None:
        if (difference.phase, difference.what) != ("setup", "parameters") or difference.gap is not None:
            return None  # nor where somebody was seen to write there
        text = "the parameters differ as they were made, and no generator that was drawn from does"
        # Filled memory also lies elsewhere, which may decide the order of a set: a few runs agree by luck.
        return Evidence(self.id, Strength.LAST_RESORT, text)

    def _of_workers(self, difference: Difference) -> Evidence | None:
        """The operations of a DataLoader's workers are not recorded: what the code says of memory there."""
        from samerun.sources.edits import unwritten_memory

        if difference.what != "batch" or not difference.in_workers or not difference.same_samples:
            return None
        code = rows.read_code(difference.a)
        sites = [] if code is None else unwritten_memory.list_sites(code)
        if not sites:
            return None
        text = f"the same samples came from workers with other values, and {sites[0]} makes memory unwritten"
        return Evidence(self.id, Strength.POSSIBLE, text, sites[0])

    def _of_arrays(self, difference: Difference) -> Evidence | None:
        arrays = difference.a.rows("unwritten")
        if not arrays:
            return None
        made = arrays[-1]
        text = f"{made.name} at {made.call_site} gives what the memory held before, and data differs after it"
        if made.name != "torch.empty":
            return Evidence(
                self.id, Strength.PLAUSIBLE, text, made.call_site, "np.zeros(…) instead of np.empty(…)"
            )
        return Evidence(self.id, Strength.FAIR, f"{text}; it was written in part", made.call_site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Zeros where the memory is made."""
        from samerun.sources.edits import unwritten_memory

        edits = unwritten_memory.write_zeros(code, site)
        if not edits:
            read = "that is read" if site is None else f"that {site} reads"
            raise NoEdit(f"no line of the script makes the memory {read}: {self.advice}")
        return edits


def _find_next_origin(difference: Difference) -> str | None:
    """Where the user's own code meets it first, when a library did before: `copy.deepcopy` of a model."""
    return next((item.call_site for item in difference.further if item.kind == "origin"), None)
