"""cuDNN's choice of algorithm by timing: https://pytorch.org/docs/stable/backends.html#torch.backends.cudnn.benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.base.setting import Setting
from samerun.sources.evidence import op_families
from samerun.sources.patching.held_flags import Flag
from samerun.sources.source import Kind, Label, Settings, Variant

if TYPE_CHECKING:
    from samerun.editing.user_program import Code


class CudnnBenchmark(Setting):
    """`torch.backends.cudnn.benchmark = True`: the fastest algorithm of the moment."""

    id = "cudnn-benchmark"
    summary = "cuDNN benchmarks its algorithms and picks the fastest, which can differ between runs"
    advice = "torch.backends.cudnn.benchmark = False"
    kind = Kind.KERNEL
    price = Label(2, "cudnn.benchmark off")
    held = (Flag("torch.backends.cudnn", "benchmark", "_set_cudnn_benchmark", False),)

    def read(self) -> dict[str, Any]:
        """The flag."""
        import torch

        return {"benchmark": torch.backends.cudnn.benchmark}

    def write(self, values: Mapping[str, Any]) -> None:
        """Set the flag."""
        import torch

        torch.backends.cudnn.benchmark = values["benchmark"]

    def repeatable(self, control: Control) -> Mapping[str, Any]:
        """No timing."""
        return {"benchmark": False}

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """The other of on and off, on CUDA devices."""
        if not settings.get("hardware", {}).get("devices"):
            return ()
        values = {"benchmark": not settings.get(self.id, {}).get("benchmark")}
        word = "on" if values["benchmark"] else "off"
        return [Variant(f"cudnn.benchmark {word}", values, expects=values, likely=0.5)]

    def has_price_in(self, settings: Settings) -> bool:
        """Where CUDA devices are in use."""
        return op_families.has_devices(settings)

    def recognise(self, difference: Difference) -> Evidence | None:
        """A convolution or recurrent layer on CUDA is the origin, and the flag was on."""
        if not op_families.is_cudnn(difference) or not op_families.has_flag(difference, self.id, "benchmark"):
            return None
        assert difference.origin is not None
        text = f"{difference.origin.op} gave other bits for equal inputs, and cudnn.benchmark was on"
        return Evidence(self.id, Strength.SEEN, text, difference.origin.call_site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """The flag, off."""
        from samerun.sources.edits import flags

        return flags.assign_flag(code, "torch.backends.cudnn.benchmark", "False")
