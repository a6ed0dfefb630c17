"""cuDNN's algorithms that do not repeat: https://pytorch.org/docs/stable/backends.html#torch.backends.cudnn.deterministic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.base.setting import Setting
from samerun.sources.evidence import op_families
from samerun.sources.patching.held_flags import Flag
from samerun.sources.source import Kind, Label, Settings

if TYPE_CHECKING:
    from samerun.editing.user_program import Code


class CudnnNondeterministic(Setting):
    """Convolution gradients by atomic additions, unless `torch.backends.cudnn.deterministic` is set."""

    id = "cudnn-nondeterministic"
    summary = "cuDNN may use algorithms that give other bits each time"
    advice = "torch.backends.cudnn.deterministic = True"
    kind = Kind.KERNEL
    price = Label(3, "cudnn.deterministic on")
    held = (Flag("torch.backends.cudnn", "deterministic", "_set_cudnn_deterministic", True),)

    def read(self) -> dict[str, Any]:
        """The flag, and whether cuDNN is used at all."""
        import torch

        cudnn = torch.backends.cudnn
        return {"deterministic": cudnn.deterministic, "enabled": cudnn.enabled}

    def write(self, values: Mapping[str, Any]) -> None:
        """Set the flags that are given."""
        import torch

        for name, value in values.items():
            setattr(torch.backends.cudnn, name, value)

    def repeatable(self, control: Control) -> Mapping[str, Any]:
        """Deterministic algorithms; no cuDNN at all when the control says so."""
        return {"deterministic": True, **({"enabled": False} if control.disable_cudnn else {})}

    def has_price_in(self, settings: Settings) -> bool:
        """Where CUDA devices are in use."""
        return op_families.has_devices(settings)

    def recognise(self, difference: Difference) -> Evidence | None:
        """A convolution or recurrent layer on CUDA is the origin, and nothing asked for determinism."""
        if not op_families.is_cudnn(difference) or op_families.is_deterministic(difference):
            return None
        assert difference.origin is not None
        benchmarked = op_families.has_flag(difference, "cudnn-benchmark", "benchmark")
        text = f"{difference.origin.op} gave other bits for equal inputs, and cudnn.deterministic was off"
        return Evidence(
            self.id, Strength.STRONG if benchmarked else Strength.SEEN, text, difference.origin.call_site
        )

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """The flag, on."""
        from samerun.sources.edits import flags

        return flags.assign_flag(code, "torch.backends.cudnn.deterministic", "True")
