"""The machine."""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

from samerun.runs.difference import Difference, Evidence, Strength
from samerun.sources.evidence import settings_diff
from samerun.sources.source import Kind, Source


class Hardware(Source):
    """Processor, its instruction sets, and accelerators: other machines round differently."""

    id = "hardware"
    summary = "the runs were made on other hardware"
    advice = "compare runs of one machine, or of machines with the same processor and accelerator"
    kind = Kind.PROVENANCE
    must_agree = ("processor", "capability", "devices", "cuda", "cudnn")
    controllable = False
    hooks_into = "torch"

    def describe(self) -> Mapping[str, Any]:
        """The processor, the number of them, what torch makes of it, and the CUDA devices in use."""
        found: dict[str, Any] = {"processor": _read_processor(), "cpus": _count_cpus()}
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            found["capability"] = torch.backends.cpu.get_cpu_capability()
            if torch.cuda.is_initialized():
                count = torch.cuda.device_count()
                found["devices"] = [torch.cuda.get_device_name(index) for index in range(count)]
                found["compute_capability"] = sorted(
                    {torch.cuda.get_device_capability(i) for i in range(count)}
                )
                found["driver"] = _read_driver()
                found["nccl"] = _read_nccl(torch)
                found["cuda"] = torch.version.cuda
                found["cudnn"] = torch.backends.cudnn.version()
        return found

    def recognise(self, difference: Difference) -> Evidence | None:
        """Another processor, capability or accelerator."""
        keys = ("processor", "capability", "devices", "cuda", "cudnn")
        found = settings_diff.find_differing(self.id, difference, keys=keys)
        if found is not None:
            return found
        changed = settings_diff.describe_changed(
            difference.a.manifest.get("platform"), difference.b.manifest.get("platform")
        )
        return None if changed is None else Evidence(self.id, Strength.STRONG, changed)


def _read_driver() -> str | None:
    """The version of NVIDIA's kernel driver, None without one."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as file:
            found = re.search(r"\b\d+\.\d+(?:\.\d+)?\b", file.readline())
    except OSError:
        return None
    return None if found is None else found[0]


def _read_nccl(torch: Any) -> str | None:
    try:
        return ".".join(map(str, torch.cuda.nccl.version()))
    except (AttributeError, RuntimeError):  # a build without it
        return None


@functools.cache
def _read_processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()


def _count_cpus() -> int | None:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count()
