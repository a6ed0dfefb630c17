"""Which versions of packages a run would find here, without a run: nothing of them is imported."""

from __future__ import annotations

import platform
import re
from importlib import metadata, util
from pathlib import Path

from samerun.runs import untrusted

# `__version__ = "1.0"`, `__version__ = version = '1.0'`, `version: str = "1.0"`: a text, and no call.
_SAYS = re.compile(
    r"^[^\S\n]*_*version_*\b[^\n\"'()#]*=[^\S\n]*([\"'])([^\"'\n]+)\1", re.IGNORECASE | re.MULTILINE
)
_FILES = ("*version*.py", "*about*.py", "__init__.py")  # of a package, where it says which version it is
_MOST_BYTES = 1 << 20


def find_version(name: str, locked: str) -> str | None:
    """The version of the package that is imported as `name`: `locked` where that is still so.

    What a run sees is the package's own `__version__`, which may say more than the installed metadata, or say
    it in another form: that of PyTorch's wheels for CUDA is 2.11.0+cu130 where the metadata has 2.11.0. None
    where no package is installed by this name.
    """
    if name == "python":
        return platform.python_version()
    try:
        installed = metadata.version(name)
    except (metadata.PackageNotFoundError, ValueError):
        return None
    if installed == locked:
        return installed
    says = _list_said(name)
    if locked in says and installed not in says:  # whose code may name another one besides
        return locked
    return next((text for text in says if text.startswith(f"{installed}+")), installed)


def _list_said(name: str) -> list[str]:
    """The versions that a package's own code names, likely among them its `__version__`."""
    said: list[str] = []
    for path in _list_files(name):
        try:
            text = untrusted.read_text(path, _MOST_BYTES, errors="replace", follow=True)
        except OSError:
            continue
        said += (found[2] for found in _SAYS.finditer(text))
    return said


def _list_files(name: str) -> list[Path]:
    try:
        spec = util.find_spec(name) if name.isidentifier() else None  # of a dotted name it imports the parent
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if not folders:
        return [Path(spec.origin)] if spec.origin is not None and spec.origin.endswith(".py") else []
    return [path for folder in folders for pattern in _FILES for path in sorted(folder.glob(pattern))]
