"""Run by test_triton.py with TRITON_INTERPRET=1: the Triton kernels give what torch's own kernels give.

Words of the command line: names of operations, each with the part of its grid to compute (1 in so many):
`bincount/4`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch

from ops.computing import channels_last, hold_against_torch, mapped, strided
from ops.grids import cases
from ops.regions import CASES
from samerun.ops import implementations
from samerun.ops.engines import bands, grid_samples, segments
from samerun.ops.families import ctc_loss


def main(*words: str) -> None:
    """Each case in double and in single precision, and in other layouts."""
    launches = 0

    def works_on(device: torch.device) -> bool:
        nonlocal launches
        launches += 1
        return True

    bands.works_on = segments.works_on = grid_samples.works_on = ctc_loss.works_on = works_on
    torch.set_num_threads(1)  # torch's own must repeat itself to be held against
    for word in words:
        name, part = word.split("/")
        launches = 0
        if name in CASES:
            hold_regions(name, int(part), works_on)
            assert launches, f"{name} has no kernel"
            print(name)
            continue
        for number, (args, options) in enumerate(cases(name)):
            if number % int(part) == 0:
                hold_against_torch(name, args, torch.float64, **options)
                hold_against_torch(name, args, torch.float32, **options)
                hold_against_torch(name, args, torch.float16, **options)
                hold_against_torch(name, mapped(args, channels_last), torch.float32, **options)
                hold_against_torch(name, mapped(args, strided), torch.float32, **options)
        assert launches, f"{name} has no kernel"
        print(name)


def hold_regions(name: str, part: int, works_on: Callable[[torch.device], bool]) -> None:
    """torchvision's: with the kernels as without them, which other tests compare with what they should be."""
    (kernel,) = implementations()[name].kernels.values()
    for number, args in enumerate(CASES[name]()):
        if number % part:
            continue
        found = []
        for given in (works_on, lambda _: False):
            segments.works_on = grid_samples.works_on = given
            result = kernel(*args)
            found.append(result if isinstance(result, tuple) else (result,))
        for mine, plain in zip(*found, strict=True):
            torch.testing.assert_close(mine, plain, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    main(*sys.argv[1:])
