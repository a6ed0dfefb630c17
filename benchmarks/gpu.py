"""Everything that needs a GPU, in under nine minutes: the tests, the selftest and the benchmarks.

    python benchmarks/gpu.py [--json gpu.json] [--device cuda] [--only ops strict]
    python benchmarks/gpu.py --only repeats  # each operation 1,000 times beside other work

Each part is a process with a time limit of its own; one that runs over is ended, and what it has measured so
far counts. The figures, with what they were measured on, go to one JSON file; a short table comes last.
Exits with 1 when a part failed, with 2 when there is no such device.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from bench_waits import WAITS

BENCHMARKS = Path(__file__).resolve().parent
ROOT = BENCHMARKS.parent


@dataclass(frozen=True)
class Part:
    """A command; `{json}` is the file that it leaves its figures in, `{device}` where it is to run."""

    command: str
    limit: float  # seconds


PARTS = {
    "tests": Part("-m pytest -m gpu -p no:xdist tests/gpu tests/state", 110),
    "selftest": Part("-m samerun ops-selftest --runs 50", 40),
    "recording": Part(
        "benchmarks/bench_recording.py --device {device} --rounds 3 --generations 2 --json {json}", 80
    ),
    "waits": Part("benchmarks/bench_waits.py --device {device} --json {json}", 40),
    "ops": Part("benchmarks/bench_ops.py --device {device} --scale {scale} --rounds 5 --json {json}", 120),
    "strict": Part(
        "benchmarks/bench_strict.py --device {device} --scale {scale} --rounds 4 --json {json}", 130
    ),
}
# Asked for by name alone: it takes longer than all others together.
SELDOM = {
    "repeats": Part("benchmarks/bench_ops.py --device {device} --rounds 1 --repeats 1000 --json {json}", 480),
}


def run(part: Part, device: str, folder: Path) -> dict[str, Any]:
    """What a part said, and its figures."""
    figures = folder / "figures.json"
    figures.unlink(missing_ok=True)
    scale = "full" if device == "cuda" else "small"
    words = part.command.format(json=figures, device=device, scale=scale).split()
    paths = os.pathsep.join(str(ROOT / name) for name in ("src", "tests", "benchmarks"))
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=part.limit)
        ended = None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        ended = f"ended after {part.limit:g} s"
    return {
        "code": process.returncode,
        "ended": ended,
        "seconds": time.perf_counter() - begin,
        "figures": json.loads(figures.read_text()) if figures.exists() else None,
        "said": said.splitlines(),
    }


def manifest(device: str) -> dict[str, Any]:
    """What the figures were measured on."""
    try:
        from triton import __version__ as triton
    except ImportError:
        triton = None
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    there: dict[str, Any] = {"name": platform.processor() or platform.machine()}
    if device == "cuda":
        name, capability = torch.cuda.get_device_name(), torch.cuda.get_device_capability()
        there = {"name": name, "capability": capability, "cuda": torch.version.cuda}
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "device": there,
        "torch": torch.__version__,
        "triton": triton,
        "python": platform.python_version(),
        "commit": commit or None,
    }


def table(parts: dict[str, dict[str, Any]]) -> list[str]:
    """A few lines for each part."""
    lines = []
    for name, part in parts.items():
        last = next((line for line in reversed(part["said"]) if line.strip()), "")
        state = part["ended"] or ("ok" if part["code"] == 0 else f"exit {part['code']}")
        lines.append(f"{name:10} {state:16} {part['seconds']:4.0f} s  {_short(name, part) or last}")
    return lines


def _short(name: str, part: dict[str, Any]) -> str:
    figures = part["figures"]
    if name == "selftest":
        tested = [line for line in part["said"] if " runs  " in line]
        other = [line.split()[0] for line in tested if not line.endswith("same")]
        return f"{len(tested) - len(other)} of {len(tested)} operations same" + _named("not", other)
    if not figures:
        return ""
    if name == "recording":
        return ", ".join(
            f"{model} {tier} {figures[model][tier]['ratio']:.2f}"
            for model in figures
            for tier in ("steps", "ops", "debugmode")
            if tier in figures[model]
        )
    if name == "strict":
        return ", ".join(f"{model} {row['ratio']:.3f}" for model, row in figures.items())
    if name == "waits":
        return ", ".join(
            f"{model} {tier} {_count_waits(rows[tier]) - _count_waits(rows['plain']):.2f}"
            for model, rows in figures.items()
            for tier in rows
            if tier != "plain"
        )
    return _slower(figures["operations"])


def _count_waits(row: dict[str, float]) -> float:
    return sum(row.get(wait, 0) for wait in WAITS)


def _slower(operations: dict[str, dict[str, list[float]]]) -> str:
    """How samerun's operations stand beside torch's own, and beside its deterministic ones."""
    native = _ratios(operations, "native")
    over = [f"{name} {ratio:.1f}" for name, ratio in native.items() if ratio > 2]
    beside = _ratios(operations, "deterministic")
    behind = [f"{name} {ratio:.1f}" for name, ratio in beside.items() if ratio > 1.1]
    within = sum(ratio <= 1.2 for ratio in native.values())
    text = f"{within} of {len(native)} within 1.2 of torch's own"
    return text + _named("over 2", over) + _named("slower than torch's deterministic", behind)


def _ratios(operations: dict[str, dict[str, list[float]]], beside: str) -> dict[str, float]:
    return {
        name: statistics.median(seconds["samerun"]) / statistics.median(seconds[beside])
        for name, seconds in operations.items()
        if "samerun" in seconds and beside in seconds
    }


def _named(what: str, names: list[str]) -> str:
    return f"; {what}: {', '.join(names)}" if names else ""


def main() -> int:
    """Run the parts one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("gpu.json"))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *SELDOM], default=list(PARTS))
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("torch sees no CUDA device here: nothing was measured", file=sys.stderr)
        return 2
    about = manifest(options.device)
    parts: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            parts[name] = run((PARTS | SELDOM)[name], options.device, Path(folder))
            print(*parts[name]["said"], "", sep="\n", flush=True)
            options.json.write_text(json.dumps({"manifest": about, "parts": parts}, indent=1) + "\n")
    print(f"{about['device']['name']}, torch {about['torch']}, Triton {about['triton']}, {about['date']}")
    print(*table(parts), f"figures: {options.json}", sep="\n")
    return int(any(part["code"] or part["ended"] for part in parts.values()))


if __name__ == "__main__":
    sys.exit(main())
