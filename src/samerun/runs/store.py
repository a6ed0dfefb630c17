"""The folder that holds the runs."""

from __future__ import annotations

import difflib
import os
import re
import secrets
import shutil
import stat
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

from samerun.errors import RunError, RunNotFound
from samerun.runs.ignored import IgnoredNames
from samerun.runs.manifest import FILE, Manifest
from samerun.runs.reading import Trace, read_trace
from samerun.runs.schema import only_helps
from samerun.runs.trace import SUFFIX

ROOT = Path(".samerun")
_ID = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{6}")  # in the order of time, to the millisecond
_LEAST = 1 << 20  # bytes that must be free for a run to begin
_LAST = re.compile(r"last(?:~(\d{1,9}))?", re.ASCII)


@dataclass(frozen=True)
class Run:
    """One run on disk."""

    path: Path
    ignored: IgnoredNames = field(default=IgnoredNames(), compare=False)  # what of it is not to be compared

    @property
    def id(self) -> str:
        """The name of its folder."""
        return self.path.name

    @cached_property
    def manifest(self) -> Manifest:
        """Its manifest, as read the first time. Raises RunError, SchemaError."""
        return Manifest.read(self.path)

    @classmethod
    def unwritten(cls, path: Path, manifest: Manifest) -> Run:
        """A run whose folder did not take this manifest: the disk is full."""
        run = cls(path)
        run.__dict__["manifest"] = manifest  # where cached_property looks first
        return run

    def ignoring(self, names: IgnoredNames) -> Run:
        """The same run, of which what is called so is not to be compared."""
        run = Run(self.path, names)
        run.__dict__.update({key: value for key, value in vars(self).items() if key == "manifest"})
        return run

    @property
    def outcome(self) -> str:
        """What became of it, in a word of runs.manifest.OUTCOMES."""
        return self.manifest.outcome

    @property
    def steps(self) -> int:
        """Optimizer steps completed, 0 when that is not known."""
        return self.manifest.steps or 0

    @property
    def duration_s(self) -> float:
        """How long it took, 0.0 when that is not known."""
        return self.manifest.duration_s or 0.0

    @property
    def lies_in_its_folder(self) -> bool:
        """Whether its working directory is the folder that holds it, or samerun's own, or below that.

        Elsewhere only its manifest, which may be a stranger's, leads to that folder.
        """
        try:
            there, store = Path(self.manifest.cwd).resolve(), self.path.parents[1]
            holds = store.name == ROOT.name and there == store.parent.resolve()
            return holds or there.is_relative_to(Path.cwd().resolve())
        except (OSError, RuntimeError, ValueError, IndexError):
            return False

    def trace_paths(self) -> list[Path]:
        """The files of its traces, in the order of their names.

        Without those of workers and helping programs that were ended, as a pool ends its own, before they had
        written what they saw: that is evidence, and no record is missing.
        """
        return sorted(path for path in self.path.glob(f"*{SUFFIX}") if not _is_empty_help(path))

    def traces(self) -> dict[str, Trace]:
        """Its traces by process. Raises TraceError, SchemaError for the first that cannot be read."""
        return {path.name.removesuffix(SUFFIX): read_trace(path) for path in self.trace_paths()}


def _is_empty_help(path: Path) -> bool:
    if not only_helps(path.name.removesuffix(SUFFIX)):
        return False
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


class Store:
    """Runs under `root`/runs. The folder is made with the first run."""

    def __init__(self, root: Path = ROOT, ignored: IgnoredNames | None = None) -> None:
        self.root = root
        self.ignored = ignored or IgnoredNames()  # what of its runs is not to be compared
        self.runs = root / "runs"

    def refusal(self) -> str | None:
        """Why no run can be kept here, in the system's words; None when one can."""
        try:
            path = self.create()
            try:
                (path / "probe.txt").write_bytes(bytes(_LEAST))
            finally:
                shutil.rmtree(path, ignore_errors=True)
        except OSError as error:
            return error.strerror or str(error)
        except RunError as error:
            reason = error.__cause__
            return getattr(reason, "strerror", None) or str(error)
        return None

    def create(self) -> Path:
        """The new, empty folder of a run; no two callers ever get the same one.

        Raises RunError when it cannot be made.
        """
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            ignore = self.root / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            while True:
                now = datetime.now(timezone.utc)
                stamp = f"{now:%Y%m%dT%H%M%S}.{now.microsecond // 1000:03d}Z"
                path = self.runs / f"{stamp}-{secrets.token_hex(3)}"
                try:
                    path.mkdir(0o700)  # it holds what the command printed
                except FileExistsError:
                    continue
                return path.absolute()
        except OSError as error:
            raise RunError(
                f"No run can be kept in {self.runs}: {error.strerror or error}. "
                "Start samerun in a folder that can be written, or free some space."
            ) from error

    def list(self) -> list[Run]:
        """Every run, oldest first."""
        try:
            folders = sorted(path for path in self.runs.iterdir() if _ID.fullmatch(path.name))
        except OSError:
            return []
        return [Run(path.absolute(), self.ignored) for path in folders if path.is_dir()]

    def find(self, name: str) -> Run:
        """The run of this id, start of an id, or folder; "last" is the newest, "last~1" the one before it.

        Raises RunNotFound when no run, or more than one, answers to the name.
        """
        if os.path.isdir(name) and os.path.lexists(os.path.join(name, FILE)):
            return Run(Path(name).absolute(), self.ignored)
        runs = self.list()
        if last := _LAST.fullmatch(name):
            back = int(last[1] or 0)
            if back >= len(runs):
                raise RunNotFound(f"There is no run {name}: {self.runs} holds {len(runs)}.{_LIST}")
            return runs[-1 - back]
        found = [run for run in runs if name and run.id.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise RunNotFound(
                f"{name!r} is the start of {len(found)} runs: {_list_names(found)}. Give more of it."
            )
        near = difflib.get_close_matches(name, [run.id for run in runs], n=3, cutoff=0.5)
        close = f" Did you mean {' or '.join(near)}?" if near else ""
        raise RunNotFound(
            f"No run {name!r} in {self.runs}, and no folder of that name is a run.{close}{_LIST}"
        )

    def remove(self, run: Run) -> None:
        """Delete the run's folder. Raises RunError when it does not look like a run of this store."""
        path = run.path
        ours = path.parent.absolute().resolve() == self.runs.absolute().resolve()
        if not ours or not _ID.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            raise RunError(f"{path} is not the folder of a run in {self.runs}; nothing was deleted.")
        odd = [item.name for item in path.iterdir() if not _belongs(item)]
        if odd:
            raise RunError(
                f"{path} holds {', '.join(sorted(odd)[:3])}, which samerun does not write, so nothing was "
                "deleted. Move it away, or delete the folder yourself."
            )
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise RunError(f"{path} could not be deleted: {error.strerror or error}.") from None


_LIST = " `samerun runs` lists them."
_WRITTEN = {
    ".json",
    ".arrow",
    ".answers",
    ".txt",
    ".progress",
    ".stopped",
    ".rests",
    ".seen",
}  # by any part of samerun


def _belongs(item: Path) -> bool:
    """Whether samerun writes such a file into a run's folder."""
    return item.is_file() and (item.suffix in _WRITTEN or item.name.startswith(f".{FILE}."))


def _list_names(runs: list[Run]) -> str:
    shown = ", ".join(run.id for run in runs[:3])
    return shown if len(runs) <= 3 else f"{shown}, …"
