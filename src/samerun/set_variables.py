"""The variables of the environment that a command's own scripts set before they start a program.

Their names are kept, and 32 bits that stand for what they hold: enough to see that it is not the same.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping

VARIABLE = "SAMERUN_VARIABLES"  # what the command was given, as `describe_all` writes it
_OURS = "SAMERUN_"
_LENGTH = 8  # hexadecimal digits

_set: dict[str, str] = {}


def describe_all(environ: Mapping[str, str]) -> str:
    """The digests of all variables, one behind the other."""
    return "".join(_digest(name, value) for name, value in environ.items())


def remember() -> None:
    """Note what was set since the command was started; the program itself may set more."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return
    given = {text[at : at + _LENGTH] for at in range(0, len(text), _LENGTH)}
    for name, value in os.environ.items():
        digest = _digest(name, value)
        if digest not in given and not name.startswith(_OURS):
            from samerun.runs.secrets_in_text import names_secret  # most programs are spared it

            if not names_secret(name):
                _set[name] = digest


def get_set() -> dict[str, str]:
    """What `remember` noted: name → digest, eight hexadecimal digits."""
    return dict(_set)


def _digest(name: str, value: str) -> str:
    return f"{zlib.crc32(f'{name}={value}'.encode('utf-8', 'surrogateescape')):0{_LENGTH}x}"
