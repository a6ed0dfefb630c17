from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import os
import pathlib
import struct
import subprocess
import sys
import types

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from samerun.digest import digest_tensor, digest_value
from samerun.digest import values as module
from samerun.errors import DigestError


class Pair(collections.namedtuple("Pair", ["a", "b"])):
    pass


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Flag(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Batch:
    x: object
    y: object = None


class Opaque:
    """A user's object, with an address in its repr."""

    def __init__(self, content: int = 0) -> None:
        self.content = content


DISTINCT = [
    None,
    True,
    False,
    0,
    1,
    -1,
    255,
    256,
    -256,
    1 << 64,
    -(1 << 64),
    10**5000,
    0.0,
    -0.0,
    1.0,
    float("inf"),
    float("nan"),
    struct.unpack("<d", b"\1\0\0\0\0\0\xf8\x7f")[0],
    0j,
    -0j,
    1 + 0j,
    "",
    "1",
    "a",
    "ä",
    "\ud800",
    b"",
    b"1",
    b"a",
    bytearray(b"a"),
    memoryview(b"a"),
    memoryview(b"abcd"),
    memoryview(b"abcd").cast("i"),
    [],
    (),
    {},
    set(),
    frozenset(),
    [1],
    (1,),
    {1},
    {1: 1},
    [1, 2],
    [2, 1],
    [[1], 2],
    [[1, 2]],
    [1, [2]],
    ["ab", "c"],
    ["a", "bc"],
    {"a": 1, "b": 2},
    {"b": 2, "a": 1},
    {"a": 2, "b": 1},
    collections.OrderedDict(a=1, b=2),
    collections.UserDict(a=1, b=2),
    collections.deque([1, 2]),
    {1, 2},
    {1, 2, 3},
    frozenset({1, 2}),
    Pair(1, 2),
    Pair(2, 1),
    Colour.RED,
    Colour.BLUE,
    Flag.A,
    Flag.A | Flag.B,
    Batch(1, 2),
    Batch(2, 1),
    Batch([1, 2]),
    range(3),
    range(4),
    slice(1, 2),
    pathlib.Path("a"),
    pathlib.Path("b"),
    decimal.Decimal("1.0"),
    decimal.Decimal("1.00"),
    datetime.date(2026, 1, 1),
    datetime.timedelta(1),
    torch.float32,
    torch.float64,
    torch.device("cpu"),
    torch.Size([1, 2]),
    torch.zeros(2),
    torch.zeros(3),
    [torch.zeros(2)],
    np.zeros(2),
    np.float32(1),
    np.float64(1),
    Opaque(),
    Opaque,
]


def test_values_that_differ_in_type_or_content_are_told_apart():
    digests = {}
    for value in DISTINCT:
        digests.setdefault(digest_value(value), []).append(value)
    assert [same for same in digests.values() if len(same) > 1] == []


def test_pinned():
    value = {"x": [1, 2.5, "three", None, True], "y": (b"4", 5j, {6})}
    assert digest_value(value).hex() == "22dbb53ea6cb21b7297359d3b7d167ad", (
        "pinned: a change needs a new version in the algorithm's name"
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def again(value: object) -> object:
    """The same content in new objects."""
    if isinstance(value, dict):
        return {key: again(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(again(item) for item in value)
    return value


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_equal_content_equal_digest_and_nesting_shows(a, b):
    assert digest_value(a) == digest_value(again(a))
    assert len({digest_value(x) for x in ([a, b], (a, b), [a, [b]], [[a, b]], {"a": a, "b": b})}) == 5
    assert (digest_value([a, b]) == digest_value([b, a])) == (digest_value(a) == digest_value(b))


def test_a_tensor_alone_has_its_own_digest():
    t = torch.arange(5.0)
    assert digest_value(t) == digest_tensor(t)


def test_one_bit_deep_in_a_batch_shows():
    def batch(value: float) -> object:
        return {"x": [torch.zeros(3), (torch.tensor([1.0, value]),)], "meta": Batch({"name": "a"})}

    assert digest_value(batch(2.0)) == digest_value(batch(2.0))
    assert digest_value(batch(2.0)) != digest_value(batch(2.0000002))


def test_sets_have_no_order():
    code = (
        "from samerun.digest import digest_value\n"
        "print(digest_value({'a', 'b', 'c', ('d', 1), frozenset('ef')}).hex())"
    )
    runs = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        runs.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(runs) == 1


def test_an_unknown_object_is_its_type():
    assert digest_value(Opaque(1)) == digest_value(Opaque(2))
    assert digest_value(lambda: 1) == digest_value(lambda: 2)
    assert digest_value(object()) == digest_value(object())


def test_user_code_is_not_called():
    class Touchy(dict):
        def __iter__(self):
            raise AssertionError("called")

        items = keys = values = __len__ = __repr__ = __iter__

    class TouchyList(list):
        def __iter__(self):
            raise AssertionError("called")

        __len__ = __repr__ = __iter__

    assert digest_value(Touchy(a=1)) != digest_value(Touchy(a=2))
    assert digest_value(TouchyList([1])) != digest_value(TouchyList([2]))


def test_cycles_end():
    def loop(value: int) -> list[object]:
        outer: list[object] = [value]
        outer.append({"self": outer})
        return outer

    assert digest_value(loop(1)) == digest_value(loop(1))
    assert digest_value(loop(1)) != digest_value(loop(2))
    direct: list[object] = [1]
    direct.append(direct)
    assert digest_value(direct) != digest_value(loop(1))


def test_what_is_held_many_times_is_walked_once():
    value: object = [1]
    for _ in range(90):
        value = [value, value]
    assert digest_value(value) == digest_value(value)
    assert digest_value([[1], [1]]) == digest_value([*[[1]] * 2])


def test_nesting_without_end_is_refused():
    value: object = 1
    for _ in range(module.MAX_DEPTH + 1):
        value = [value]
    with pytest.raises(DigestError, match="100 levels"):
        digest_value(value)


def test_a_tensor_without_bytes_is_refused_not_skipped():
    with pytest.raises(DigestError, match="meta"):
        digest_value([1, {"x": torch.zeros(2, device="meta")}])


def test_a_value_that_cannot_be_read_is_refused():
    @dataclasses.dataclass
    class Closed:
        path: str

        @property
        def path(self):
            raise OSError("closed")

        @path.setter
        def path(self, _):
            pass

    with pytest.raises(DigestError, match="OSError: closed"):
        digest_value([Closed("a")])


def test_types_made_in_a_loop_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "_MAX_HANDLERS", 10)
    for n in range(50):
        digest_value(type(f"T{n}", (), {})())
    assert len(module._handlers) <= 10


def test_images_by_mode_size_and_content(monkeypatch):
    """PIL is optional; what is used of its Image is these names."""

    class Image:
        def __init__(self, mode="L", size=(2, 1), data=b"ab", palette=None):
            self.mode, self.size, self.data, self.palette = mode, size, data, palette

        def tobytes(self):
            return self.data

        def getpalette(self):
            return self.palette

    monkeypatch.setitem(sys.modules, "PIL.Image", types.SimpleNamespace(Image=Image))
    images = [
        Image(),
        Image(data=b"ac"),
        Image(size=(1, 2)),
        Image(mode="P", palette=[1, 2, 3]),
        Image(mode="P", palette=[1, 2, 4]),
        Image(mode="1"),
    ]
    assert len({digest_value(image) for image in images}) == len(images)
    assert digest_value(Image()) == digest_value(Image())


def test_a_path_in_a_copy_of_the_folder_has_the_digest_of_the_original(monkeypatch):
    monkeypatch.setattr(module, "_copied_root", b"")
    one, other = "/tmp/copy-1/home/me/a.png", "/tmp/copy-1/home/me/b.png"
    assert digest_value(one) != digest_value("/home/me/a.png")
    module.digest_as_in_original("/tmp/copy-1/")
    for kind in (str, pathlib.Path, lambda path: [{"file": path}]):
        assert digest_value(kind(one)) == digest_value(kind("/home/me/a.png"))
        assert digest_value(kind(one)) != digest_value(kind(other))
    assert digest_value("/tmp/copy-2/home") != digest_value("/home")
