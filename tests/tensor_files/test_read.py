"""Each format gives the names, dtypes, shapes and bytes that its own library gives.

Covers `distributed.py`, `flatten.py`, `folders.py`, `numpy_arrays.py`, `pickles.py`, `read.py`, `refused.py`,
`safetensors.py`, `stored_bytes.py`, `tensor.py`, `torch_files.py` and `zips.py`.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import pathlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from samerun.errors import TensorFileError
from samerun.tensor_files import tensor as tensors
from samerun.tensor_files.flatten import Value
from samerun.tensor_files.read import read_contents
from samerun.tensor_files.tensor import Tensor

from .files import trained, write_accelerate, write_distributed, write_safetensors, write_shards


def read(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes] | Any]:
    """Tensors as dtype, shape and bytes; values as they are."""
    found: dict[str, Any] = {}
    for name, leaf in read_contents(path).leaves.items():
        if isinstance(leaf, Tensor):
            found[name] = (leaf.dtype, leaf.shape, b"".join(leaf.chunks()))
        else:
            assert isinstance(leaf, Value)
            found[name] = leaf.value
    return found


def plain(tensor: torch.Tensor) -> tuple[str, tuple[int, ...], bytes]:
    raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), raw


def test_weights_are_as_torch_has_them_in_each_format(tmp_path: Path) -> None:
    weights = trained()["model"]
    expected = {name: plain(tensor) for name, tensor in weights.items()}
    torch.save(weights, tmp_path / "a.pt")
    torch.save(weights, tmp_path / "b.pt", _use_new_zipfile_serialization=False)
    write_safetensors(tmp_path / "c.safetensors", weights)
    write_distributed(tmp_path / "d", weights)
    for path in ("a.pt", "b.pt", "c.safetensors", "d"):
        assert read(tmp_path / path) == expected, path
    held = read(write_shards(tmp_path / "e", weights, 3, "bin"))
    assert held == {**expected, "config.json/model_type": "plain", "config.json/layers": 2}
    held = read(write_accelerate(tmp_path / "f", trained()))
    assert {name: held[name] for name in expected} == expected
    assert held["scheduler.bin/last_epoch"] == 1
    assert held["optimizer.bin/param_groups.0.betas.1"] == 0.999


def test_an_index_that_python_3_11_2_wrote_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its enums pickle their members as getattr(enum, name)."""
    from torch.distributed.checkpoint.metadata import _MEM_FORMAT_ENCODING as KIND

    monkeypatch.setattr(KIND, "__reduce_ex__", lambda self, _: (getattr, (KIND, self.name)))
    path = write_distributed(tmp_path / "a", {"w": torch.arange(3.0)})
    assert b"getattr" in (path / ".metadata").read_bytes()
    assert read(path) == {"w": plain(torch.arange(3.0))}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["f4", "f8", "i2", "u8", "c8", "c16", "?"])
def test_arrays_are_as_numpy_has_them(tmp_path: Path, kind: str, order: str) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    for name, array in {
        "rows": values.astype(order + kind),
        "columns": np.asfortranarray(values.astype(order + kind)),
        "scalar": np.array(1, order + kind),
        "none": np.zeros((0, 2), order + kind),
    }.items():
        np.save(tmp_path / "a.npy", array)
        np.savez(tmp_path / "b.npz", x=array)
        np.savez_compressed(tmp_path / "c.npz", x=array)
        (tmp_path / "d.pkl").write_bytes(pickle.dumps({"x": array}, protocol=2))
        (tmp_path / "e.pkl").write_bytes(pickle.dumps({"x": array}, protocol=5))
        little = array.astype("<" + kind)
        expected = (little.dtype.name, array.shape, little.tobytes())
        assert read(tmp_path / "a.npy") == {"": expected}
        for path in ("b.npz", "c.npz", "d.pkl", "e.pkl"):
            assert read(tmp_path / path) == {"x": expected}, (name, path)


def test_other_arrays_are_read_as_bytes(tmp_path: Path) -> None:
    for array in (np.array(["a", "bc"]), np.array([(1, 2.0)], "i4,f8"), np.array(["2020"], "M8[Y]")):
        np.save(tmp_path / "a.npy", array)
        ((_, shape, raw),) = read(tmp_path / "a.npy").values()
        assert (shape, raw) == (array.shape, array.tobytes())


