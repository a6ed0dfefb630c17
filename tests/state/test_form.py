"""A state that a stranger made is refused, and never makes the process crash.

Covers `validate.py`.
"""

from __future__ import annotations

import copy
import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from samerun.errors import StateError
from samerun.state import capture, files, load, restore
from samerun.state.trees import MARK

State = dict[str, Any]
pytestmark = pytest.mark.usefixtures("without_cuda")


def objects() -> dict[str, Any]:
    """As after a step. Without a backward pass and without Adam: where there is CUDA, both fail in a fork."""
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return {
        "model": model,
        "optimizer": optimizer,
        "pcg": np.random.default_rng(0),
        "mt": np.random.Generator(np.random.MT19937(0)),
        "philox": np.random.Generator(np.random.Philox(0)),
        "sfc": np.random.Generator(np.random.SFC64(0)),
        "legacy": np.random.RandomState(0),
        "python": random.Random(0),
        "torch": torch.Generator(),
    }


VALUES = {
    "array": np.arange(6.0).reshape(2, 3),
    "words": np.array(["a", "bcd"]),
    "day": np.datetime64("2026-01-02"),
    "nested": {"list": [1, 2.0, "x", b"y", b"", None, (3, {4, 5})], "tensor": torch.arange(3)},
    "sparse": torch.eye(3).to_sparse(),
}


def forged(path: Path, state: State) -> Path:
    """The file that a forger makes: label and digests are right."""
    label = files.Label(0, 1, "0" * 32, agreed=True)
    with open(path, "wb+") as file:
        files._fill(file, state, label)
    return path


