"""A script of the corpus and the truth about it.

A case is a folder `cases/<name>/`: a script with the modules and folders beside it, and `truth.toml`:

    style = ["cnn", "class"]          # what kind of training it is, for people
    script = "train.py"               # the default
    command = ["bash", "launch.sh"]   # in place of the script; `python` in it is the one that runs this
    threads = 2                       # OMP_NUM_THREADS; default 1
    needs = ["/dev/shm"]              # paths without which it is left out
    packages = ["lightning"]          # modules without which it is left out; `make frameworks` installs them
    leaves_files = true               # a run reads what the one before it left: pairs start in a fresh folder
    rare = true                       # fires in fewer than 9 of 10 pairs: never counted as a false `same`
    hard = "late start"               # why it is hard, if it is
    unseen = ["loss"]                 # what does not show it, checked by `verify.py`
    aside = ["input", "output"]       # of a clean one: what may differ, since it reaches nothing

    [[fault]]                         # none: the script is clean, and the truth is `same`
    source = "python-random"          # id of the catalogue
    accept = ["os-entropy"]           # other ids that are as right
    step = [3, 4]                     # 0-based optimizer step of the first difference; left out: any
    phase = ["data"]                  # left out: any
    operation = ["index_put_"]        # where the first difference is an operation
    mendable = false                  # no edit of the script mends it; default true
    mend = [["train.py", "old", "new"]]   # replacements by hand that mend it, each of a text that occurs once
    environment = { PYTHONHASHSEED = "0" }  # and settings that it takes besides

The lines accepted are those of its `.py` and `.sh` files, and of the code cells of its notebooks, that end in
`# fault: <source>`. These comments and the line `# drawn from: …` are taken out of the copy that is run, so
that nothing under test can profit from them.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).parent.parent / "cases"


@dataclass(frozen=True)
class Fault:
    """One planted fault, and how it first shows."""

    source: str
    accept: tuple[str, ...] = ()
    step: tuple[int, ...] = ()  # (): any
    phase: tuple[str, ...] = ()  # (): any
    operation: tuple[str, ...] = ()  # (): none is asked for
    mendable: bool = True
    mend: tuple[tuple[str, str, str], ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        """Every id that is right."""
        return (self.source, *self.accept)


@dataclass(frozen=True)
class Case:
    """A script and what is true of it."""

    name: str
    folder: Path
    style: tuple[str, ...]
    faults: tuple[Fault, ...]
    script: str = "train.py"
    command: tuple[str, ...] = ()  # (): the script
    threads: int = 1
    needs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    leaves_files: bool = False
    rare: bool = False
    hard: str | None = None
    unseen: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Nothing is planted: its runs are the same."""
        return not self.faults

    @property
    def missing(self) -> list[str]:
        """What this machine lacks to run it."""
        paths = [path for path in self.needs if not Path(path).exists()]
        return paths + [name for name in self.packages if importlib.util.find_spec(name) is None]


def load(names: list[str] | None = None) -> list[Case]:
    """The cases of these names (a part of a name selects all that hold it), or all of them."""
    folders = sorted(path.parent for path in CASES.glob("*/truth.toml"))
    if names:
        unknown = [name for name in names if not any(name in folder.name for folder in folders)]
        if unknown:
            raise SystemExit(f"no case is called {', '.join(unknown)}; they are the folders of {CASES}")
        exact = {folder.name for folder in folders}
        folders = [
            folder
            for folder in folders
            if any(name == folder.name or (name not in exact and name in folder.name) for name in names)
        ]
    return [read(folder) for folder in folders]


def read(folder: Path) -> Case:
    """The case in a folder; ValueError when its truth has a key or a value that has no meaning."""
    values = tomllib.loads((folder / "truth.toml").read_text())
    faults = tuple(_fault(folder, item) for item in values.pop("fault", []))
    for key in ("style", "command", "needs", "packages", "unseen", "aside"):
        values[key] = tuple(values.get(key, ()))
    try:
        return Case(folder.name, folder, faults=faults, **values)
    except TypeError as error:
        raise ValueError(f"{folder / 'truth.toml'}: {error}") from None


def _fault(folder: Path, item: dict[str, Any]) -> Fault:
    for key in ("step", "phase", "operation", "accept"):
        if key in item and not isinstance(item[key], list):
            item[key] = [item[key]]
    for key in ("step", "phase", "operation", "accept"):
        item[key] = tuple(item.get(key, ()))
    item["mend"] = tuple(tuple(edit) for edit in item.get("mend", ()))
    try:
        return Fault(**item)
    except TypeError as error:
        raise ValueError(f"{folder / 'truth.toml'}: {error}") from None