@pytest.mark.parametrize("chunk", [16, 40, 1 << 20])
def test_views_are_read_whatever_the_size_of_a_chunk(tmp_path: Path, chunk: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(tensors, "CHUNK", chunk)
    flat = torch.arange(120.0)
    views = {
        "part": flat[7:31],
        "turned": flat.reshape(4, 5, 6).permute(2, 0, 1),
        "stepped": flat[3::7],
        "expanded": flat[:3].reshape(3, 1).expand(3, 5),
        "one": flat[5],
    }
    torch.save(views, tmp_path / "a.pt")
    assert read(tmp_path / "a.pt") == {name: plain(view) for name, view in views.items()}


def test_a_path_is_the_same_whichever_python_saved_it(tmp_path: Path) -> None:
    of_3_12 = b"\x80\x04\x8c\x07pathlib\x8c\x0dPurePosixPath\x93\x8c\x01a\x8c\x01b\x86R."
    of_3_13 = b"\x80\x04\x8c\x0epathlib._local\x8c\x0dPurePosixPath\x93\x8c\x03a/b\x85R."
    for number, written in enumerate((of_3_12, of_3_13)):
        (tmp_path / f"{number}.pkl").write_bytes(written)
    found = [list(read(tmp_path / f"{number}.pkl").values()) for number in range(2)]
    assert found[0] == found[1] and "pathlib.PurePosixPath('a/b')" in str(found[0])


def test_plain_values_keep_their_type(tmp_path: Path) -> None:
    values = {
        "none": None,
        "true": True,
        "text": "é",
        "bytes": b"\xff",
        "large": 2**70,
        "list": [1, (2.5, [])],
        3: {},
        "ordered": collections.OrderedDict(a=1),
        "counts": collections.Counter("aab"),
        "default": collections.defaultdict(list, x=[1]),
        "set": {2, 1},
        "frozen": frozenset([(1, "a"), None]),
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cuda:1"),
        "path": pathlib.PurePosixPath("a/b"),
        "arguments": argparse.Namespace(lr=0.1),
        "day": datetime.date(2026, 1, 2),
    }
    torch.save(values, tmp_path / "a.pt")
    (tmp_path / "b.pkl").write_bytes(pickle.dumps(values))
    found, other = read(tmp_path / "a.pt"), read(tmp_path / "b.pkl")
    expected = {
        "none": None,
        "true": True,
        "text": "é",
        "bytes": b"\xff",
        "large": 2**70,
        "list.0": 1,
        "list.1.0": 2.5,
        "list.1.1": "an empty list",
        "3": "an empty dict",
        "ordered.a": 1,
        "counts.a": 2,
        "counts.b": 1,
        "set": "a set: ['1', '2']",
        "frozen": """a set: ["(1, 'a')", 'None']""",
        "size.0": 2,
        "size.1": 3,
        "dtype": "torch.bfloat16",
        "device": "torch.device('cuda', 1)",
        "arguments.lr": 0.1,
        "default.x.0": 1,
    }
    assert {name: found[name] for name in expected} == expected
    assert {name: other[name] for name in expected} == expected
    assert found["path"] == "pathlib.PurePosixPath('a/b')"
    assert "datetime.date" in found["day"]


def test_two_values_of_one_name_are_both_there(tmp_path: Path) -> None:
    torch.save({"a.b": 1, "a": {"b": 2}}, tmp_path / "a.pt")
    assert read(tmp_path / "a.pt") == {"a.b": 1, "a.b (2)": 2}


@pytest.mark.parametrize(
    "name",
    [
        "builtins.eval",
        "builtins.getattr",
        "torch.load",
        "torch.hub.load",
        "os.system",
        "numpy.load",
        "torch.nn.Linear",
        "pathlib.Path.home",
        "torch._utils.x._rebuild_y",
        "torch.storage.os",
        "builtins.dict.x",
        "operator.attrgetter",
    ],
)
def test_other_names_than_those_of_values_are_refused(tmp_path: Path, name: str) -> None:
    module, _, last = name.rpartition(".")
    for path, data in {
        "a.pkl": b"c" + f"{module}\n{last}\n.".encode(),
        "b.pkl": b"\x80\x04\x8c%c%b\x8c%c%b\x93." % (len(module), module.encode(), len(last), last.encode()),
    }.items():
        (tmp_path / path).write_bytes(data)
        with pytest.raises(TensorFileError, match="may run it") as error:
            read_contents(tmp_path / path)
        assert name in str(error.value)


def test_what_is_beside_a_checkpoint_is_named(tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "a", trained()["model"], 2, "safetensors")
    (folder / "sub").mkdir()
    (folder / "sub" / "log.txt").write_text("x")
    assert read_contents(folder).left_out == ("README.md", "sub/log.txt")
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(TensorFileError, match=r"names the shard 'model-00002-of-00002\.safetensors'"):
        read_contents(folder)
    (tmp_path / "none").mkdir()
    with pytest.raises(TensorFileError, match="a folder without a file of tensors"):
        read_contents(tmp_path / "none")


def test_a_distributed_checkpoint_within_a_folder_has_the_folders_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_distributed(tmp_path / "a" / "pytorch_model_fsdp_0", {"w": torch.zeros(2)})
    torch.save({"last_epoch": 3}, tmp_path / "a" / "scheduler.bin")
    expected = {"pytorch_model_fsdp_0/w": plain(torch.zeros(2)), "scheduler.bin/last_epoch": 3}
    assert read(tmp_path / "a") == expected
