"""Texts that hold the address of an object, where a number is made of them: `md5(repr(config).encode())`.

The `repr` of a function, or of an object of a class that defines none, ends in ` at 0x7f…>`.
https://docs.python.org/3/reference/datamodel.html#object.__repr__
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from samerun import callsite, wrapping
from samerun.digest import digest_bytes
from samerun.sources.patching import attribute, imported
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

MODULES = ("hashlib", "zlib")
# Not blake2, which are classes: who derives from them, or asks for their sizes, must find them.
_HASHES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
_SUMS = ("crc32", "adler32")
_MARK = b" at 0x"
_ADDRESS = re.compile(rb"<([^<>]{1,80}) at 0x[0-9a-fA-F]{6,16}>")
_LONGEST = 1 << 20  # bytes that are looked through; what is longer is data


def note_hashed(journal: Journal, done: set[str]) -> Undo:
    """Note each text with an address that the user's lines hash, by the modules that are imported by now."""
    undos: list[Undo] = []
    for module, last, patch in (("hashlib", _HASHES[-1], _patch_hashes), ("zlib", _SUMS[-1], _patch_sums)):
        if module not in done and imported.has(module, last):
            done.add(module)
            undos += [functools.partial(done.discard, module), *patch(journal)]
    return attribute.undo_all(undos)


def _patch_sums(journal: Journal) -> Iterator[Undo]:
    for name in _SUMS:
        yield wrapping.wrap_attribute(sys.modules["zlib"], name, _make_hook(journal, f"zlib.{name}"))


def _patch_hashes(journal: Journal) -> Iterator[Undo]:
    """Where OpenSSL's functions are at home, by whose names they are pickled, and then in hashlib."""
    shown, home = sys.modules["hashlib"], sys.modules.get("_hashlib")
    for name in _HASHES:
        inner = f"openssl_{name}"
        if home is None or getattr(home, inner, None) is not getattr(shown, name):
            continue
        yield wrapping.wrap_attribute(home, inner, _make_hook(journal, f"hashlib.{name}"))
        yield wrapping.replace(shown, name, getattr(home, inner))


def _make_hook(journal: Journal, function: str) -> Around:
    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = args[0] if args else None
        if isinstance(given, bytes) and len(given) <= _LONGEST and _MARK in given:
            found = _ADDRESS.search(given)
            if found is not None and not callsite.is_samerun(callsite.find_caller(2)):
                what = found[1].decode(errors="replace")
                journal.note("address", function, digest=digest_bytes(given), detail=what, user_only=True)
        # These never warn, and some programs hash each word of theirs.
        return getattr(original, "__wrapped__", original)(*args, **kwargs)

    wrapping.hide_frames(call)
    return call
