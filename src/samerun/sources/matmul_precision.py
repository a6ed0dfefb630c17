"""float32 products at lower precision: https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from samerun.runs.difference import Difference, Evidence
from samerun.sources.evidence import rows, settings_diff
from samerun.sources.patching import precision_changes
from samerun.sources.source import Journal, Kind, Settings, Source, Undo, Variant
from samerun.wrapping import MISSING, Parameter, undo_all, wrap_attribute


class MatmulPrecision(Source):
    """`torch.set_float32_matmul_precision`: "medium" computes with bfloat16, on CPUs too."""

    id = "matmul-precision"
    summary = "float32 matrix products may be computed with fewer bits"
    advice = 'torch.set_float32_matmul_precision("highest")  # the default'
    kind = Kind.NUMERICS
    controllable = False  # it does not vary by itself; tf32 holds it on request
    hooks_into = "torch"

    def describe(self) -> Mapping[str, Any]:
        """The precision; nothing where the script sets it by the newer fp32_precision."""
        import torch

        try:
            return {"precision": torch.get_float32_matmul_precision()}
        except RuntimeError:  # torch refuses to mix the two
            return {}

    def observe(self, journal: Journal) -> Undo | None:
        """Note where the script changes it."""
        return precision_changes.note(journal, self)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another precision, whatever the script asks for."""
        import torch

        before, set_ = torch.get_float32_matmul_precision(), torch.set_float32_matmul_precision
        set_(value)
        took()
        precision = Parameter("precision", 0)

        def keep(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if precision.of(args, kwargs) is not MISSING:
                args, kwargs = precision.put(args, kwargs, value)
            return original(*args, **kwargs)

        undo = wrap_attribute(torch, "set_float32_matmul_precision", keep)
        return undo_all([lambda: set_(before), undo])

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """The other two."""
        now = settings.get(self.id, {}).get("precision", "highest")
        return [
            Variant(f"precision {word}", word, expects={"precision": word}, likely=likely)
            for word, likely in (("highest", 0.4), ("high", 0.2), ("medium", 0.4))
            if word != now
        ]

    def recognise(self, difference: Difference) -> Evidence | None:
        """The runs had another precision."""
        return settings_diff.find_differing(self.id, difference, site=rows.find_setting(difference, self.id))
