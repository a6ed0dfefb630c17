"""Files that are not the same in both runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samerun.runs.difference import Difference, Evidence, Row, Side, Strength
from samerun.sources.evidence import rows
from samerun.sources.evidence.raced_files import find_writer
from samerun.sources.source import Kind, Source

if TYPE_CHECKING:
    from samerun.sources.edits.shell_scripts import Given

_SCRIPT = re.compile(r"[\"']([\w./-]+\.(?:ba|z)?sh)[\"']")  # as the code names one that it starts


class InputData(Source):
    """A file that the script reads changed between the runs, or a folder gained or lost files."""

    id = "input-data"
    gives = re.compile(
        r"builtins\.open|_?io\.open|codecs\.open|(json|pickle|_pickle|yaml|toml|tomllib|torch|torch\.serialization|numpy|csv|_csv)\.(load|loads"
        r"|reader|safe_load|loadtxt|genfromtxt|fromfile)|.*\.(read|read_text|read_bytes|readlines?|read_[a-z]+)"
    )
    summary = "a file that the script reads changed between the runs"
    advice = "keep the data fixed while comparing: read-only, or in a copy by samerun check --scratch"
    kind = Kind.WORLD
    in_folder = True
    controllable = False

    def recognise(self, difference: Difference) -> Evidence | None:
        """The same path with other content, or the same folder with other names, before the difference."""
        origin = difference.origin
        if origin is not None and origin.makes_it:
            return None
        found = find_changed_file(difference)
        if found is not None and find_script(difference, found) is None:
            text = f"{found.detail} had other content in the other run"
            return Evidence(self.id, Strength.SEEN, text, found.call_site)
        for a, b in rows.match_pairs(difference, "listing"):
            if a is not None and b is not None and a.detail == b.detail and a.inputs != b.inputs:
                return Evidence(
                    self.id, Strength.STRONG, f"{a.detail} held other files in the other run", a.call_site
                )
        return None


def find_changed_file(difference: Difference) -> Row | None:
    """Run A's first row of a file that both runs opened with other content, and that neither wrote itself.

    Nor did another process of the same run write it: then that is what makes it.
    """
    theirs = _list_first_opened(difference.b)
    made = _list_written(difference.a) & _list_written(difference.b)
    for path, row in _list_first_opened(difference.a).items():
        other = theirs.get(path)
        if other is None or path in made or (row.digest, row.value) == (other.digest, other.value):
            continue
        if find_writer(difference.a, row) is None or find_writer(difference.b, other) is None:
            return row
    return None


def find_script(difference: Difference, changed: Row) -> Given | None:
    """The line of a shell script that writes this file, another one in each run; None: nobody is known to."""
    from samerun.sources.edits.shell_scripts import find_file

    code = rows.read_code(difference.a)
    files = () if code is None else code.files
    started = dict.fromkeys(name for file in files for name in _SCRIPT.findall(file.text))
    return find_file(difference, changed.detail or "", tuple(started))


def _list_first_opened(side: Side) -> dict[str, Row]:
    """The first opening of each file of data; the program's own files are the source `code`'s."""
    opened: dict[str, Row] = {}
    for row in side.rows("opened"):
        if row.detail is not None and not row.detail.endswith((".py", ".pyc")):
            opened.setdefault(row.detail, row)
    return opened


def _list_written(side: Side) -> set[str]:
    return {row.detail for row in side.rows("written") if row.detail is not None}
