"""Whether two files of weights hold the same bits, as torch, safetensors or HDF5 read them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch


def hold_the_same(a: Path, b: Path) -> bool:
    """Whether every tensor of one file is in the other, bit for bit; ValueError when there are none."""
    ours, theirs = (dict(_tensors("", _read(path))) for path in (a, b))
    if not ours:
        raise ValueError(f"no tensors in {a}")
    return ours == theirs


def _read(path: Path) -> Any:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    if path.suffix == ".h5":
        return _read_h5(path)
    if path.suffix == ".zip":  # Stable-Baselines3: files of torch's among others
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".pth")]
            return {name: _load(io.BytesIO(archive.read(name))) for name in names}
    return _leave_out_callbacks(_load(path))


def _leave_out_callbacks(value: Any) -> Any:
    """A checkpoint of Lightning's without what its callbacks keep: scores under the paths of files."""
    if isinstance(value, dict) and "callbacks" in value:
        return {key: item for key, item in value.items() if key != "callbacks"}
    return value


def _load(file: Any) -> Any:
    return torch.load(file, map_location="cpu", weights_only=False)


def _read_h5(path: Path) -> dict[str, Any]:
    import h5py

    found: dict[str, Any] = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if hasattr(item, "shape") else None)
    return found


def _tensors(name: str, value: Any) -> Iterator[tuple[str, tuple[str, tuple[int, ...], bytes]]]:
    """Each tensor below a value, with the path to it."""
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, torch.Tensor):
        value = value.detach().contiguous().view(torch.uint8 if value.dim() else value.dtype).numpy()
    if isinstance(value, np.ndarray):
        yield name, (str(value.dtype), value.shape, value.tobytes())
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(f"{name}/{key}", item)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _tensors(f"{name}/{number}", item)
