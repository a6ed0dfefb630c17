"""Which vector instructions the CPU's libraries use.

ATen: https://docs.pytorch.org/docs/stable/miscellaneous_environment_variables.html (ATEN_CPU_CAPABILITY);
oneDNN: https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html;
MKL: https://www.intel.com/content/www/us/en/docs/onemkl (MKL_CBWR, MKL_ENABLE_INSTRUCTIONS).
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from samerun.errors import UsageError
from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources.evidence import settings_diff
from samerun.sources.source import Kind, Label, Settings, Source, Undo, Variant

PINNED = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Prescott",  # numpy's: the oldest kernel that every x86-64 can run
}
_VARIED = (
    ("ATen", "ATEN_CPU_CAPABILITY", (("default", 0.8), ("avx2", 0.6))),
    ("oneDNN", "ONEDNN_MAX_CPU_ISA", (("SSE41", 0.6), ("AVX2", 0.5))),
    ("MKL", "MKL_CBWR", (("COMPATIBLE", 0.7), ("AVX2", 0.5))),
)


class CpuIsa(Source):
    """ATen, oneDNN and MKL each take the widest instructions of the processor: sums are split otherwise."""

    id = "cpu-isa"
    summary = "the CPU's libraries use the widest instructions of the processor, and round accordingly"
    advice = (
        "samerun run --mode portable; or ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE in the environment"
    )
    kind = Kind.NUMERICS
    price = Label(8, "instructions that every processor has")
    modes = ("portable",)
    hooks_into = "torch"

    def environment(self, control: Control) -> Mapping[str, str]:
        """The instructions that every x86-64 processor has; nothing on other processors.

        Raises UsageError when the user asks for others.
        """
        if not _is_x86():
            return {}
        for name, value in PINNED.items():
            if (own := os.environ.get(name, value)) != value:
                raise UsageError(
                    f"{name}={own!r} is not what mode portable pins ({value}); unset it, or use mode strict"
                )
        return PINNED

    def control(self, control: Control) -> Undo | None:
        """Without oneDNN, whose kernels are made for the processor."""
        mkldnn = _get_mkldnn()
        before = mkldnn.enabled
        mkldnn.enabled = False
        return lambda: setattr(mkldnn, "enabled", before)

    def describe(self) -> Mapping[str, Any]:
        """What ATen uses, whether oneDNN is on, and the variables that decide."""
        import torch

        names = (*PINNED, *(name for _, name, _ in _VARIED), "MKL_ENABLE_INSTRUCTIONS")
        variables = {name: value for name in names if (value := os.environ.get(name)) is not None}
        return {
            "aten": torch.backends.cpu.get_cpu_capability(),
            "onednn": bool(_get_mkldnn().enabled),
            **variables,
        }

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """For each library what older processors have."""
        if not _is_x86():
            return ()
        now = settings.get(self.id, {})
        found = []
        for library, name, values in _VARIED:
            for value, likely in values:
                if now.get(name) == value or (library == "ATen" and now.get("aten") == value.upper()):
                    continue
                expects: dict[str, Any] = {name: value}
                if library == "ATen":
                    expects["aten"] = value.upper()
                found.append(Variant(f"{library}: {value}", None, {name: value}, expects, likely))
        return found

    def recognise(self, difference: Difference) -> Evidence | None:
        """The runs computed with other instructions."""
        return settings_diff.find_differing(self.id, difference)


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def _get_mkldnn() -> Any:
    import torch

    return torch.backends.mkldnn
