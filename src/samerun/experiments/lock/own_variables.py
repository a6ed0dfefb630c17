"""The environment variables that the user's own code names, as this process has them.

Numbers and truth values are shown; of any other text a digest is kept. No secret, path, host or port is among
them, nor what launchers set for each rank. Those known to move numbers are in the class of the machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from samerun.digest import digest_bytes
from samerun.editing.user_program import Code
from samerun.experiments.lock.environment_class import names_place
from samerun.runs.provenance import has_secret_name, select_environment
from samerun.sources.edits.outside_values import list_named

NOT_SET = "not set"
_DIGEST = "digest "
_MOST = 20
_SHOWN = re.compile(r"[-+]?\d{1,20}(\.\d{1,20})?([eE][-+]?\d{1,3})?|true|false|yes|no|on|off", re.IGNORECASE)
_OF_THE_PLACE = re.compile(
    r"PORT|PID|ADDR|HOST|JOB|RANK|WORLD_SIZE|NODE|(^|_)(FD|DIR|PATH|HOME|FILE|ROOT|USER|URL|URI)S?($|_)"
    r"|^(LOGNAME|PWD|SHELL|TERM|DISPLAY|TMP|TEMP|COLUMNS|LINES)$",
    re.IGNORECASE,
)


def list_own_variables(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """Each that these files name, as it is set now, or that it is not."""
    code = Code(folder, (), dict.fromkeys(files, ""))
    named = sorted({name for file in code.files for name in list_named(file)})
    return read_variables([name for name in named if not names_place(os.environ.get(name, ""))])


def read_variables(names: Iterable[str]) -> dict[str, str]:
    """What these are now; a lock, which may be a stranger's, has no others looked at."""
    kept = [name for name in names if _counts(name)]
    return {name: _show(os.environ.get(name)) for name in kept[:_MOST]}


def is_text(shown: str) -> bool:
    """Whether a value is kept as a digest."""
    return shown.startswith(_DIGEST)


def _counts(name: str) -> bool:
    return not (_OF_THE_PLACE.search(name) or has_secret_name(name) or select_environment({name: ""}))


def _show(value: str | None) -> str:
    if value is None:
        return NOT_SET
    if _SHOWN.fullmatch(value):
        return value
    return f"{_DIGEST}{digest_bytes(value.encode('utf-8', 'surrogateescape')).hex()[:16]}"
