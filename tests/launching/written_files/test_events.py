"""Event files of TensorBoard are read by step and tag, and the times in them are not compared."""

from __future__ import annotations

import io
import struct

import pytest

from samerun.launching.written_files.events import PREFIX, began_before, read_events
from samerun.runs.written import Value


def pack_bytes(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def pack_scalar(tag: str, value: float) -> bytes:
    return pack_bytes(1, tag.encode()) + bytes([2 << 3 | 5]) + struct.pack("<f", value)


def pack_event(time: float, step: int, *values: bytes) -> bytes:
    head = bytes([1 << 3 | 1]) + struct.pack("<d", time) + bytes([2 << 3, step])
    record = head + pack_bytes(5, b"".join(pack_bytes(1, value) for value in values))
    return struct.pack("<Q", len(record)) + b"csum" + record + b"csum"


def read(*events: bytes) -> dict[str, Value]:
    return dict(read_events(io.BytesIO(b"".join(events))))


def test_scalars_by_step_and_tag_whatever_the_time() -> None:
    found = [
        read(pack_event(time, 3, pack_scalar("eval/acc", value), pack_scalar("loss", 1.0)))
        for time, value in ((1.0, 0.5), (2.0, 0.5), (1.0, 0.25))
    ]
    assert found[0] == found[1] == {"3.eval/acc": 0.5, "3.loss": 1.0}
    assert found[2]["3.eval/acc"] == 0.25


def test_other_values_by_digest_and_not_when_a_session_of_hparams_began() -> None:
    histogram = [read(pack_event(1.0, 1, pack_bytes(1, b"w") + pack_bytes(5, text))) for text in (b"a", b"b")]
    assert histogram[0] != histogram[1] and set(histogram[0]) == {"1.w"}
    assert (
        read(pack_event(1.0, 0, pack_bytes(1, b"_hparams_/session_start_info") + pack_bytes(8, b"t"))) == {}
    )


def test_a_record_that_is_not_whole_ends_it_and_a_damaged_one_raises() -> None:
    event = pack_event(1.0, 1, pack_scalar("loss", 1.0))
    assert read(event, event[:-7]) == read(event, event[:5]) == {"1.loss": 1.0}
    with pytest.raises(ValueError):
        read(struct.pack("<Q", 3) + b"csum" + b"\x2a\xff\x01" + b"csum")


@pytest.mark.parametrize(("name", "before"), [("99.host.1.0", True), ("100.host", False), ("x.host", False)])
def test_when_another_run_began_a_file(name: str, before: bool) -> None:
    assert began_before(PREFIX + name, 100.5) is before
    assert not began_before("99.json", 100.5)
