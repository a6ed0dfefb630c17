"""Several streams of one device write into one buffer; one of them reads it."""

from __future__ import annotations

from typing import Any

import torch


class StreamJoin:
    """Orders the streams of `device` around a buffer, on the device, without stopping the host.

    `streams` is the module that knows them, such as torch.cuda. A device without streams needs no order:
    see `choose_stream_join`.
    """

    def __init__(self, streams: Any, device: torch.device) -> None:
        self._streams = streams
        self._device = device
        self._ready: Any = None
        self._waited: set[Any] = set()
        self._writers: set[Any] = set()

    def name(self) -> object:
        """What tells the current stream from others."""
        return self._streams.current_stream(self._device)

    def opened(self) -> None:
        """The current stream has just made the buffer ready for writing."""
        stream = self._streams.current_stream(self._device)
        self._ready = stream.record_event()
        self._waited = {stream}

    def writing(self) -> None:
        """The current stream is about to write: let it wait until the buffer is ready."""
        stream = self._streams.current_stream(self._device)
        if stream not in self._waited:
            stream.wait_event(self._ready)
            self._waited.add(stream)
        self._writers.add(stream)

    def reading(self) -> None:
        """The current stream is about to read: let it wait for every stream that wrote."""
        stream = self._streams.current_stream(self._device)
        for writer in self._writers - {stream}:
            stream.wait_event(writer.record_event())
        self._writers.clear()


class NoStreams(StreamJoin):
    """For a device whose operations all run in one order."""

    def __init__(self) -> None:
        super().__init__(None, torch.device("cpu"))

    def name(self) -> object:
        """There is one."""
        return None

    def opened(self) -> None:
        """Nothing to order."""

    def writing(self) -> None:
        """Nothing to order."""

    def reading(self) -> None:
        """Nothing to order."""


def choose_stream_join(device: torch.device) -> StreamJoin:
    """The order that `device` needs."""
    if device.type in ("cuda", "xpu"):
        return StreamJoin(torch.get_device_module(device), device)
    return NoStreams()
