from __future__ import annotations

import torch

from samerun.digest.stream_join import NoStreams, StreamJoin, choose_stream_join


class FakeStream:
    """Keeps the order of what is asked of it; an event is (stream, what had happened on it by then)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done: list[object] = []

    def record_event(self) -> tuple[str, int]:
        return (self.name, len(self.done))

    def wait_event(self, event: tuple[str, int]) -> None:
        self.done.append(("wait", *event))

    def work(self, what: str) -> None:
        self.done.append(what)


class FakeStreams:
    """A module of streams, such as torch.cuda."""

    def __init__(self) -> None:
        self.now = FakeStream("main")

    def current_stream(self, device: torch.device) -> FakeStream:
        return self.now


def test_writers_wait_for_the_buffer_and_the_reader_for_the_writers():
    streams = FakeStreams()
    join = StreamJoin(streams, torch.device("cuda:0"))
    main, side = streams.now, FakeStream("side")
    main.work("zero")
    join.opened()
    streams.now = side
    for _ in range(2):
        join.writing()
        side.work("add")
    streams.now = main
    join.writing()
    main.work("add")
    join.reading()
    main.work("copy")
    assert side.done == [("wait", "main", 1), "add", "add"]
    assert main.done == ["zero", "add", ("wait", "side", 3), "copy"]


def test_after_a_read_the_buffer_must_be_waited_for_again():
    streams = FakeStreams()
    join = StreamJoin(streams, torch.device("cuda:0"))
    main, side = streams.now, FakeStream("side")
    join.opened()
    streams.now = side
    join.writing()
    streams.now = main
    join.reading()
    main.work("zero")
    join.opened()
    streams.now = side
    join.writing()
    assert side.done == [("wait", "main", 0), ("wait", "main", len(main.done))]
    streams.now = main
    before = len(main.done)
    join.reading()
    join.reading()  # no one has written since
    assert len(main.done) == before + 1


def test_a_reader_on_another_stream_waits_too():
    streams = FakeStreams()
    join = StreamJoin(streams, torch.device("cuda:0"))
    main, side = streams.now, FakeStream("side")
    join.opened()
    join.writing()
    main.work("add")
    streams.now = side
    join.reading()
    assert side.done == [("wait", "main", 1)]


def test_the_host_has_no_streams():
    assert isinstance(choose_stream_join(torch.device("cpu")), NoStreams)
    assert isinstance(choose_stream_join(torch.device("mps")), NoStreams)
