"""What recording adds to a training on a GPU besides time: waits for the device, copies from it, and memory.

    python benchmarks/bench_waits.py [--device cuda] [--steps 30] [--json FILE]

Each variant is a process that trains one model of models.py; torch's profiler counts what the process asked
of the device during the last two thirds of the steps. Waits are the runtime's calls that return once the
device has got so far; a copy to the host from memory that is not pinned is one too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

VARIANTS = ("plain", "steps", "ops")
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")
MODELS = ("cnn", "transformer")


def child(variant: str, model: str, folder: str, device: str, steps: int) -> None:
    """Train, and print what was counted."""
    if variant != "plain":
        from samerun.launching.bootstrap import start
        from samerun.runs.plan import Plan

        start(Plan(run=folder, tier="ops" if variant == "ops" else "steps"))
    import torch
    from models import MODELS as BUILD
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(0)
    torch.set_default_device(device)
    step = BUILD[model]()
    torch.set_default_device(None)
    warm = steps // 3
    for _ in range(warm):
        step()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device == "cuda")
    with profile(activities=activities) as profiler:
        for _ in range(steps - warm):
            step()
    seen = Counter(event.name for event in profiler.events())
    counted = steps - warm
    found: dict[str, Any] = {name: seen[name] / counted for name in WAITS if seen[name]}
    copies = sum(number for name, number in seen.items() if name.startswith("Memcpy DtoH"))
    found["copies to the host"] = copies / counted
    found["launches"] = seen["cudaLaunchKernel"] / counted
    found["launches by driver"] = seen["cuLaunchKernel"] / counted + seen["cuLaunchKernelEx"] / counted
    if device == "cuda":
        found["memory"] = torch.cuda.max_memory_allocated()
    print(json.dumps(found), flush=True)


def main() -> None:
    """Print a row for each model and variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for model in MODELS:
        for variant in VARIANTS:
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, "--child", variant, model, folder]
                command += [options.device, str(options.steps)]
                said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            row = figures.setdefault(model, {})[variant] = json.loads(said.splitlines()[-1])
            plain = figures[model]["plain"].get("memory")
            memory = f"  memory {row['memory'] / plain:.4f}" if plain else ""
            counts = [f"{name} {value:.2f}" for name, value in row.items() if name != "memory"]
            print(f"{model:12} {variant:6} a step: {', '.join(counts)}{memory}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5], int(sys.argv[6]))
    else:
        main()
