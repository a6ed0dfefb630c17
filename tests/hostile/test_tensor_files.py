"""Checkpoints from a stranger: none is run, each is refused in one line, in bounded time and memory."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tensor_files.files import trained, write_distributed, write_safetensors, write_shards

from .calling import SECRET, ask

_MARK = "was-run"


class Code:
    """Unpickled, it makes a folder."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (_MARK,)


def _safetensors(header: object, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def _entry(**changed: object) -> bytes:
    return _safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changed}}, bytes(8))


def _saved(value: object, **options: bool) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def _array(save: Callable[..., None], value: object) -> bytes:
    file = io.BytesIO()
    save(file, value)
    return file.getvalue()


def _zipped(entries: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file.getvalue()


def _laughs() -> bytes:
    """Ten lists, each of ten times the one before it."""
    lists = (b"]q%c(" % n + b"h%c" % (n - 1) * 10 + b"e" for n in range(1, 30))
    return b"\x80\x02]q\0K\x01a" + b"".join(lists) + b"."


def _copies() -> bytes:
    """A dictionary of 256 items, copied a million times."""
    items = b"".join(b"K%cN" % n for n in range(256))
    start = b"\x80\x02ccollections\nCounter\nq\0}q\x01(" + items + b"u0"
    return start + b"h\0h\x01\x85R0" * 1_100_000 + b"."


def _collisions() -> bytes:
    """A dictionary whose keys all have the hash 0."""
    keys = ((n * (2**61 - 1)).to_bytes(10, "little") for n in range(1, 50_000))
    return b"\x80\x02}(" + b"".join(b"\x8a\x0a" + key + b"N" for key in keys) + b"u."


def _encrypted() -> bytes:
    data = bytearray(_zipped({"a/data.pkl": b"N."}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


CODE = {
    "zip.pt": lambda: _saved({"w": Code()}),
    "old.pth": lambda: _saved({"w": Code()}, _use_new_zipfile_serialization=False),
    "plain.pkl": lambda: pickle.dumps({"w": Code()}),
    "dropped.pkl": lambda: b"\x80\x02cos\nmkdir\n(X\x07\0\0\0was-runtR0N.",
    "protocol-0.bin": lambda: b"cos\nmkdir\n(S'was-run'\ntR.",
    "instance.pkl": lambda: b"(S'was-run'\nios\nmkdir\n.",
    "object.pkl": lambda: b"(cos\nmkdir\nS'was-run'\no.",
    "extension.pkl": lambda: b"\x80\x02\x82\x01.",
    "within.pt": lambda: _saved({"w": b"", "x": [Code()]}),
    "objects.npy": lambda: _array(np.save, np.array([Code()], object)),
    "objects.npz": lambda: _array(np.savez, np.array([Code()], object)),
    "jit.pt": lambda: _zipped({"a/data.pkl": b"N.", "a/constants.pkl": b"N."}),
}
DAMAGED = {
    "empty.pt": lambda: b"",
    "half.pt": lambda: _saved(torch.zeros(99))[:500],
    "half-old.pt": lambda: _saved(torch.zeros(99), _use_new_zipfile_serialization=False)[:-9],
    "no-storage.pt": lambda: _zipped({"a/data.pkl": pickle_of(_saved(torch.zeros(2)))}),
    "no-pickle.pt": lambda: _zipped({"a/b": b""}),
    "text.ckpt": lambda: b"not a checkpoint",
    "unknown.dat": lambda: bytes(99),
    "encrypted.pt": _encrypted,
    "empty.safetensors": lambda: b"",
    "long-header.safetensors": lambda: (2**62).to_bytes(8, "little") + b"{}",
    "deep.safetensors": lambda: (9_000_000).to_bytes(8, "little") + b"[" * 9_000_000,
    "list.safetensors": lambda: _safetensors([]),
    "claims.safetensors": lambda: _entry(shape=[2**40], data_offsets=[0, 2**42]),
    "negative.safetensors": lambda: _entry(shape=[-2]),
    "odd.safetensors": lambda: _entry(data_offsets=[0, 7]),
    "words.safetensors": lambda: _entry(shape="ab"),
    "unknown.safetensors": lambda: _entry(dtype="F3", shape=[5]),
    "half.npy": lambda: _array(np.save, np.zeros(99))[:200],
    "claims.npy": lambda: _array(np.save, np.zeros(99)).replace(b"(99,)", b"(2**9"),
    "bomb.npz": lambda: _array(np.savez_compressed, np.zeros(100_000_000, np.uint8)),
    "bomb.pt": lambda: _zipped({"a/data.pkl": b"]" + b"N0" * 50_000_000 + b"."}, zipfile.ZIP_DEFLATED),
    "many-names.pt": lambda: _zipped({f"a/{'x' * 2000}{n}": b"" for n in range(9000)}),
    "expanded.pt": lambda: _saved(torch.zeros(1).expand(10**12)),
    "laughs.pkl": _laughs,
    "circle.pkl": lambda: b"\x80\x02]q\0h\0a.",
    "deep.pkl": lambda: b"\x80\x02N" + b"\x85" * 300_000 + b".",
    "deep-key.pkl": lambda: b"\x80\x02}N" + b"\x85" * 300_000 + b"Ns.",
    "copies.pkl": _copies,
    "collisions.pkl": _collisions,
    "opcodes.pkl": lambda: b"\x80\x02" + b"N0" * 2_600_000 + b"N.",
    "long-name.pkl": lambda: pickle.dumps({"x" * 3000: 1}),
    "embedded.pkl": lambda: pickle.dumps(torch.zeros(2)),
}


def pickle_of(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read("archive/data.pkl")


@pytest.mark.parametrize("name", CODE)
def test_code_is_refused_and_not_run(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(CODE[name]())
    said = ask(tmp_path, "diff", name, name)
    assert said.code == 3
    assert said.names(name)
    assert any(
        word in said.words for word in ("posix.mkdir", "os.mkdir", "extension", "objects", "torch.jit")
    )
    assert not (tmp_path / _MARK).exists()


_SLOW = {"opcodes.pkl", "copies.pkl"}  # take seconds to be refused


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in _SLOW else n for n in DAMAGED]
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(DAMAGED[name]())
    said = ask(tmp_path, "diff", name, name)
    assert said.code == 3
    assert said.names(f"{name} is not read")


@pytest.mark.parametrize("seed", range(6))
def test_flipped_bytes_are_an_answer(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    write_safetensors(tmp_path / "b.safetensors", trained()["model"])
    np.savez(tmp_path / "c.npz", a=np.arange(9.0))
    for name, whole in {
        "a.pt": _saved(trained()),
        "d.pt": _saved(trained(), _use_new_zipfile_serialization=False),
        "b.safetensors": (tmp_path / "b.safetensors").read_bytes(),
        "c.npz": (tmp_path / "c.npz").read_bytes(),
    }.items():
        for _ in range(8):
            data = bytearray(whole)
            for _ in range(chance.choice([1, 1, 5])):
                data[chance.randrange(len(data))] = chance.randrange(256)
            (tmp_path / name).write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
            ask(tmp_path, "diff", name, name)


def test_pipes_links_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pt")
    (tmp_path / "loop.pt").symlink_to("loop.pt")
    (tmp_path / "gone.pt").symlink_to("nowhere")
    (tmp_path / "zero.pt").symlink_to("/dev/zero")
    for name in ("pipe.pt", "loop.pt", "gone.pt", "zero.pt"):
        said = ask(tmp_path, "diff", name, name)
        assert said.code == 3 and said.names(f"{name} could not be read")


def test_a_folder_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps({"a": SECRET}))
    folder = write_shards(tmp_path / "a", trained()["model"], 2, "safetensors")
    assert ask(tmp_path, "diff", "a", "a").code == 0
    (folder / "x.json").symlink_to(tmp_path / "secret.json")
    assert "link" in ask(tmp_path, "diff", "a", "a").err
    (folder / "x.json").unlink()
    index = folder / "model.safetensors.index.json"
    for shard in ("../secret.json", "gone.safetensors"):
        index.write_text(json.dumps({"weight_map": {"w": shard}}))
        said = ask(tmp_path, "diff", "a", "a")
        assert said.code == 3 and said.names(f"names the shard {shard!r}")


def test_files_of_a_hugging_face_cache_are_links_that_are_followed(tmp_path: Path) -> None:
    cache = tmp_path / "models--a"
    (cache / "blobs").mkdir(parents=True)
    (cache / "snapshots").mkdir()
    folder = write_shards(cache / "snapshots" / "1", trained()["model"], 2, "safetensors")
    for number, path in enumerate(sorted(folder.iterdir())):
        shutil.move(path, cache / "blobs" / str(number))
        path.symlink_to(f"../../blobs/{number}")
    assert ask(tmp_path, "diff", str(folder), str(folder)).code == 0


def test_an_index_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = write_distributed(tmp_path / "a", {"w": torch.zeros(2)})
    index = folder / ".metadata"
    whole = index.read_bytes()
    for name in (b"../_0.distcp", b"__9_0.distcp"):
        index.write_bytes(whole.replace(b"__0_0.distcp", name))
        assert ask(tmp_path, "diff", "a", "a").code == 3
    index.write_bytes(whole)
    assert ask(tmp_path, "diff", "a", "a").code == 0


def test_names_and_values_are_shown_without_what_a_terminal_would_act_on(tmp_path: Path) -> None:
    for name, value in (("a", "\x1b[31m"), ("b", "\u202e")):
        torch.save({f"w\x1b[2J{name}": torch.zeros(2), "v": value, "n": 10**5000}, tmp_path / f"{name}.pt")
    said = ask(tmp_path, "diff", "a.pt", "b.pt")
    assert said.code == 1
