"""The digests of a group's tensors, by name, as one record holds them."""

from __future__ import annotations

from samerun.runs.reading import Trace
from samerun.runs.untrusted import parse_json

_DIGEST = 16  # bytes
NOTHING = bytes(_DIGEST)  # of a tensor that is not there, such as a gradient


def read_named(trace: Trace, at: int) -> dict[str, bytes]:
    """The tensors of the group recorded at `at`; {} when the record keeps none one by one."""
    whole: bytes = trace.cell("parts", at) or b""
    digests = [whole[start : start + _DIGEST] for start in range(0, len(whole), _DIGEST)]
    label = trace.cell("name", at) or ""
    names = _find_names(trace, at, f"{trace.cell('what', at)}:{label}")
    names += [f"{label}[{number}]" for number in range(len(names), len(digests))]
    return dict(zip(names, digests, strict=False))


def list_unequal(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """The names whose digests differ, or that only one of the two has, in the order of `one`."""
    names = dict.fromkeys((*one, *other))
    return [name for name in names if one.get(name) != other.get(name)]


def _find_names(trace: Trace, at: int, group: str) -> list[str]:
    """As last written before the record; names can come later than the first record of a group."""
    import numpy as np

    rows = np.flatnonzero(trace.is_one_of("what", {"names"}) & trace.is_one_of("name", {group}))
    if not len(rows):
        return []
    last = max(int(np.searchsorted(rows, at)) - 1, 0)
    try:
        names = parse_json(trace.cell("detail", int(rows[last])) or "")
    except ValueError:
        return []
    return [str(name) for name in names] if isinstance(names, list) else []
