"""Fused attention: https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.base.setting import Setting
from samerun.sources.evidence import op_families
from samerun.sources.source import Kind, Label, Settings, Variant

if TYPE_CHECKING:
    from samerun.editing.user_program import Code


class AttentionBackend(Setting):
    """Flash, memory-efficient and cuDNN attention add gradients in whatever order their blocks finish.

    Under strict deterministic algorithms torch makes the first two repeatable and does not select the third,
    so they stay on. Where only warnings are asked for, torch leaves them as they are; samerun.ops makes them
    repeatable then, and without it only the plain implementation is kept.
    """

    id = "attention-backend"
    summary = "the backward pass of fused attention on CUDA gives other bits each time"
    advice = (
        "torch.use_deterministic_algorithms(True), or turn the fused backends off: torch.backends.cuda."
        "enable_flash_sdp(False), enable_mem_efficient_sdp(False) and enable_cudnn_sdp(False)"
    )
    kind = Kind.KERNEL
    price = Label(4, "attention by repeatable implementations")

    def read(self) -> dict[str, Any]:
        """Which implementations may be used."""
        import torch

        cuda: Any = torch.backends.cuda
        return {
            "flash": cuda.flash_sdp_enabled(),
            "mem_efficient": cuda.mem_efficient_sdp_enabled(),
            "math": cuda.math_sdp_enabled(),
            "cudnn": cuda.cudnn_sdp_enabled(),
        }

    def write(self, values: Mapping[str, Any]) -> None:
        """Allow or forbid those that are given."""
        import torch

        for name, value in values.items():
            getattr(torch.backends.cuda, f"enable_{name}_sdp")(value)

    def repeatable(self, control: Control) -> Mapping[str, Any]:
        """Without cuDNN's; without the other two as well where nothing makes them repeatable."""
        from samerun import ops

        fused = _is_strict(control) and (control.mode != "warn" or ops.available())
        plain = {"flash": False, "mem_efficient": False, "math": True}
        return {"cudnn": False} if fused else {"cudnn": False, **plain}

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Each implementation alone, on CUDA devices."""
        if not settings.get("hardware", {}).get("devices"):
            return ()
        names = ("flash", "mem_efficient", "math")
        alone = {name: {other: other == name for other in (*names, "cudnn")} for name in names}
        return [
            Variant(f"attention by {name} alone", values, expects=values, likely=0.3)
            for name, values in alone.items()
        ]

    def has_price_in(self, settings: Settings) -> bool:
        """Where CUDA devices are in use."""
        return op_families.has_devices(settings)

    def recognise(self, difference: Difference) -> Evidence | None:
        """The backward pass of fused attention is the origin."""
        if not op_families.is_attention_backward(difference):
            return None
        assert difference.origin is not None
        text = f"{difference.origin.op} gave other bits for equal inputs"
        return Evidence(self.id, Strength.SEEN, text, difference.origin.call_site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Deterministic algorithms, and never cuDNN's attention."""
        from samerun.sources.edits import flags

        return [
            *flags.call_function(code, "torch.use_deterministic_algorithms", "True"),
            *flags.call_function(code, "torch.backends.cuda.enable_cudnn_sdp", "False"),
        ]


def _is_strict(control: Control) -> bool:
    """Whether deterministic algorithms are controlled too."""
    return control.only is None or "nondeterministic-kernels" in control.only
