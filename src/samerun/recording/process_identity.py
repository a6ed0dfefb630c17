"""Which process this is, among those of one run: its rank, its role and the name of its trace."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from samerun import callsite
from samerun.ranks.identity import rank
from samerun.runs.schema import HELPER, WORKER
from samerun.runs.secrets_in_text import hide_secrets

_born = os.getpid()


_WORKERS = "torch.utils.data._utils.worker"
_EXECUTORS = "concurrent.futures.process"


def is_in_worker() -> bool:
    """Whether this is a DataLoader worker, whose records are evidence of its parent's run."""
    module = sys.modules.get(_WORKERS)
    return module is not None and module.get_worker_info() is not None


def becomes_worker() -> bool:
    """Whether this is, or is about to be, such a worker: torch seeds it before it says so."""
    return _find_target() == _WORKERS or is_in_worker()


def _find_target() -> str:
    """The module of the function that multiprocessing had this process begin with, "" for none."""
    module = sys.modules.get("multiprocessing.process")
    target = None if module is None else getattr(module.current_process(), "_target", None)
    return str(getattr(target, "__module__", ""))


def is_child() -> bool:
    """Whether multiprocessing started this process."""
    module = sys.modules.get("multiprocessing.process")
    if module is None:
        return False
    # one that was spawned learns of its parent only after it has imported the script, and torch with it
    return module.parent_process() is not None or hasattr(module.current_process(), "_inheriting")


def is_prepared() -> bool:
    """Whether this process knows what it is to do: a spawned one imports the script before that."""
    module = sys.modules.get("multiprocessing.process")
    return module is None or not hasattr(module.current_process(), "_inheriting")


def find_role() -> str:
    """What this process is to its rank: "" for the training process itself.

    Stable from run to run: made of the worker's id or of the name that multiprocessing gave.
    """
    worker = sys.modules.get("torch.utils.data._utils.worker")
    if worker is not None and (info := worker.get_worker_info()) is not None:
        return f"{WORKER}{info.id}"
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and (name := multiprocessing.current_process().name) != "MainProcess":
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        if _find_target() == _EXECUTORS:  # which names its workers as it would any process
            name = re.sub(r"Process-(?=\d+$)", "PoolWorker-", name)
        return f"process-{name}" if name.startswith((WORKER, HELPER)) else name  # the user's word for it
    return "fork" if os.getpid() != _born else ""


def read_argv() -> list[str]:
    """The command line of this process, without secrets, as it would be in the folder that was copied."""
    return [callsite.name_in_original(part) for part in hide_secrets(sys.orig_argv)]


def digest_argv() -> str:
    """Eight hex digits over the command line of this process, to tell programs of one run apart."""
    program, *arguments = read_argv() or [""]
    arguments = [os.path.basename(program), *arguments]
    return hashlib.sha256("\0".join(arguments).encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _walk_stems(role_: str) -> Iterator[str]:
    base = f"rank{rank()}"
    yield f"{base}.{role_}" if role_ else base
    base = f"{base}.{role_ or digest_argv()}"
    for n in range(1, 100_000):
        yield f"{base}.{n}"


def claim(run: Path, as_role: str | None = None) -> str:
    """The stem of this process's trace, claimed for it alone by creating the file; by its role, or another.

    Raises OSError when the run's folder cannot be written.
    """
    for stem in _walk_stems(find_role() if as_role is None else as_role):
        try:
            os.close(os.open(run / f"{stem}.trace.arrow", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return stem
    raise OSError(f"no free name for a trace in {run}")


def pair(rank_: int, stem: str, role_: str, program: str) -> str:
    """What tells a process of one run from those of another: rank|role|program|ordinal."""
    return f"{rank_}|{role_}|{program}|{read_ordinal(stem)}"


def read_ordinal(stem: str) -> int:
    """How many processes of the same role and program claimed a name before this one."""
    last = stem.rsplit(".", 1)[-1]
    return int(last) if last.isdigit() else 0
