"""TensorFloat-32: https://pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit
from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources.base.setting import Setting
from samerun.sources.evidence import rows, settings_diff
from samerun.sources.patching import precision_changes
from samerun.sources.source import Journal, Kind, Settings, Undo, Variant

if TYPE_CHECKING:
    from samerun.editing.user_program import Code


class Tf32(Setting):
    """float32 products computed with 10 bits of mantissa: repeatable, so left alone unless asked for."""

    id = "tf32"
    summary = "float32 matrix products and convolutions may be computed at lower precision"
    advice = 'torch.set_float32_matmul_precision("highest"); torch.backends.cudnn.allow_tf32 = False'
    kind = Kind.NUMERICS
    must_agree = ("matmul", "cudnn")
    modes = ()

    def read(self) -> dict[str, Any]:
        """The precision of products, and whether convolutions may use TF32."""
        import torch

        try:
            matmul = torch.get_float32_matmul_precision()
        except RuntimeError:  # the user sets it by the newer fp32_precision, and torch refuses to mix them
            matmul = torch.backends.cuda.matmul.fp32_precision
        return {"matmul": matmul, "cudnn": torch.backends.cudnn.allow_tf32}

    def write(self, values: Mapping[str, Any]) -> None:
        """As torch's own functions do."""
        import torch

        if values["matmul"] in ("highest", "high", "medium"):
            torch.set_float32_matmul_precision(values["matmul"])
        else:
            torch.backends.cuda.matmul.fp32_precision = values["matmul"]
        torch.backends.cudnn.allow_tf32 = values["cudnn"]

    def observe(self, journal: Journal) -> Undo | None:
        """Note where the script changes it."""
        return precision_changes.note(journal, self)

    def repeatable(self, control: Control) -> Mapping[str, Any]:
        """Full float32."""
        return {"matmul": "highest", "cudnn": False}

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """The other of on and off, for convolutions and products, on CUDA devices."""
        if not settings.get("hardware", {}).get("devices"):
            return ()
        on = not settings.get(self.id, {}).get("cudnn")
        values = {"matmul": "high" if on else "highest", "cudnn": on}
        return [Variant(f"TF32 {'on' if on else 'off'}", values, expects=values, likely=0.8)]

    def recognise(self, difference: Difference) -> Evidence | None:
        """The runs had other settings."""
        return settings_diff.find_differing(self.id, difference, site=rows.find_setting(difference, self.id))

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Full float32 for what was set otherwise."""
        from samerun.sources.edits import flags

        a, b = (side.settings.get(self.id, {}) for side in (difference.a, difference.b))
        edits: list[Edit] = []
        if a.get("cudnn") != b.get("cudnn"):
            edits += flags.assign_flag(code, "torch.backends.cudnn.allow_tf32", "False")
        if a.get("matmul") != b.get("matmul") or not edits:
            edits += flags.call_function(code, "torch.set_float32_matmul_precision", '"highest"')
        return edits
