"""What code names above its folder: "../data/mnist", os.path.join("..", "data"), Path(x).parents[1]."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Bounded, so that no text takes long: eight levels up, and a name that a file can have.
_NAME = r"[\w.+@/-]{0,250}[\w+@-]"
_PATH = re.compile(rf"(?<![\w./])((?:\./)?(?:\.\./){{1,8}})({_NAME})")
_JOINED = re.compile(rf"""((?:["']\.\.["']\)?\s?[,/]\s?){{1,8}})["']({_NAME})["']""")
_PARENT = re.compile(rf"""(?:((?:\.parent){{1,8}})|\.parents\[(\d)\])\s?/\s?["']({_NAME})["']""")
_ON_PATH = re.compile(r"\bsys\.path\.(?:append|insert|extend)\((.{0,300})")
_UP = re.compile(r"\.\.|\bdirname\b|\.parent\b")
_IMPORTED = re.compile(r"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_HIGHEST = 8


def list_named_above(code: str) -> Iterator[str]:
    """Relative paths that begin with `..`, from a text of code, a configuration or a shell script."""
    for found in _PATH.finditer(code):
        yield f"{'../' * found[1].count('../')}{found[2]}"
    for found in _JOINED.finditer(code):
        yield f"{'../' * found[1].count('..')}{found[2]}"
    for found in _PARENT.finditer(code):
        up = int(found[2]) if found[1] is None else found[1].count(".parent") - 1
        if up > 0:
            yield f"{'../' * up}{found[3]}"
    yield from _list_imported(code)


def list_named_by_argument(argument: str) -> Iterator[str]:
    """The same of an argument of a command, which may be a path with spaces: `--data=../my data`."""
    yield from list_named_above(argument)
    for whole in (argument, argument.partition("=")[2]):
        if whole.startswith(("../", "./../")):
            yield whole


def _list_imported(code: str) -> Iterator[str]:
    """The modules that code imports, in each folder above that it may have put on `sys.path`."""
    levels = max((len(_UP.findall(found[1])) for found in _ON_PATH.finditer(code)), default=0)
    for name in dict.fromkeys(_IMPORTED.findall(code)) if levels else ():
        for level in range(1, min(levels, _HIGHEST) + 1):
            yield f"{'../' * level}{name}"
            yield f"{'../' * level}{name}.py"