def in_child(work: Callable[[], Any]) -> tuple[int, Any]:
    """The exit status of a process that does the work, and what it returned, as JSON takes it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            os.write(write, json.dumps(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with open(read, "rb") as pipe:
        said = pipe.read()
    return os.waitpid(pid, 0)[1], json.loads(said or b"null")


def use(all_of: dict[str, Any], values: Any) -> None:
    """Draw beyond the words of every generator, and read all values."""
    for _ in range(700):
        random.random(), all_of["python"].random()
    (
        np.random.rand(700),
        all_of["legacy"].rand(700),
        torch.rand(700),
        torch.rand(700, generator=all_of["torch"]),
    )
    for name in ("pcg", "mt", "philox", "sfc"):
        all_of[name].integers(0, 9, 700, dtype=np.int32)
        all_of[name].spawn(1)
    all_of["model"](torch.ones(2))
    repr(values)
    copy.deepcopy(values)


def outcome(state: State) -> str:
    """What becomes of restoring it."""
    all_of = objects()
    try:
        values = restore(state, **all_of)
    except StateError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    use(all_of, values)
    return "restored"


def array(**changes: Any) -> State:
    return {MARK: "array", "dtype": "<f4", "shape": [2], "order": "C", "bytes": b"\x41" * 8, **changes}


def cyclic() -> Any:
    one: list[Any] = []
    one.append(one)
    return one


def doubling() -> Any:
    one: Any = [0]
    for _ in range(60):
        one = [one, one]
    return one


def deep() -> Any:
    one: Any = ()
    for _ in range(100_000):
        one = (one,)
    return one


TREES: dict[str, Callable[[], Any]] = {
    "a pointer": lambda: array(dtype="|O", shape=[1]),
    "fields with a pointer": lambda: array(dtype="O,i4", shape=[1]),
    "variable strings": lambda: array(dtype="T", bytes=b"\x41" * 32),
    "raw bytes": lambda: array(dtype="V4"),
    "no dtype": lambda: array(dtype=None),
    "more elements than bytes": lambda: array(shape=[3]),
    "fewer elements than bytes": lambda: array(shape=[1]),
    "a negative size": lambda: array(shape=[-2]),
    "two negative sizes": lambda: array(shape=[-1, -2]),
    "a huge shape of nothing": lambda: array(shape=[0, 2**62, 2**62], bytes=None),
    "a shape that wraps round": lambda: array(shape=[2**63, 2], bytes=b""),
    "elements without bytes": lambda: array(dtype="<U0", shape=[2**40], bytes=None),
    "99 dimensions": lambda: array(shape=[1] * 98 + [2]),
    "sizes that are no integers": lambda: array(shape=[2.0]),
    "an order of its own": lambda: array(order="K"),
    "strides": lambda: array(order=[1, 2]),
    "bytes that are a list": lambda: array(bytes=[1] * 8),
    "a scalar with a shape": lambda: array(**{MARK: "scalar"}),
    "an unknown mark": lambda: {MARK: "pickle", "items": []},
    "a mark that is a list": lambda: {MARK: []},
    "a set of lists": lambda: {MARK: "set", "items": [[1]]},
    "a set without items": lambda: {MARK: "set"},
    "itself": cyclic,
    "2**60 lists": doubling,
    "100,000 levels": deep,
}


@pytest.mark.parametrize("what", TREES)
def test_a_forged_value_is_refused(what: str, tmp_path: Path) -> None:
    state = capture(value=[0])
    state["values"]["value"] = [TREES[what]()]
    file = tmp_path / "forged.pt"
    try:
        forged(file, state)
    except (StateError, RecursionError):  # what cannot even be written
        pass
    assert in_child(lambda: said_of(lambda: restore(state))) == (0, "StateError")
    assert in_child(lambda: said_of(lambda: load(file))) == (0, "StateError")


def said_of(call: Callable[[], Any]) -> str:
    try:
        repr(call())
    except Exception as error:
        return type(error).__name__
    return "nothing"


def test_the_same_values_that_nobody_changed_are_given(tmp_path: Path) -> None:
    state = capture(**objects(), **VALUES)
    values = load(forged(tmp_path / "whole.pt", state), **objects())
    assert values["array"].tolist() == VALUES["array"].tolist()
    assert values["words"].tolist() == ["a", "bcd"] and values["day"] == VALUES["day"]
    assert values["nested"]["list"] == VALUES["nested"]["list"]
    assert torch.equal(values["sparse"].to_dense(), torch.eye(3))


def put(state: State, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        state = state[key]
    state[path[-1]] = value


MT = {"numpy": ("rng", "numpy-global", "state"), "legacy": ("objects", "legacy", "state")}
STATES: dict[str, tuple[tuple[Any, ...], Any]] = {
    **{
        f"{name}'s position {n}": ((*path, "pos"), n)
        for name, path in MT.items()
        for n in (-1, 625, 10**9, 2**40)
    },
    "MT19937's position": (("objects", "mt", "state", "pos"), 10**9),
    "Philox's position": (("objects", "philox", "buffer_pos"), 10**6),
    "Philox's negative position": (("objects", "philox", "buffer_pos"), -9),
    "no words": (("rng", "numpy-global", "state", "key"), []),
    "a bit generator that is a function": (("rng", "numpy-global", "bit_generator"), "shuffle"),
    "no position": (("rng", "numpy-global", "state"), {}),
    "a normal that is text": (("rng", "numpy-global", "gauss"), "x"),
    "python's position": (("rng", "python-random", 1), (0,) * 624 + (900,)),
    "python's normal": (("rng", "python-random", 2), "x"),
    "python's words": (("rng", "python-random", 1), (0,) * 3),
    "a pool of 2**40 words": (("objects", "pcg", "seed_seq", "pool_size"), 2**40),
    "torch, no bytes": (("rng", "torch-cpu", 0), b""),
    "torch, others": (("rng", "torch-cpu", 0), b"\xff" * 5056),
}


@pytest.mark.parametrize("what", STATES)
def test_a_forged_generator_is_refused(what: str) -> None:
    path, value = STATES[what]
    state = capture(**objects())
    state["rng"]["python-random"] = list(state["rng"]["python-random"])
    put(state, path, value)
    assert in_child(lambda: outcome(state)) == (0, "refused")


@pytest.mark.parametrize(("left", "following"), [(624, 600), (0, 0), (-5, 3), (1, 2**40)])
def test_a_position_of_torch_beyond_its_words_is_refused(left: int, following: int) -> None:
    state = capture(**objects())
    words = bytearray(state["rng"]["torch-cpu"][0])
    struct.pack_into("<i4xQ", words, 8, left, following)
    default = {**state, "rng": {**state["rng"], "torch-cpu": [bytes(words)]}}
    held = torch.frombuffer(words, dtype=torch.uint8)
    own = {**state, "objects": {**state["objects"], "torch": held}}
    assert in_child(lambda: outcome(default)) == (0, "refused")
    assert in_child(lambda: outcome(own)) == (0, "refused")


def test_indices_of_a_sparse_tensor_beyond_its_size_are_refused(tmp_path: Path) -> None:
    state = capture(value=0)
    indices, values = torch.tensor([[0, 10**9]]), torch.ones(2)
    state["values"]["value"] = torch.sparse_coo_tensor(indices, values, (3,), check_invariants=False)
    file = tmp_path / "forged.pt"
    torch.save({**state, "digest": ["another algorithm", b"x"]}, file)
    content = file.read_bytes()
    forged(file, {**state, "values": {"value": 0}})
    label = file.read_bytes()
    comment = label[label.rindex(b"samerun-state/") - 2 : -32]
    with open(file, "wb+") as made:
        made.write(content[:-2] + comment)
        made.write(files._digest(made, made.tell()))
    assert in_child(lambda: said_of(lambda: load(file)["value"].to_dense())) == (0, "StateError")


# --- random changes -------------------------------------------------------------------------------------

NASTY = [
    *(
        None,
        True,
        -1,
        2**31,
        2**63,
        2**70,
        1.5,
        float("nan"),
        "",
        "x",
        "cuda:99999",
        "meta",
        b"",
        b"\xff" * 9,
    ),
    *([], [[]], (), {}, {MARK: "array"}, {MARK: "set", "items": [[]]}, set(), torch.ones(2), torch.float16),
]


def places_in(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(tree, (dict, list)):
        for key in tree if isinstance(tree, dict) else range(min(len(tree), 4)):
            yield from places_in(tree[key], (*path, key))


def changed(choose: random.Random) -> State:
    """A state with one place of it changed, by a value that does not belong there or by what is elsewhere."""
    state = capture(**objects(), **VALUES)
    state["rng"]["python-random"] = list(state["rng"]["python-random"])
    every = [path for path in places_in(state) if path]
    path = choose.choice(every)
    inside: Any = state
    for key in path[:-1]:
        inside = inside[key]
    how = choose.randrange(4)
    was = inside[path[-1]]
    if how == 0 and isinstance(inside, dict):
        del inside[path[-1]]
    elif how == 1 and isinstance(was, int):
        inside[path[-1]] = was + choose.choice([-(2**33), -700, -1, 1, 700, 2**33, 2**65])
    elif how == 2:
        other: Any = state
        for key in choose.choice(every):
            other = other[key]
        inside[path[-1]] = copy.deepcopy(other)
    else:
        inside[path[-1]] = copy.deepcopy(choose.choice(NASTY))
    return state


def outcomes_of(seed: int, times: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for number in range(times):
        said = outcome(changed(random.Random(seed * 10**6 + number)))
        if said not in ("refused", "restored"):
            said += f" ({number})"
        found[said] = found.get(said, 0) + 1
    return found


def test_no_random_change_does_more_than_to_be_refused() -> None:
    status, found = in_child(lambda: outcomes_of(0, 150))
    assert status == 0
    assert found.keys() == {"refused", "restored"}
    assert found["refused"] > 75


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_no_random_change_of_many_does(seed: int) -> None:
    status, found = in_child(lambda: outcomes_of(seed, 2000))
    assert status == 0
    assert found.keys() == {"refused", "restored"}
