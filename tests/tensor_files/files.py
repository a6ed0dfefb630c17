"""Writes checkpoints as torch and the frameworks do, with the layouts of the versions named."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

_KINDS = {
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.bool: "BOOL",
}


def trained(seed: int = 0) -> dict[str, Any]:
    """The states of a model, of its optimizer after a step, and of its scheduler."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    model(torch.randn(5, 4)).square().sum().backward()
    optimizer.step()
    scheduler.step()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "epoch": 3,
    }


def write_safetensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> Path:
    """https://huggingface.co/docs/safetensors"""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        raw = bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
        place = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": _KINDS[tensor.dtype], "shape": list(tensor.shape), "data_offsets": place}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def write_lightning(path: Path, states: Mapping[str, Any]) -> Path:
    """Lightning 2.6.6's ModelCheckpoint."""
    callback = {"monitor": "loss", "best_model_score": torch.tensor(0.5), "best_k_models": {}}
    torch.save(
        {
            "epoch": states["epoch"],
            "global_step": 9,
            "pytorch-lightning_version": "2.6.6",
            "state_dict": states["model"],
            "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"current": {"ready": 1}}}},
            "callbacks": {"ModelCheckpoint{'monitor': 'loss'}": callback},
            "optimizer_states": [states["optimizer"]],
            "lr_schedulers": [states["scheduler"]],
            "hparams_name": "kwargs",
            "hyper_parameters": {"lr": 0.01},
        },
        path,
    )
    return path


def write_accelerate(path: Path, states: Mapping[str, Any]) -> Path:
    """accelerate 1.15.0's save_state()."""
    path.mkdir()
    write_safetensors(path / "model.safetensors", states["model"])
    torch.save(states["optimizer"], path / "optimizer.bin")
    torch.save(states["scheduler"], path / "scheduler.bin")
    generators = {
        "step": 0,
        "random_state": random.Random(states["epoch"]).getstate(),
        "numpy_random_seed": np.random.RandomState(states["epoch"]).get_state(),
        "torch_manual_seed": torch.Generator().manual_seed(states["epoch"]).get_state(),
    }
    torch.save(generators, path / "random_states_0.pkl")
    return path


def write_shards(path: Path, tensors: Mapping[str, torch.Tensor], count: int, kind: str) -> Path:
    """Hugging Face's shards with their index; `kind` is "safetensors" or "bin"."""
    path.mkdir()
    names = list(tensors)
    stem = "model" if kind == "safetensors" else "pytorch_model"
    where = {}
    for number in range(count):
        shard = f"{stem}-{number + 1:05}-of-{count:05}.{kind}"
        part = {name: tensors[name] for name in names[number::count]}
        where |= dict.fromkeys(part, shard)
        if kind == "bin":
            torch.save(part, path / shard)
        else:
            write_safetensors(path / shard, part)
    index = {"metadata": {"total_size": 1}, "weight_map": where}
    (path / f"{stem}.{kind}.index.json").write_text(json.dumps(index))
    (path / "config.json").write_text(json.dumps({"model_type": "plain", "layers": 2}))
    (path / "README.md").write_text("a model")
    return path


def write_distributed(path: Path, states: Mapping[str, Any]) -> Path:
    """torch.distributed.checkpoint.save() in this process alone."""
    import torch.distributed.checkpoint as dcp

    dcp.save(dict(states), checkpoint_id=str(path), no_dist=True)
    return path
