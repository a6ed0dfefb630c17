"""In a copy of a folder, its modules are those of the copy, wherever the search path says that they are.

An editable install (`pip install -e .`) and an absolute PYTHONPATH name the folder that was copied: a patch
in the copy would have no effect, and what a module leaves beside itself would be left in the user's folder.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import FileFinder, ModuleSpec, all_suffixes
from typing import TYPE_CHECKING, Any

import samerun

if TYPE_CHECKING:  # each process of a command pays for what is imported here
    from collections.abc import Callable, Iterable
    from types import ModuleType

_OURS = os.path.dirname(os.path.abspath(samerun.__file__))  # half of it is imported already
_EDITABLE = "__editable__"  # how the modules begin that setuptools installs for `pip install -e`


def import_from_copy(root: str) -> None:
    """Let folders of the search path be looked for below `root`, which stands for `/`, at first."""

    def find_in_both(entry: str) -> FileFinder:
        copy = _find_copy(root, entry)
        if copy is None or not os.path.isdir(copy):
            raise ImportError(f"no copy of {entry}")
        others = [hook for hook in sys.path_hooks if hook is not find_in_both]
        return _CopyFirst(_make_finder(copy, others), _make_finder(entry, others))

    sys.path_hooks.insert(0, find_in_both)
    for entry in [entry for entry in sys.path_importer_cache if _find_copy(root, entry) is not None]:
        del sys.path_importer_cache[entry]
    for name, module in list(sys.modules.items()):
        if name.startswith(_EDITABLE):
            _map_to_copy(root, vars(module).get("MAPPING"))


class _CopyFirst(FileFinder):
    """Finds in the copy of a folder, and else in the folder: not all of it may have been copied."""

    def __init__(self, copy: FileFinder, original: FileFinder) -> None:
        super().__init__(original.path)
        self._copy = copy
        self._original = original

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """As FileFinder does; a package of which the copy has some folders alone has portions in both."""
        found = self._copy.find_spec(fullname, target)
        if found is not None and found.loader is not None:
            return found
        other = self._original.find_spec(fullname, target)
        if found is not None and other is not None and other.submodule_search_locations is not None:
            copied = found.submodule_search_locations or ()
            other.submodule_search_locations = [*copied, *other.submodule_search_locations]
        return other or found

    def invalidate_caches(self) -> None:
        """Of both."""
        self._copy.invalidate_caches()
        self._original.invalidate_caches()


def _make_finder(folder: str, hooks: Iterable[Callable[[str], Any]]) -> FileFinder:
    """Python's own for a folder."""
    for hook in hooks:
        try:
            found = hook(folder)
        except ImportError:
            continue
        if isinstance(found, FileFinder):
            return found
    raise ImportError(f"no finder for {folder}")


def _find_copy(root: str, path: str) -> str | None:
    """Where the copy of an absolute path is; None where there is none, or just a link to it."""
    if not os.path.isabs(path) or any(_is_within(path, folder) for folder in (root, _OURS)):
        return None
    copy = os.path.join(root, os.path.abspath(path).lstrip(os.sep))
    is_link = os.path.exists(path) and os.path.exists(copy) and os.path.samefile(copy, path)
    return copy if os.path.exists(copy) and not is_link else None


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _map_to_copy(root: str, mapping: Any) -> None:
    """In a table of setuptools: module → its folder, or its file without the suffix."""
    for name, path in list(mapping.items()) if isinstance(mapping, dict) else ():
        for suffix in ("", *all_suffixes()):
            copy = _find_copy(root, f"{path}{suffix}")
            if copy is not None:
                mapping[name] = copy.removesuffix(suffix)
                break
