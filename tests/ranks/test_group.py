"""Which device a backend's tensors go to."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from samerun.ranks import group


@pytest.mark.parametrize(
    ("backends", "current", "local", "device"),
    [
        ("cpu:gloo,cuda:gloo", 0, "1", "cpu"),
        ("cpu:gloo,cuda:nccl", 2, "1", "cpu"),
        ("cuda:nccl", 3, "3", "cuda:3"),  # after torch.cuda.set_device
        ("cuda:nccl", 0, "2", "cuda:2"),  # before it: each rank its own
        ("cuda:nccl", 0, "7", "cuda:0"),  # CUDA_VISIBLE_DEVICES leaves each rank one
        ("xpu:xccl", 1, "1", "xpu:1"),
    ],
)
def test_the_device(
    backends: str, current: int, local: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = SimpleNamespace(current_device=lambda: current, device_count=lambda: 4)
    monkeypatch.setattr("torch.distributed.get_backend_config", lambda: backends)
    monkeypatch.setattr("torch.get_device_module", lambda type: there)
    monkeypatch.setenv("LOCAL_RANK", local)
    assert group._choose_device() == torch.device(device)
