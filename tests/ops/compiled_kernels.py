"""Run by test_triton.py: compiles a kernel for CUDA devices, and prints the size of each binary."""

from __future__ import annotations

import itertools
import sys
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

from samerun.ops.engines import bands_triton, ctc_triton, grid_samples_triton, segments_triton

Signature = dict[str, str]
Constants = dict[str, Any]


def bands(wide: bool) -> tuple[Any, Signature, Constants]:
    """Narrow: half precision, weighted. Wide: double precision, divided, by name."""
    values, exact = ("*fp64", "*fp64") if wide else ("*fp16", "*fp32")
    signature = {
        "source": values,
        "result": values,
        "names": "*i64",
        **{f"outs{dim}": "*i32" for dim in range(3)},
        **{f"weights{dim}": exact for dim in range(3)},
        **{f"cells{dim}": exact for dim in range(3)},
        "count": "i64" if wide else "i32",
        **{f"{letter}{dim}": "i32" for letter in "IO" for dim in range(3)},
        "INNER": "i32",
    }
    constants = {
        **{f"K{dim}": dim + 1 for dim in range(3)},
        "WEIGHTED": not wide,
        "DIVIDED": wide,
        "NAMED": wide,
        "WIDE": wide,
        "DOUBLE": wide,
        "BLOCK": 256,
    }
    return bands_triton._gather_taps, signature, constants


def segments(wide: bool) -> tuple[Any, Signature, Constants]:
    """Narrow: weighted sums in half precision. Wide: products in double precision."""
    values, exact = ("*fp64", "*fp64") if wide else ("*fp16", "*fp32")
    signature = {
        "values": values,
        "rows": "*i64",
        "weights": exact,
        "starts": "*i64",
        "lengths": "*i64",
        "result": exact,
        "pieces": "i32",
        "longest": "i32",
        "columns": "i32",
    }
    constants = {
        "ROWS": True,
        "WEIGHTED": not wide,
        "PRODUCT": wide,
        "DOUBLE": wide,
        "HIGH": 8,
        "WIDTH": 32,
    }
    return segments_triton._reduce_pieces, signature, constants


def put(wide: bool) -> tuple[Any, Signature, Constants]:
    """Narrow: into half precision, in runs. Wide: in double precision."""
    signature = {
        "result": "*fp64" if wide else "*fp16",
        "keys": "*i64",
        "values": "*fp64" if wide else "*fp32",
        **dict.fromkeys(("count", "limit", "columns", "run"), "i32"),
    }
    return segments_triton._put, signature, {"BLOCK": 16, "WIDTH": 64}


def sample(wide: bool) -> tuple[Any, Signature, Constants]:
    """Narrow: four reads for each place in single precision. Wide: sixteen in double precision."""
    exact = "*fp64" if wide else "*fp32"
    signature = {
        "values": exact,
        "taken": "*i64",
        "weights": exact,
        "result": exact,
        **dict.fromkeys(("count", "places", "channels", "cells"), "i32"),
    }
    taps = 16 if wide else 4
    return grid_samples_triton._sample, signature, {"T": taps, "BLOCK": 512 // taps, "STEP": 16}


def correlate(wide: bool) -> tuple[Any, Signature, Constants]:
    """As those of `sample`."""
    exact = "*fp64" if wide else "*fp32"
    signature = {
        "values": exact,
        "grad": exact,
        "taken": "*i64",
        "result": exact,
        **dict.fromkeys(("count", "places", "channels", "cells"), "i32"),
    }
    taps = 16 if wide else 4
    return grid_samples_triton._correlate, signature, {"T": taps, "BLOCK": 512 // taps}


def ctc(wide: bool) -> tuple[Any, Signature, Constants]:
    """Few states and many."""
    signature = {
        "emitted": "*fp64",
        "jumps": "*i8",
        "last": "*i64",
        "ends": "*i64",
        "result": "*fp64",
        "longest": "i32",
        "count": "i32",
        "states": "i32",
    }
    return ctc_triton._compute_beta, signature, {"BLOCK": 4096 if wide else 64}


KERNELS = {
    "bands": bands,
    "segments": segments,
    "put": put,
    "sample": sample,
    "correlate": correlate,
    "ctc": ctc,
}


def main(name: str) -> None:
    """For two generations of devices."""
    for wide, capability in itertools.product((False, True), (80, 90)):
        kernel, signature, constants = KERNELS[name](wide)
        whole = {**signature, **dict.fromkeys(constants, "constexpr")}
        source = ASTSource(kernel, whole, constants)
        print(len(compile(source, target=GPUTarget("cuda", capability, 32)).asm["cubin"]))


if __name__ == "__main__":
    main(sys.argv[1])
