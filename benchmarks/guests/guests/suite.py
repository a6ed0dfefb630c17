"""What the table of suites says of each: where it comes from, and which of its tests are run."""

from __future__ import annotations

import dataclasses
import fnmatch
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).parent.parent / "suites.toml"


@dataclass(frozen=True)
class Told:
    """Tests of one suite (patterns of their ids) and what is to be known of them."""

    tests: tuple[str, ...]
    reason: str
    way: str = ""  # in which they part

    def holds(self, test: str) -> bool:
        """Whether it speaks of this test."""
        return any(fnmatch.fnmatchcase(test, _literal(pattern)) for pattern in self.tests)


@dataclass(frozen=True)
class Suite:
    """One suite at one commit.

    `select`, `ignore` and `options` go to pytest; `select` names whole files and folders. `left_out` are
    tests that need what is not there, or hang, without samerun too; `flaky` those whose outcome differs
    between plain runs; `parts` those that end otherwise in one way, and why.
    """

    name: str
    url: str
    commit: str
    select: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    path: tuple[str, ...] = (".",)  # folders of the checkout that modules are imported from
    environment: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[Told, ...] = ()
    flaky: tuple[Told, ...] = ()
    parts: tuple[Told, ...] = ()

    def arguments(self) -> list[str]:
        """What pytest is given."""
        ignored = [f"--ignore={path}" for path in self.ignore]
        deselected = [f"--deselect={test}" for told in self.left_out for test in told.tests]
        return [*self.select, *ignored, *deselected, *self.options]


def load(names: Sequence[str] = ()) -> list[Suite]:
    """The suites of the table with these names; all without a name. Raises SystemExit for an unknown one."""
    tables = tomllib.loads(TABLE.read_text(encoding="utf-8"))["suite"]
    suites = {table["name"]: _suite(table) for table in tables}
    unknown = [name for name in names if name not in suites]
    if unknown:
        raise SystemExit(f"no suite {', '.join(unknown)}; there are: {', '.join(suites)}")
    return [suite for name, suite in suites.items() if not names or name in names]


def _suite(table: dict[str, Any]) -> Suite:
    values = {}
    for name in [known.name for known in dataclasses.fields(Suite)]:
        if name not in table:
            continue
        value = table.pop(name)
        if name in ("left_out", "flaky", "parts"):
            value = tuple(Told(**{**entry, "tests": tuple(entry["tests"])}) for entry in value)
        values[name] = tuple(value) if isinstance(value, list) else value
    if table:
        raise SystemExit(f"{TABLE.name}: {values.get('name')} has unknown keys: {', '.join(table)}")
    return Suite(**values)


def _literal(pattern: str) -> str:
    """The pattern with brackets, which ids of parametrised tests have, standing for themselves."""
    return pattern.replace("[", "[[]")
