"""Checkpoints as each framework writes them: the same files and keys, seen in those of the versions named."""

from __future__ import annotations

import collections
import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn


def parts() -> dict[str, Any]:
    """The states of a model, an optimizer that has stepped and its scheduler."""
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    model(torch.randn(3, 4)).sum().backward()
    optimizer.step()
    scheduler.step()
    states = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: thing.state_dict() for name, thing in states.items()}


def generators() -> dict[str, Any]:
    return {"python": random.getstate(), "numpy": np.random.get_state(), "cpu": torch.get_rng_state()}


def lightning(path: Path, loader: dict[str, Any] | None = None) -> Path:
    """Lightning 2.6.6's ModelCheckpoint, within an epoch."""
    held = parts()
    inner = {} if loader is None else {"combined_loader": [loader]}
    progress = {"total": {"ready": 9, "completed": 8}, "current": {"ready": 1, "completed": 0}}
    torch.save(
        {
            "epoch": 1,
            "global_step": 9,
            "pytorch-lightning_version": "2.6.6",
            "state_dict": held["model"],
            "loops": {"fit_loop": {"state_dict": inner, "epoch_loop.batch_progress": progress}},
            "callbacks": {"ModelCheckpoint{}": {"kth_value": torch.tensor(0.5), "best_k_models": {}}},
            "optimizer_states": [held["optimizer"]],
            "lr_schedulers": [held["scheduler"]],
        },
        path,
    )
    return path


def accelerate(path: Path, *, stateful: bool = False, seedable: bool = False) -> Path:
    """accelerate 1.15.0's save_state()."""
    path.mkdir()
    held, states = parts(), generators()
    safetensors(path / "model.safetensors")
    torch.save(held["optimizer"], path / "optimizer.bin")
    torch.save(held["scheduler"], path / "scheduler.bin")
    names = {"random_state": "python", "numpy_random_seed": "numpy", "torch_manual_seed": "cpu"}
    saved = {name: states[of] for name, of in names.items()}
    torch.save({"step": 0, **saved}, path / "random_states_0.pkl")
    if stateful:
        torch.save({"_num_yielded": 4, "_sampler_iter_yielded": 4}, path / "dl_state_dict.bin")
    if seedable:
        torch.save({"generator": torch.get_rng_state()}, path / "sampler.bin")
    return path


def transformers(path: Path) -> Path:
    """transformers 5.23.0's Trainer."""
    path.mkdir()
    held = parts()
    safetensors(path / "model.safetensors")
    torch.save(held["optimizer"], path / "optimizer.pt")
    torch.save(held["scheduler"], path / "scheduler.pt")
    torch.save(generators(), path / "rng_state.pth")
    (path / "trainer_state.json").write_text(
        json.dumps({"epoch": 0.375, "global_step": 3, "log_history": []})
    )
    return path


class HistoryBuffer:
    """Stands for mmengine's, which is pickled by its class."""


def mmengine(path: Path) -> Path:
    """MMEngine 0.10.7's CheckpointHook."""
    held = parts()
    rate = {"step_size": 1, "by_epoch": True, "last_step": 0, "_global_step": 0}
    torch.save(
        {
            "meta": {"epoch": 0, "iter": 6, "seed": 1, "mmengine_version": "0.10.7"},
            "state_dict": held["model"],
            "message_hub": {"log_scalars": collections.OrderedDict(loss=HistoryBuffer())},
            "optimizer": {**held["optimizer"], "loss_scaler": torch.amp.GradScaler("cpu").state_dict()},
            "param_schedulers": [rate],
        },
        path,
    )
    return path


def deepspeed(path: Path, **client_state: Any) -> Path:
    """DeepSpeed's save_checkpoint() with ZeRO, by its documentation."""
    folder = path / "global_step3"
    folder.mkdir(parents=True)
    held = parts()
    (path / "latest").write_text("global_step3")
    model = {"module": held["model"], "optimizer": None, "lr_scheduler": None, "global_steps": 3}
    torch.save({**model, "ds_version": "0.18.0", **client_state}, folder / "mp_rank_00_model_states.pt")
    torch.save({"optimizer_state_dict": {}}, folder / "zero_pp_rank_0_mp_rank_00_optim_states.pt")
    return path


class Metadata:
    """Stands for torch.distributed.checkpoint's."""


def distributed(path: Path, *names: str) -> Path:
    """torch.distributed.checkpoint.save() of torch 2.13."""
    path.mkdir()
    index = Metadata()
    index.state_dict_metadata = dict.fromkeys(["model.weight", "model.bias", *names])
    (path / ".metadata").write_bytes(pickle.dumps(index))
    (path / "__0_0.distcp").write_bytes(b"")
    return path


def safetensors(path: Path) -> None:
    header = json.dumps({"weight": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(32))
