"""What recording costs: tiers `steps` and `ops` against plain training and torch's own DebugMode.

`bare` is a dispatch mode that does nothing: what any recorder of operations pays that is written in Python.

    python benchmarks/bench_recording.py [--rounds 8] [--generations 4] [--threads 2]
    python benchmarks/bench_recording.py --device cuda --models gpt2 resnet50 --variants steps ops

Models are those of models.py, which suit a CPU, and of strict_models.py, at full scale, which suit a GPU.

Each variant is a process that trains in turns: a few plain steps, a few under the variant, in random order.
Plain means that every hook of the recorder is taken off, so both turns run in one process with one layout of
memory, and a moment apart: between processes the same program differs by several percent. The parent asks the
processes one after the other, and starts them anew a few times. Of a turn the fastest step counts: what
disturbs a step only ever makes it longer. A ratio is the median over all pairs of turns, with its quartiles.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

VARIANTS = ("steps", "ops", "bare", "debugmode", "debugmode-full")
LIMITS = {
    ("steps", "cnn"): 1.03,
    ("steps", "transformer"): 1.03,
    ("ops", "transformer"): 1.35,
    ("steps", "parameters"): 1.10,
    ("steps", "modules"): 1.10,
}
MANY = ("parameters", "modules")  # models of many small parts, which only tier `steps` is measured on
STEPS_A_TURN = 3
TRACE_LIMIT = 25_000  # bytes a step at tier ops


def child(variant: str, model: str, folder: str, threads: int, device: str) -> None:
    """Serve pairs of turns: one line in, one line with the seconds of a plain step and one of ours out."""
    if variant in ("steps", "ops"):
        from samerun.launching.bootstrap import start
        from samerun.runs.plan import Plan

        start(Plan(run=folder, tier="ops" if variant == "ops" else "steps"))
    import torch
    from models import MODELS
    from strict_models import MODELS as FULL

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    if device != "cpu":  # a default device is a function mode, which costs each call of a torch function
        torch.set_default_device(device)
    # Many small parts keep one core busy, and other programs of the machine must not count.
    clock = time.process_time if model in MANY else time.perf_counter
    step = MODELS[model]() if model in MODELS else FULL[model](True)
    for _ in range(3):
        step()
    wait()
    print("ready", flush=True)
    order = random.Random(len(variant))  # not the global generator, whose draws are the training's
    for line in sys.stdin:
        if line.strip() == "end":
            break
        seconds = {}
        for plain in order.sample((True, False), 2):
            with _not_recorded() if plain else _other(variant):
                seconds[plain] = _turn(step, wait, clock)
        print(seconds[True], seconds[False], flush=True)


def _turn(step: Callable[[], None], wait: Callable[[], None], clock: Callable[[], float]) -> float:
    """Seconds of the fastest of a few steps, after one that meets the hooks as they were just changed."""
    step()
    wait()
    seconds = []
    for _ in range(STEPS_A_TURN):
        begin = clock()
        step()
        wait()
        seconds.append(clock() - begin)
    return min(seconds)


@contextlib.contextmanager
def _not_recorded() -> Iterator[None]:
    """Training as if the recorder had never hooked itself in."""
    import torch
    from torch import nn
    from torch.optim import optimizer
    from torch.utils._python_dispatch import _disable_current_modes

    hooks: list[dict[Any, Any]] = [
        optimizer._global_optimizer_pre_hooks,
        optimizer._global_optimizer_post_hooks,
    ]
    kept = [dict(table) for table in hooks]
    backward, call = torch.autograd.backward, nn.Module.__call__
    for table in hooks:
        table.clear()
    torch.autograd.backward = getattr(backward, "__wrapped__", backward)
    nn.Module.__call__ = getattr(call, "__wrapped__", call)
    try:
        with _disable_current_modes():
            yield
    finally:
        torch.autograd.backward = backward
        nn.Module.__call__ = call
        for table, had in zip(hooks, kept, strict=True):
            table.update(had)


def _other(variant: str) -> Any:
    if variant == "bare":
        return _bare()
    if not variant.startswith("debugmode"):
        return contextlib.nullcontext()
    from torch.utils._debug_mode import DebugMode

    stack = contextlib.ExitStack()
    if variant == "debugmode":
        stack.enter_context(DebugMode())
        stack.enter_context(DebugMode.log_tensor_hashes(hash_fn="hash_tensor"))
    else:
        stack.enter_context(DebugMode(record_nn_module=True, record_stack_trace=True))
        stack.enter_context(DebugMode.log_tensor_hashes(hash_fn="norm", hash_inputs=True))
    return stack


def _bare() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Bare(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    return Bare()


class Variant:
    """One child process."""

    def __init__(self, name: str, model: str, threads: int, device: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.name = name
        command = [sys.executable, __file__, "--child", name, model, self.folder.name, str(threads), device]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.plain: list[float] = []
        self.seconds: list[float] = []
        self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: the process ended with {self.process.wait()}")
        return line

    def pair(self) -> None:
        """One turn of plain steps and one of the variant's."""
        assert self.process.stdin is not None
        self.process.stdin.write("pair\n")
        self.process.stdin.flush()
        plain, mine = map(float, self._line().split())
        self.plain.append(plain)
        self.seconds.append(mine)

    def end(self) -> int:
        """Let it end; returns the size of its traces in bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write("end\n")
        self.process.stdin.close()
        self.process.wait()
        size = sum(path.stat().st_size for path in Path(self.folder.name).glob("*.trace.arrow"))
        self.folder.cleanup()
        return size


def measure(
    model: str, names: list[str], rounds: int, generations: int, threads: int, device: str
) -> dict[str, dict[str, float]]:
    """Ratios to plain training for each variant of one model, and the bytes of trace a step."""
    order = random.Random(0)
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    traces: dict[str, float] = {}
    for _ in range(generations):
        variants = [Variant(name, model, threads, device) for name in names]
        for _ in range(rounds):
            for variant in order.sample(variants, len(variants)):
                variant.pair()
        for variant in variants:
            pairs[variant.name] += zip(variant.plain, variant.seconds, strict=True)
            traces[variant.name] = variant.end() / (rounds * (STEPS_A_TURN + 1) + 3)
    table: dict[str, dict[str, float]] = {}
    for name, turns in pairs.items():
        low, middle, high = statistics.quantiles([mine / plain for plain, mine in turns], n=4)
        plain, mine = (statistics.median(column) * 1e3 for column in zip(*turns, strict=True))
        figures = {"plain_ms": plain, "ms": mine, "ratio": middle, "q1": low, "q3": high}
        table[name] = {**figures, "trace": traces[name]}
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--models", nargs="+", default=["cnn", "transformer", *MANY])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--generations", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", help="write the figures here too")
    arguments = parser.parse_args()
    failed, figures = [], {}
    for model in arguments.models:
        rounds, generations = arguments.rounds, arguments.generations
        variants = [name for name in arguments.variants if model not in MANY or name == "steps"]
        table = figures[model] = measure(
            model, variants, rounds, generations, arguments.threads, arguments.device
        )
        print(
            f"\n{model} on {arguments.device}, {arguments.threads} threads, {generations} x {rounds} rounds"
        )
        heads = f"{'variant':16} {'plain ms':>9} {'ms a step':>10} {'ratio':>7} {'quartiles':>15}"
        print(f"{heads} {'trace a step':>13}")
        for name, row in table.items():
            trace = f"{row['trace'] / 1e3:.1f} kB" if row["trace"] else ""
            spread = f"{row['q1']:.3f}-{row['q3']:.3f}"
            times = f"{row['plain_ms']:9.1f} {row['ms']:10.1f} {row['ratio']:7.3f}"
            print(f"{name:16} {times} {spread:>15} {trace:>13}")
            limit = LIMITS.get((name, model))
            if limit is not None and row["ratio"] > limit:
                failed.append(f"{model}, {name}: {row['ratio']:.3f} is over {limit}")
        if "ops" in table and table["ops"]["trace"] > TRACE_LIMIT:
            failed.append(
                f"{model}: {table['ops']['trace']:.0f} bytes a step at tier ops are over {TRACE_LIMIT}"
            )
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(figures, indent=1) + "\n")
    print("\n" + ("\n".join(failed) if failed else "every figure within its limit"))
    return bool(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        child(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6])
    else:
        sys.exit(main())
