"""The JSON of a record's detail, as a value of the type that its reader knows."""

from __future__ import annotations

from typing import TypeVar

from samerun.runs.untrusted import parse_json

_T = TypeVar("_T")


def parse_detail(detail: str | None, kind: type[_T]) -> _T | None:
    """What a detail holds; None where it is not of this kind: a trace may come from a stranger.

    `kind` is what msgspec can convert to, such as a Struct or `list[str]`.
    """
    import msgspec

    try:
        # Not msgspec's own decoder, which refuses the NaN and the lone surrogates that recorders write.
        return msgspec.convert(parse_json(detail or ""), kind)
    except ValueError:
        return None
