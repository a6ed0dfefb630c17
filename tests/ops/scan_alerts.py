"""Scans the installed torch for the operations that it refuses when it must be deterministic.

    python tests/ops/scan_alerts.py [LIBRARY …]

torch's native_functions.yaml does not say which these are, and is not installed: the names are arguments of
calls to at::Context::alertNotDeterministic, in the machine code of libtorch_cpu.so and libtorch_cuda.so
(x86-64 ELF), and of alert_not_deterministic in torch's own Python. A build of torch without CUDA has only
what the CPU refuses.
"""

from __future__ import annotations

import ast
import mmap
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch

SYMBOL = b"alertNotDeterministic"
LIBRARIES = ("libtorch_cpu.so", "libtorch_cuda.so")
_BEFORE = 1500  # bytes before a call in which its arguments are set
_POINTER = re.compile(
    rb"(?=[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4}))", re.DOTALL
)  # lea reg, [rip + x]
_LENGTH = re.compile(  # mov qword [place], x; mov edi, x
    rb"(?=(?:\x48\xc7(?:\x44\x24.|\x84\x24.{4}|\x04\x24|[\x40-\x5f].|[\x80-\x8b\x8d-\xbf].{4})|\xbf)(.{4}))",
    re.DOTALL,
)


class Library:
    """An ELF file of x86-64: its sections by name, as (address, offset, size)."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:6] != b"\x7fELF\x02\x01" or self._number("<H", 18) != 62:
            raise ValueError(f"{path} is not an ELF file of x86-64")
        start, entry, count, names = (
            self._number("<Q", 40),
            *(self._number("<H", at) for at in (58, 60, 62)),
        )
        headers = [struct.unpack_from("<IIQQQQ", self.data, start + entry * i) for i in range(count)]
        strings = headers[names][4]
        self.sections = {self._text(strings + h[0]): (h[3], h[4], h[5]) for h in headers}

    def _number(self, layout: str, at: int) -> int:
        return int(struct.unpack_from(layout, self.data, at)[0])

    def _text(self, at: int) -> str:
        return self.data[at : self.data.find(b"\0", at)].decode()

    def alerts(self) -> Iterator[str]:
        """The name that each call gives."""
        address, offset, size = self.sections[".text"]
        code = np.frombuffer(self.data, np.uint8, size, offset)
        for at in self._calls(code, address):
            yield self._name(offset + at, address + at) or f"(not understood: the call at {address + at:#x})"

    def _calls(self, code: np.ndarray, address: int) -> Iterable[int]:
        """Where in .text the function is called, or jumped to."""
        targets = np.array(sorted(self._targets()), np.int64)
        at = np.flatnonzero((code[:-4] == 0xE8) | (code[:-4] == 0xE9))
        words = [code[at + i].astype(np.int64) << (8 * (i - 1)) for i in range(1, 5)]
        reach = sum(words).astype(np.int32).astype(np.int64)
        return at[np.isin(address + at + 5 + reach, targets)].tolist()

    def _targets(self) -> Iterator[int]:
        """The function's own address, and those of the stubs of the procedure linkage table for it."""
        _, symbols, size = self.sections[".dynsym"]
        _, strings, _ = self.sections[".dynstr"]
        wanted = set()
        for i in range(size // 24):
            name, *_, value, _ = struct.unpack_from("<IBBHQQ", self.data, symbols + 24 * i)
            if SYMBOL in self.data[strings + name : strings + name + 80].split(b"\0")[0]:
                wanted.add(i)
                if value:
                    yield value
        slots = set()
        for table in (".rela.plt", ".rela.dyn"):
            _, offset, size = self.sections.get(table, (0, 0, 0))
            rows = np.frombuffer(self.data, np.uint64, size // 8, offset).reshape(-1, 3)
            named = np.isin((rows[:, 1] >> np.uint64(32)).astype(np.int64), list(wanted))
            slots |= set(rows[named, 0].tolist())
        for table in (".plt", ".plt.sec", ".plt.got"):
            address, offset, size = self.sections.get(table, (0, 0, 0))
            for at in range(size - 5):
                if self.data[offset + at : offset + at + 2] == b"\xff\x25":
                    slot = address + at + 6 + self._number("<i", offset + at + 2)
                    if slot in slots:
                        yield address + at
                        yield (address + at) & ~15

    def _name(self, offset: int, address: int) -> str | None:
        """The string_view that is passed: the last text pointed to whose length is set too."""
        before = self.data[max(offset - _BEFORE, 0) : offset]
        lengths = {struct.unpack("<I", found.group(1))[0] for found in _LENGTH.finditer(before)}
        for found in reversed(list(_POINTER.finditer(before))):
            end = address - len(before) + found.start() + 7
            text = self._at(end + struct.unpack("<i", found.group(1))[0])
            if text is not None:
                name = self.data[text : self.data.find(b"\0", text)]
                if len(name) in lengths and name.isascii() and name.decode().isprintable():
                    return name.decode()
        return None

    def _at(self, address: int) -> int | None:
        """The place in the file of an address that is read only."""
        for name in (".rodata", ".rodata.str1.1", ".rodata.str1.8"):
            start, offset, size = self.sections.get(name, (0, 0, 0))
            if start <= address < start + size:
                return offset + address - start
        return None


def installed_alerts() -> set[str]:
    """The names under which this torch refuses operations."""
    folder = Path(torch.__file__).parent
    found = {
        name
        for library in LIBRARIES
        if (path := folder / "lib" / library).exists()
        for name in Library(path).alerts()
    }
    return found | set(_in_python(folder))


def _in_python(folder: Path) -> Iterator[str]:
    """The constant names that torch's own Python refuses by."""
    for path in (folder / "_meta_registrations.py", *(folder / "_decomp").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("alert_not_deterministic"):
                named = node.args[0]
                if isinstance(named, ast.Constant):
                    yield str(named.value)
                elif isinstance(named, ast.JoinedStr):  # f"max_unpooling{dim}d_forward_out"
                    for dims in (2, 3):
                        yield "".join(
                            str(part.value) if isinstance(part, ast.Constant) else str(dims)
                            for part in named.values
                        )


if __name__ == "__main__":
    if sys.argv[1:]:
        print(*sorted({name for path in sys.argv[1:] for name in Library(Path(path)).alerts()}), sep="\n")
    else:
        print(*sorted(installed_alerts()), sep="\n")
