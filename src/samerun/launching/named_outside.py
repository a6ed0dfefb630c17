"""What code names above its folder: "../data/mnist", os.path.join("..", "data"), Path(x).parents[1]."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Bounded, so that no text takes long: eight levels up, and a name that a file can have.
_NAME = r"[\w.+@/-]{0,250}[\w+@-]"
_PATH = re.compile(rf"(?<![\w./])((?:\./)?(?:\.\./){{1,8}})({_NAME})")
_JOINED = re.compile(rf"""((?:["']\.\.["']\)?\s?[,/]\s?){{1,8}})["']({_NAME})["']""")
_PARENT = re.compile(rf"""(?:((?:\.parent){{1,8}})|\.parents\[(\d)\])\s?/\s?["']({_NAME})["']""")


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
