"""Bytes from rank to rank by the collectives of the process group: gloo, nccl or any other.

How long a rank is waited for is the group's own timeout.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def gather(data: bytes) -> list[bytes]:
    """Every rank's `data`, of at least one byte, in the order of the ranks."""
    import torch
    import torch.distributed as dist

    device = _choose_device()
    lengths = [_make_length(0, device) for _ in range(dist.get_world_size())]
    dist.all_gather(lengths, _make_length(len(data), device))
    sizes = [int(length) for length in lengths]
    parts = [torch.empty(max(sizes), dtype=torch.uint8, device=device) for _ in sizes]
    dist.all_gather(parts, _pad(data, max(sizes), device))
    return [_read_bytes(part[:size]) for part, size in zip(parts, sizes, strict=True)]


def broadcast_first(data: bytes) -> bytes:
    """Rank 0's `data`, of at least one byte, on every rank."""
    import torch
    import torch.distributed as dist

    device = _choose_device()
    length = _make_length(len(data), device)
    dist.broadcast(length, src=0)
    content = _pad(data, len(data), device) if dist.get_rank() == 0 else None
    if content is None:
        content = torch.empty(int(length), dtype=torch.uint8, device=device)
    dist.broadcast(content, src=0)
    return _read_bytes(content)


def _make_length(value: int, device: torch.device) -> torch.Tensor:
    import torch

    return torch.tensor([value], dtype=torch.int64, device=device)


def _pad(data: bytes, size: int, device: torch.device) -> torch.Tensor:
    import torch

    return torch.frombuffer(bytearray(data.ljust(size, b"\0")), dtype=torch.uint8).to(device)


def _read_bytes(content: torch.Tensor) -> bytes:
    return content.cpu().numpy().tobytes()


def _choose_device() -> torch.device:
    """Where the group's backend takes tensors: the CPU when it can, else this rank's own accelerator."""
    import torch
    import torch.distributed as dist

    types = [pair.partition(":")[0] for pair in dist.get_backend_config().split(",")]
    if "cpu" in types:
        return torch.device("cpu")
    devices = torch.get_device_module(types[0])
    index = devices.current_device()
    local = int(os.environ.get("LOCAL_RANK", "0"))
    # Until torch.cuda.set_device() the current device of every rank is 0, and NCCL refuses two ranks on one.
    if index == 0 and local < devices.device_count():
        index = local
    return torch.device(types[0], index)
