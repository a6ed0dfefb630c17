"""Keeps what a command prints: one thread that always drains its pipes, whatever becomes of the file."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

_CHUNK = 1 << 16
_STREAMS = ("stdout", "stderr")


def is_stderr_apart() -> bool:
    """Whether our standard error goes elsewhere than our standard output, as in `command > results.txt`.

    Where they go to one place, one pipe keeps the order in which a command writes to them.
    """
    try:
        out, error = os.fstat(1), os.fstat(2)
    except OSError:  # one is closed
        return False
    return (out.st_dev, out.st_ino) != (error.st_dev, error.st_ino)


class Output:
    """Copies the pipes `sources` to the file `path`; with `tee` to our standard output and error as well.

    They are of what the command has as its standard output and, where it is one of its own, standard error.
    The file has whole lines of each.
    Once nobody reads our standard output or error any more (`| head -1`), the pipe is closed that goes there,
    so that the command's next write fails as it would without us.
    When the file cannot be written (a full disk), what follows is dropped and the pipe is still drained:
    the command must not block or die of it. `lost` then says why.
    """

    def __init__(self, sources: Sequence[IO[bytes]], path: Path, *, tee: bool) -> None:
        self.lost: str | None = None
        self._open = {source.fileno(): name for source, name in zip(sources, _STREAMS, strict=False)}
        self._pipes = {source.fileno(): source for source in sources}
        self._begun = dict.fromkeys(self._open, b"")  # of each pipe the line that has no end yet
        self._shown = set(_STREAMS) if tee else set()
        self._unread: set[str] = set()
        self._closing = threading.Event()
        self._file: int | None = None
        try:
            self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self.lost = error.strerror
        self._thread = threading.Thread(target=self._drain, name="samerun-output", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take what is still in the pipes, then stop, even if some process keeps the other end open."""
        self._closing.set()
        self._thread.join()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _drain(self) -> None:
        while self._open:
            ready, _, _ = select.select(list(self._open), [], [], 0.05)
            for source in ready:
                data = os.read(source, _CHUNK)
                self._keep(self._take_lines(source, data))
                self._show(data, self._open[source])
                if not data:
                    del self._open[source]
            self._close_unread()
            if not ready and self._closing.is_set():
                break
        for begun in self._begun.values():
            self._keep(begun)

    def _close_unread(self) -> None:
        for source, name in list(self._open.items()):
            if name in self._unread or (name in self._shown and not _has_reader(name)):
                del self._open[source]
                self._pipes[source].close()

    def _take_lines(self, source: int, data: bytes) -> bytes:
        """What is to be kept now: with another pipe, whole lines, and what is left at the end."""
        if len(self._begun) == 1:
            return data
        data = self._begun[source] + data
        whole = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 if len(data) < _CHUNK else len(data)
        self._begun[source] = data[whole:]
        return data[:whole]

    def _keep(self, data: bytes) -> None:
        if self.lost is not None or self._file is None:
            return
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self.lost = error.strerror

    def _show(self, data: bytes, name: str) -> None:
        if name not in self._shown:
            return
        stream = getattr(sys, name)
        if stream is None:  # it was closed before we began
            self._shown.discard(name)
            return
        try:
            raw = getattr(stream, "buffer", None)
            if raw is None:  # it was replaced by something that takes text
                stream.write(data.decode("utf-8", "replace"))
            else:
                raw.write(data)
            stream.flush()
        except BrokenPipeError:
            self._unread.add(name)
        except (OSError, ValueError):  # a full disk, a terminal that is gone
            self._shown.discard(name)


def _has_reader(name: str) -> bool:
    """False where a stream of ours leads to a pipe that nobody reads any more."""
    poll = select.poll()
    try:
        poll.register(getattr(sys, name).fileno(), 0)
    except (AttributeError, OSError, ValueError):  # it was replaced by something that has no descriptor
        return True
    return select.POLLERR not in [event for _, event in poll.poll(0)]  # a terminal that is gone hangs up too
