"""Folders that packages were installed into, other than Python's own: by `pip install --target`, say."""

from __future__ import annotations

import functools
import os
import sys

_OWN = ("site-packages", "dist-packages")


def find_installed_folder(path: str) -> str | None:
    """The folder, with a separator at its end, into which the file at an absolute path was installed."""
    for part in _OWN:
        before, found, _ = path.partition(f"{os.sep}{part}{os.sep}")
        if found:
            return before + found
    for folder, names in list_target_folders().items():
        if path.startswith(folder) and path[len(folder) :].partition(os.sep)[0] in names:
            return folder
    return None


@functools.cache
def list_target_folders() -> dict[str, frozenset[str]]:
    """Those on the path when this is first asked, and what lies in each at its top that was installed.

    A user's own files may lie beside it: what is installed is known by the RECORD of its distribution
    (https://packaging.python.org/en/latest/specifications/recording-installed-packages/).
    """
    found = {}
    for entry in sys.path:
        if (
            isinstance(entry, str) and entry and not entry.rstrip(os.sep).endswith(_OWN)
        ):  # some put a Path there
            folder = os.path.join(os.path.abspath(entry), "")
            if names := _list_installed(folder):
                found[folder] = names
    return found


def _list_installed(folder: str) -> frozenset[str]:
    names: set[str] = set()
    try:
        distributions = [name for name in os.listdir(folder) if name.endswith(".dist-info")]
    except OSError:  # a zip file, or a folder that is not there
        return frozenset()
    for name in distributions:
        try:
            with open(os.path.join(folder, name, "RECORD"), encoding="utf-8") as record:
                names.update(line.partition(",")[0].partition("/")[0] for line in record)
        except (OSError, UnicodeDecodeError):
            continue
    return frozenset(names - {"..", "", "__pycache__"})
