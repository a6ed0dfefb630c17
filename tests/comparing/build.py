"""Writes small runs by hand: a training of a few steps, to be changed in one place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from samerun.runs.manifest import Manifest
from samerun.runs.record import Record as WrittenRecord
from samerun.runs.schema import COMPARED
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter

Record = dict[str, Any]
NAMES = ("conv.weight", "conv.bias", "fc.weight")


def d(text: str) -> bytes:
    """A digest that stands for this text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def record(step: int, phase: str, what: str, name: str | None = None, **columns: Any) -> Record:
    columns.setdefault("digest", d(f"{step} {phase} {what} {name}"))
    return {"step": step, "phase": phase, "what": what, "name": name, **columns}


def group(step: int, phase: str, what: str, name: str = "SGD", seed: str = "") -> Record:
    parts = b"".join(d(f"{seed}{step} {what} {part}") for part in NAMES)
    return record(step, phase, what, name, parts=parts, digest=d(parts.hex()))


def names(step: int, what: str, name: str = "SGD") -> Record:
    return record(step, "setup", "names", f"{what}:{name}", detail=json.dumps(NAMES), digest=None)


def end(steps: int, how: str = "finished") -> Record:
    return record(max(steps - 1, 0), "end", "end", how, digest=d(str(steps)))


def one_step(step: int) -> list[Record]:
    indices = record(
        step,
        "data",
        "indices",
        "Digits",
        digest=d(f"indices {step}"),
        inputs=step,
        detail='{"workers": 2}',
    )
    return [
        indices,
        record(step, "data", "batch", "Digits"),
        record(step, "forward", "input", "CNN"),
        record(step, "forward", "output", "CNN"),
        record(step, "forward", "loss", "backward", value=1.0 / (step + 1), call_site="train.py:31"),
        group(step, "optimizer", "gradients"),
        group(step, "optimizer", "parameters"),
        group(step, "optimizer", "buffers", "buffers"),
        group(step, "optimizer", "optimizer"),
        record(step + 1, "forward", "rng", "torch-cpu"),
        record(step, "evaluation", "output", "CNN"),
        record(step, "evaluation", "saved", "model.pt"),
    ]


def training(steps: int = 3, how: str = "finished") -> list[Record]:
    """The records of a whole training."""
    rows = [names(0, what) for what in ("gradients", "parameters", "optimizer")]
    rows += [
        record(0, "setup", "setting", "threads", detail='{"threads": 2}', digest=None),
        group(0, "setup", "parameters", "CNN"),
        record(0, "setup", "rng", "torch-cpu"),
        record(0, "setup", "rng", "python-random"),
    ]
    for step in range(steps):
        rows += one_step(step)
    return [*rows, end(steps, how)]


def compared(rows: Iterable[Record]) -> list[int]:
    """Where the records that decide are."""
    return [at for at, row in enumerate(rows) if row["what"] in COMPARED]


def flip(row: Record) -> None:
    """Change one bit of a record, in the last part of a group."""
    if parts := row.get("parts"):
        row["parts"] = parts[:-1] + bytes([parts[-1] ^ 1])
    row["digest"] = row["digest"][:3] + bytes([row["digest"][3] ^ 1]) + row["digest"][4:]


def find(rows: list[Record], what: str, step: int = 0, phase: str | None = None) -> int:
    return next(
        at
        for at, row in enumerate(rows)
        if row["what"] == what and row["step"] == step and phase in (None, row["phase"])
    )


def operation(step: int, name: str, out: str, **columns: Any) -> Record:
    """An operation whose inputs are equal in all runs unless `inputs` says otherwise."""
    columns = {"inputs": 7, "module": "CNN", "call_site": "model.py:9", "digest": d(out), **columns}
    return record(step, columns.pop("phase", "forward"), "operation", name, **columns)


class Builder:
    """Writes runs into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def __call__(
        self,
        *rows: list[Record],
        traces: Mapping[str, list[Record]] | None = None,
        closed: bool = True,
        meta: Mapping[str, Any] | None = None,
        change: Callable[[list[Record]], Any] | None = None,
        **manifest: Any,
    ) -> Run:
        """A run whose rank0 (and rank1, …) have these rows; `traces` are others by their stem."""
        self.count += 1
        path = self.folder / f"run{self.count}"
        path.mkdir()
        for rank, of_rank in enumerate(rows):
            if change is not None:
                change(of_rank)
            write(
                path, f"rank{rank}", of_rank, {"rank": rank, "digests": {"cpu": "x"}, **(meta or {})}, closed
            )
        for stem, of_stem in (traces or {}).items():
            rank = int(stem.removeprefix("rank").split(".")[0])
            write(path, stem, of_stem, {"rank": rank, "digests": {"cpu": "x"}}, closed)
        values = {"outcome": "finished", "exit_code": 0, **manifest}
        Manifest(path.name, ("python", "train.py"), "/there", "2026-11-20T00:00:00Z", **values).write(path)
        return Run(path)


def write(folder: Path, stem: str, rows: list[Record], meta: Mapping[str, Any], closed: bool) -> None:
    writer = TraceWriter(folder / f"{stem}.trace.arrow", meta)
    for at, row in enumerate(rows):
        writer.append(WrittenRecord(**row))
        if at % 7 == 0:
            writer.flush()
    writer.flush()
    if closed:
        writer.close()
