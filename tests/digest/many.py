"""A kernel of many tensors that needs no device."""

from __future__ import annotations

import ctypes

import torch

from samerun.digest.mix128 import compute_lanes


class Many:
    """Stands for the kernel of many tensors: the bytes at the addresses of a table, in torch operations."""

    def __init__(self, works: bool = True) -> None:
        self.works = works
        self.launches: list[int] = []

    def __call__(self, table: torch.Tensor, rows: torch.Tensor, first: int, largest: int) -> bool:
        if not self.works:
            return False
        self.launches.append(len(table))
        for number, (address, nbytes, seed) in enumerate(table.tolist()):
            assert nbytes <= largest
            found = bytearray((ctypes.c_char * nbytes).from_address(address))
            rows[first + number] += compute_lanes(
                torch.frombuffer(found, dtype=torch.uint8), seed % (1 << 64)
            )
        return True
