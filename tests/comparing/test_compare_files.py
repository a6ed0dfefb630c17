"""Checkpoints of all frameworks: equal ones are the same, and one changed bit is found where it is.

Covers `compare_files.py` and `tensor_distance.py`.
"""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensor_files.files import (
    trained,
    write_accelerate,
    write_distributed,
    write_lightning,
    write_safetensors,
    write_shards,
)

from samerun.comparing.compare_files import FileComparison, LeafDifference, compare_files
from samerun.errors import TensorFileError


def save(path: Path, value: Any) -> Path:
    torch.save(value, path)
    return path


def of(a: Any, b: Any, folder: Path) -> FileComparison:
    return compare_files(save(folder / "a.pt", a), save(folder / "b.pt", b))


def only(found: FileComparison) -> LeafDifference:
    assert found.verdict == "differs"
    (difference,) = found.differences
    return difference


Write = Callable[[Path, dict[str, Any]], Path]
# How it is written, and what the second bias and the epoch are called there.
WRITTEN: dict[str, tuple[Write, str, str | None]] = {
    "torch.pt": (save, "model.0.bias", "epoch"),
    "old.pth": (
        lambda path, states: (torch.save(states, path, _use_new_zipfile_serialization=False), path)[1],
        "model.0.bias",
        "epoch",
    ),
    "lightning.ckpt": (write_lightning, "state_dict.0.bias", "epoch"),
    "accelerate": (write_accelerate, "0.bias", None),
    "distributed": (write_distributed, "model.0.bias", "epoch"),
    "weights.safetensors": (lambda path, states: write_safetensors(path, states["model"]), "0.bias", None),
    "safetensors": (
        lambda path, states: write_shards(path, states["model"], 2, "safetensors"),
        "0.bias",
        None,
    ),
    "bin": (lambda path, states: write_shards(path, states["model"], 2, "bin"), "0.bias", None),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_checkpoint_of_each_framework(tmp_path: Path, kind: str) -> None:
    write, bias, epoch = WRITTEN[kind]
    states = trained()
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
    a, b = write(tmp_path / "a" / kind, states), write(tmp_path / "b" / kind, copy.deepcopy(states))
    found = compare_files(a, b)
    assert (found.verdict, found.differences) == ("same", [])
    assert found.tensors >= 4

    states["model"]["0.bias"].view(torch.int32)[2] ^= 1
    states["epoch"] = states["epoch"] if epoch is None else 4
    found = compare_files(a, write(tmp_path / "c" / kind, states))
    differing = {item.name: item for item in found.differences}
    assert set(differing) == {bias} | ({epoch} if epoch else set())
    distance = differing[bias].distance
    assert distance is not None
    assert (distance.first, distance.differing, distance.elements, distance.ulps) == ((2,), 1, 3, 1)
    assert distance.relative is not None and 0 < distance.relative < 1e-6
    if epoch:
        assert (differing[epoch].a, differing[epoch].b) == ("3", "4")


def test_state_of_the_optimizer_the_scheduler_and_the_generators_is_compared(tmp_path: Path) -> None:
    one, other = trained(), trained()
    other["optimizer"]["param_groups"][0]["lr"] = 0.5
    other["optimizer"]["state"][1]["exp_avg"][0] += 1
    other["scheduler"]["last_epoch"] = 7
    found = of(one, other, tmp_path)
    names = ["optimizer.state.1.exp_avg", "optimizer.param_groups.0.lr", "scheduler.last_epoch"]
    assert [item.name for item in found.differences] == names
    one["epoch"], other = 3, {**trained(), "epoch": 4}
    a, b = write_accelerate(tmp_path / "one", one), write_accelerate(tmp_path / "other", other)
    start = "random_states_0.pkl/"
    names = [item.name for item in compare_files(a, b).differences]
    assert f"{start}random_state.1.1" in names
    assert {f"{start}numpy_random_seed.1", f"{start}torch_manual_seed"} <= set(names)


def test_formats_may_differ(tmp_path: Path) -> None:
    weights = trained()["model"]
    paths = [
        save(tmp_path / "a.pt", weights),
        write_safetensors(tmp_path / "b.safetensors", weights),
        write_distributed(tmp_path / "c", weights),
    ]
    np.savez(tmp_path / "d.npz", **{name: tensor.numpy() for name, tensor in weights.items()})
    np.savez_compressed(tmp_path / "e.npz", **{name: tensor.numpy() for name, tensor in weights.items()})
    for path in [*paths, tmp_path / "d.npz", tmp_path / "e.npz"]:
        assert compare_files(paths[0], path).verdict == "same", path
    two, three = (write_shards(tmp_path / f"in{n}", weights, n, "safetensors") for n in (2, 3))
    found = compare_files(two, three)
    assert (found.verdict, found.tensors) == ("same", 4)
    assert "README.md" in found.notes[0]
    assert {item.what for item in compare_files(paths[0], two).differences} == {"only in B"}  # config.json


def test_what_is_not_the_same_is_named(tmp_path: Path) -> None:
    one = {"a": torch.zeros(2), "b": torch.zeros(2, 3), "c": torch.zeros(2), "d": torch.zeros(1), "e": 1}
    other = {"b": torch.zeros(3, 2), "c": torch.zeros(2).half(), "d": 0.0, "e": 1.0, "f": None}
    found = of(one, other, tmp_path)
    assert [(item.name, item.what) for item in found.differences] == [
        ("a", "only in A"),
        ("b", "shape"),
        ("c", "dtype"),
        ("d", "kind"),
        ("e", "value"),
        ("f", "only in B"),
    ]
    assert (found.differing_tensors, found.differing_values) == (4, 2)
    assert (found.differences[1].a, found.differences[1].b) == ("float32 [2, 3]", "float32 [3, 2]")


@pytest.mark.parametrize(
    ("one", "other", "ulps"),
    [(0.0, -0.0, 0), (1.0, 1.0000001, 1), (math.nan, 1.0, None), (1e-45, -1e-45, 2), (math.inf, 1.0, None)],
)
def test_tensors_are_compared_by_their_bits(
    tmp_path: Path, one: float, other: float, ulps: int | None
) -> None:
    distance = only(of({"x": torch.tensor([7, one])}, {"x": torch.tensor([7, other])}, tmp_path)).distance
    assert distance is not None
    assert (distance.first, distance.differing, distance.ulps) == ((1,), 1, ulps)
    assert of({"x": torch.tensor([one])}, {"x": torch.tensor([one])}, tmp_path).verdict == "same"


def test_plain_numbers_are_compared_by_their_bits(tmp_path: Path) -> None:
    assert of({"x": math.nan}, {"x": math.nan}, tmp_path).verdict == "same"
    for one, other in [(0.0, -0.0), (1, True), (1, 1.0), ("a", b"a"), (0.1, 0.1 + 1e-17 * 2)]:
        assert of({"x": one}, {"x": other}, tmp_path).verdict == "differs", (one, other)


def list_odd() -> dict[str, Any]:
    """A tensor of each kind, to be made anew for each file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        flat = torch.arange(24.0)
        return {
            "bfloat16": torch.randn(3).bfloat16(),
            "float16": torch.randn(3).half(),
            "float64": torch.randn(3).double(),
            "float8_e4m3fn": torch.randn(3).to(torch.float8_e4m3fn),
            "float8_e5m2": torch.randn(3).to(torch.float8_e5m2),
            "complex": torch.randn(3, dtype=torch.complex64),
            "conjugate": torch.randn(3, dtype=torch.complex128).conj(),
            "uint16": torch.arange(3).to(torch.uint16),
            "int64": torch.arange(3) - 1,
            "bool": torch.tensor([True, False, True]),
            "view": flat[3:7],
            "transposed": flat.reshape(4, 6).t(),
            "every second": flat[::2],
            "expanded": torch.ones(1, 2).expand(3, 2),
            "scalar": torch.tensor(1.5),
            "parameter": torch.nn.Parameter(torch.randn(2)),
            "quantized": torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.qint8),
            "by channel": torch.quantize_per_channel(
                torch.randn(2, 2), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.quint8
            ),
            "sparse": torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,)),
            "rows": torch.eye(3).to_sparse_csr(),
            "numpy": np.arange(6.0).reshape(2, 3),
            "column-major": np.asfortranarray(np.arange(6).reshape(2, 3)),
            "number": np.float32(2.5),
        }


def change(value: Any) -> Any:
    """The same with its last element changed."""
    if isinstance(value, np.generic):
        return value + 1
    if isinstance(value, np.ndarray):
        value[-1, -1] += 1
        return value
    if value.layout is torch.sparse_coo:
        return torch.sparse_coo_tensor([[0, 1]], [1.0, 3.0], (3,))
    if value.layout is torch.sparse_csr:
        return (2 * torch.eye(3)).to_sparse_csr()
    if value.is_quantized:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value.int_repr()  # has one
            return torch.quantize_per_tensor(value.dequantize() + 1, 0.1, 0, torch.qint8)
    with torch.no_grad():
        changed = value.clone()
        flat = changed.view(-1) if changed.is_contiguous() else changed.reshape(-1)
        if value.dtype is torch.bool:
            flat[-1] = ~flat[-1]
        else:
            flat[-1] = 9
    return flat.reshape(value.shape)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("kind", list_odd())
def test_tensors_of_every_kind(tmp_path: Path, kind: str, old: bool) -> None:
    paths = [tmp_path / f"{name}.pt" for name in "abc"]
    for path, value in zip(
        paths, (list_odd()[kind], list_odd()[kind], change(list_odd()[kind])), strict=True
    ):
        torch.save({"x": value}, path, _use_new_zipfile_serialization=not old)
    assert compare_files(paths[0], paths[1]).verdict == "same"
    assert compare_files(paths[0], paths[2]).verdict == "differs"


def test_the_element_of_a_view_is_found(tmp_path: Path) -> None:
    one, other = torch.arange(24.0).reshape(4, 6), torch.arange(24.0).reshape(4, 6)
    other[2, 5] = -1
    distance = only(of({"x": one.t()}, {"x": other.t()}, tmp_path)).distance
    assert distance is not None
    assert (distance.first, distance.first_a, distance.first_b) == ((5, 2), "17.0", "-1.0")
    assert (
        compare_files(save(tmp_path / "c.pt", one.t()), save(tmp_path / "d.pt", one.t().contiguous())).verdict
        == "same"
    )


def test_tied_weights_and_tensors_of_no_size(tmp_path: Path) -> None:
    shared, changed = torch.zeros(3), torch.zeros(3)
    changed[1] = 1
    found = of(
        {"a": shared, "b": shared, "c": torch.zeros(0, 3)},
        {"a": changed, "b": changed, "c": torch.zeros(0, 3)},
        tmp_path,
    )
    assert [item.name for item in found.differences] == ["a", "b"]
    assert only(of({"c": torch.zeros(0, 3)}, {"c": torch.zeros(3, 0)}, tmp_path)).what == "shape"


def test_a_tensor_of_many_chunks_is_compared_to_its_end(tmp_path: Path) -> None:
    one = torch.zeros(1_000_003)
    other = one.clone()
    other[-1] = 1
    other[300_000] = 2
    distance = only(of(one, other, tmp_path)).distance
    assert distance is not None
    assert (distance.first, distance.differing, distance.first_b) == ((300_000,), 2, "2.0")


def test_a_sharded_tensor_is_put_together(tmp_path: Path) -> None:
    """Two ranks' halves, as the index of a DCP folder describes them, are the whole of one rank."""
    from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex

    weight = torch.arange(12.0).reshape(4, 3)
    one, other = write_distributed(tmp_path / "one", {"w": weight}), tmp_path / "other"
    other.mkdir()
    index = pickle.loads((one / ".metadata").read_bytes())
    ((_, stored),) = index.storage_data.items()
    kind = type(stored)
    chunks, storage = [], {}
    for number, part in enumerate((weight[:2], weight[2:])):
        save(other / f"__{number}_0.distcp", part.clone())
        size = (other / f"__{number}_0.distcp").stat().st_size
        place = torch.Size([2 * number, 0])
        chunks.append(ChunkStorageMetadata(place, torch.Size([2, 3])))
        storage[MetadataIndex("w", place, number)] = kind(f"__{number}_0.distcp", 0, size)
    index.state_dict_metadata["w"].chunks = chunks
    index.storage_data = storage
    (other / ".metadata").write_bytes(pickle.dumps(index))
    assert compare_files(one, other).verdict == "same"
    save(other / "__1_0.distcp", weight[2:] + torch.tensor([0, 0, 1.0]))
    assert only(compare_files(one, other)).distance.first == (2, 2)  # type: ignore[union-attr]


def test_a_file_that_names_code_is_equal_to_itself_only_within_a_folder(tmp_path: Path) -> None:
    """The arguments of transformers' Trainer are objects of its own."""
    a, b = (write_shards(tmp_path / name, trained()["model"], 2, "bin") for name in "ab")
    for path in (a, b):
        (path / "training_args.bin").write_bytes(pickle.dumps(Path.home))
    assert compare_files(a, b).verdict == "same"
    (b / "training_args.bin").write_bytes(pickle.dumps(np.random.rand))
    found = compare_files(a, b)
    assert found.verdict == "unknown"
    assert "training_args.bin" in str(found.reason)
    with pytest.raises(TensorFileError, match="may run it"):
        compare_files(a / "training_args.bin", a / "training_args.bin")


def test_nothing_to_compare_is_unknown(tmp_path: Path) -> None:
    found = compare_files(*(write_safetensors(tmp_path / f"{name}.safetensors", {}) for name in "ab"))
    assert (found.verdict, found.reason) == ("unknown", "there is nothing in them to compare")
