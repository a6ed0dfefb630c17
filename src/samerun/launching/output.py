"""Keeps what a command prints: one thread that always drains the pipe, whatever becomes of the file."""

from __future__ import annotations

import os
import select
import sys
import threading
from pathlib import Path

_CHUNK = 1 << 16


class Output:
    """Copies the pipe `source` to the file `path`, and to our standard output with `tee`.

    When the file cannot be written (a full disk), what follows is dropped and the pipe is still drained:
    the command must not block or die of it. `lost` then says why.
    """

    def __init__(self, source: int, path: Path, *, tee: bool) -> None:
        self.lost: str | None = None
        self._source = source
        self._tee = tee
        self._closing = threading.Event()
        self._file: int | None = None
        try:
            self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self.lost = error.strerror
        self._thread = threading.Thread(target=self._drain, name="samerun-output", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take what is still in the pipe, then stop, even if some process keeps the other end open."""
        self._closing.set()
        self._thread.join()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _drain(self) -> None:
        while True:
            ready, _, _ = select.select([self._source], [], [], 0.05)
            if ready:
                data = os.read(self._source, _CHUNK)
                if not data:
                    return
                self._keep(data)
                self._show(data)
            elif self._closing.is_set():
                return

    def _keep(self, data: bytes) -> None:
        if self.lost is not None or self._file is None:
            return
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self.lost = error.strerror

    def _show(self, data: bytes) -> None:
        if not self._tee:
            return
        try:
            raw = getattr(sys.stdout, "buffer", None)
            if raw is None:  # standard output was replaced by something that takes text
                sys.stdout.write(data.decode("utf-8", "replace"))
            else:
                raw.write(data)
            sys.stdout.flush()
        except (OSError, ValueError):  # nobody reads us any more
            self._tee = False
