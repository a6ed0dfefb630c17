"""What samerun's operations cost: torch's own, torch's own when it must be deterministic, and samerun's, side
by side.

    python benchmarks/bench_ops.py [NAME …] [--device cuda] [--rounds 20] [--repeats 0] [--threads 2]
                                   [--scale full] [--json FILE]

One row for each operation, on its example (samerun/ops/*.py), or with `--scale full` on tensors of the sizes
that trainings have (op_sizes.py). The three variants take turns, in random
order, so that what else the machine does meets them alike; a ratio is the median over the rounds, with its
quartiles. On the CPU samerun's formulation is timed also where it is not installed there, because torch's
own repeats itself: these rows are marked with a dash. A `refused` is what torch raises for. With
`--repeats 1000` each is also run that often beside other work, by torch's own way and by samerun's: the share
of the results that are not the most frequent one.
"""

from __future__ import annotations

import argparse
import collections
import json
import platform
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from op_sizes import make_arguments

from samerun.ops import Implementation, implementations
from samerun.ops.installation import put_in
from samerun.ops.selftest import digest_results, is_importable, repeat

LEAST = 0.002  # seconds that a turn takes, at least: so many calls


def operation(one: Implementation) -> Callable[..., Any]:
    name, _, kind = next(iter(one.kernels)).partition(".")
    return getattr(getattr(getattr(torch.ops, one.namespace), name), kind or "default")


class Row:
    """One operation, by its three variants."""

    def __init__(self, one: Implementation, device: torch.device, full: bool) -> None:
        self.one = one
        self.device = device
        self.args = make_arguments(one, device) if full else one.example(device)
        self.seconds: dict[str, list[float]] = {}
        self.calls = 1
        self.others: dict[str, float] = {}

    def turn(self, variant: str) -> float | None:
        """Seconds of one call; None when torch refuses it."""
        torch.use_deterministic_algorithms(variant != "native")
        torch.utils.deterministic.fill_uninitialized_memory = False
        key = "CPU" if self.device.type == "cpu" else "CUDA"
        chosen = implementations().values() if variant == "samerun" else ()
        try:
            with put_in(chosen, lambda _: (key,)):
                self._call()  # caches and allocations
                begin = time.perf_counter()
                for _ in range(self.calls):
                    self._call(wait=False)
                self._wait()
                return (time.perf_counter() - begin) / self.calls
        except RuntimeError as error:
            if "deterministic" in str(error) or "Could not run" in str(error):
                return None
            raise
        finally:
            torch.use_deterministic_algorithms(False)

    def measure(self, rounds: int) -> None:
        """Let the variants take turns."""
        first = self.turn("native") or self.turn("samerun") or LEAST
        self.calls = max(1, round(LEAST / first))
        order = random.Random(0)
        for _ in range(rounds):
            for variant in order.sample(("native", "deterministic", "samerun"), 3):
                seconds = self.turn(variant)
                if seconds is not None:
                    self.seconds.setdefault(variant, []).append(seconds)

    def repeat(self, repeats: int) -> None:
        """Run torch's own and samerun's that often, beside other work."""
        key = "CPU" if self.device.type == "cpu" else "CUDA"
        for variant, chosen in (("native", ()), ("samerun", implementations().values())):
            torch.use_deterministic_algorithms(variant == "samerun")
            torch.utils.deterministic.fill_uninitialized_memory = False
            try:
                with put_in(chosen, lambda _: (key,)):
                    found = collections.Counter(repeat(self._run_once, self.device, repeats))
            finally:
                torch.use_deterministic_algorithms(False)
            self.others[variant] = 1 - max(found.values()) / repeats

    def _run_once(self) -> tuple[bytes, ...]:
        """The digests of one run, of arguments that no run before has written to."""
        return digest_results(
            self.one, tuple(one.clone() if isinstance(one, torch.Tensor) else one for one in self.args)
        )

    def ratio(self, variant: str) -> list[float] | None:
        """Quartiles of a variant's time, by that of torch's own in the same round."""
        if variant not in self.seconds or "native" not in self.seconds:
            return None
        pairs = zip(self.seconds[variant], self.seconds["native"], strict=True)
        return statistics.quantiles([mine / native for mine, native in pairs], n=4)

    def text(self) -> str:
        native = self.seconds.get("native")
        own = "   refused" if native is None else f"{1e6 * statistics.median(native):9.0f} µs"
        columns = [f"{self.one.name:36}", f"{own:>12}"]
        for variant in ("deterministic", "samerun"):
            quartiles = self.ratio(variant)
            said = (
                "refused"
                if quartiles is None
                else f"{quartiles[1]:.2f}× ({quartiles[0]:.2f}–{quartiles[2]:.2f})"
            )
            columns.append(f"{said:>22}")
        columns += [f"{variant} {share:.1%}" for variant, share in self.others.items()]
        installed = self.device.type.upper() in self.one.devices
        return "  ".join([*columns, "" if installed else "-"])

    def _call(self, wait: bool = True) -> None:
        operation(self.one)(*self.args, **self.one.options)
        if wait:
            self._wait()

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--scale", choices=("small", "full"), default="small")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    machine = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor()
    print(f"torch {torch.__version__}, {device} ({machine}), {options.threads} threads")
    print(f"{'':36}  {'torch':>12}  {'torch, deterministic':>22}  {'samerun':>22}")
    figures: dict[str, Any] = {
        "torch": torch.__version__,
        "device": str(device),
        "machine": machine,
        "threads": options.threads,
        "scale": options.scale,
    }
    rows: list[Row] = []
    for one in implementations().values():
        if options.names and one.name not in options.names:
            continue
        alone = "cudnn" in one.name or "attention" in one.name  # CUDA's
        if not is_importable(one) or (alone and device.type == "cpu"):
            continue
        row = Row(one, device, options.scale == "full")
        row.measure(options.rounds)
        if options.repeats:
            row.repeat(options.repeats)
        rows.append(row)
        print(row.text(), flush=True)
        if options.json:
            figures["operations"] = {row.one.name: row.seconds for row in rows}
            figures["others"] = {row.one.name: row.others for row in rows}
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(figures, file)


if __name__ == "__main__":
    main()
