"""One record as it is written: a value for each column of runs/schema.py."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, gc=False):
    """One row of a trace; its fields are the columns, in their order.

    Thousands wait between two batches: a Struct is made by one call, and the collector of garbage never
    looks at it.
    """

    step: int
    phase: str
    what: str
    name: str | None = None
    module: str | None = None
    call_site: str | None = None
    digest: bytes | None = None  # 16 bytes
    inputs: int | None = None  # 64 bits
    value: float | None = None
    flags: int = 0
    detail: str | None = None
    parts: bytes | None = None
