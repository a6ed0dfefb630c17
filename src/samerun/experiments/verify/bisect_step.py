"""One step of `git bisect run`: the commit that is checked out, run and compared with the lock."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.verify.clone import Clone
from samerun.experiments.verify.request import VerifyRequest
from samerun.experiments.verify.verify import verify
from samerun.runs.lock.content import EVERYTHING, OUTSIDE
from samerun.runs.lock.file import read_lock
from samerun.runs.store import Store

_EXIT = {"same": 0, "differs": 1}  # as `git bisect run` reads them
_SKIP = 125


@dataclass(frozen=True)
class Setup:
    """What every step needs: it is another process."""

    lock: str  # a copy, which no commit replaces
    top: str  # of the clone
    folder: str  # in the clone
    head: str
    origin: str  # the user's folder, which has the inputs that git does not
    store: str
    log: str  # a line of JSON for each commit that was tried
    command: tuple[str, ...]
    steps: int | None
    timeout: float | None

    @classmethod
    def make(cls, asked: VerifyRequest, clone: Clone) -> Setup:
        """In the folder beside the clone."""
        place = clone.top.parent
        shutil.copyfile(asked.path, place / "samerun.lock")
        (place / "tried").touch()
        request = asked.request
        return cls(
            lock=str(place / "samerun.lock"),
            top=str(clone.top),
            folder=str(clone.folder),
            head=clone.head,
            origin=str(request.folder),
            store=str(place / ".samerun"),
            log=str(place / "tried"),
            command=request.command,
            steps=request.steps,
            timeout=request.timeout,
        )

    def to_json(self) -> str:
        """For the file that each step reads."""
        return json.dumps(asdict(self))


def main(path: str) -> int:
    """The exit code for git: 0 the locked bits, 1 others, 125 not known."""
    values = json.loads(Path(path).read_text(encoding="utf-8"))
    setup = Setup(**{**values, "command": tuple(values["command"])})
    return _EXIT.get(try_commit(setup), _SKIP)


def try_commit(setup: Setup) -> str:
    """What verify answers on the commit that is checked out; "failed" where it cannot be run."""
    clone = Clone(Path(setup.top), Path(setup.folder), setup.head)
    clone.clean()
    commit = clone.git("rev-parse", "HEAD").strip()
    try:
        verdict = _verify(setup) if clone.folder.is_dir() else "failed"
    finally:
        clone.clean()
    with Path(setup.log).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"commit": commit, "verdict": verdict}) + "\n")
    return verdict


def _verify(setup: Setup) -> str:
    lock = read_lock(Path(setup.lock))
    folder = Path(setup.folder)
    copy_inputs(Path(setup.origin), folder, lock.inputs)
    request = Request(
        setup.command,
        folder,
        Store(Path(setup.store)),
        runs=1,
        steps=setup.steps,
        control=lock.make_control(),
        confirm=False,
        timeout=setup.timeout,
    )
    return verify(VerifyRequest(request, lock, Path(setup.lock), any_inputs=True), Runner()).verdict


def copy_inputs(origin: Path, folder: Path, names: Iterable[str]) -> None:
    """Give the checkout the inputs that git does not have, by value: nothing is written through a link."""
    for name in names:
        if name.startswith(OUTSIDE) or name == EVERYTHING:
            continue
        found = (origin / name).rglob("*") if name.endswith("/") else [origin / name]
        for path in found:
            to = folder / path.relative_to(origin)
            if path.is_file() and not to.exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, to)
