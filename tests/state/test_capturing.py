"""capture(): everything is in it, nothing in it changes, and capturing changes nothing.

Covers `from_tree.py`, `kinds.py`, `to_tree.py` and `trees.py`.
"""

from __future__ import annotations

import collections
import io
import random
import threading
import time
from typing import Any

import hypothesis.extra.numpy
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from samerun.digest import digest_value
from samerun.errors import StateError
from samerun.state import capture, restore
from samerun.state.from_tree import TreeReader
from samerun.state.to_tree import TreeWriter

from .training import Training


def test_training_on_changes_nothing_of_what_was_captured(training: Training) -> None:
    values = {"history": [1.0], "best": training.model[0].weight.detach(), "counts": np.arange(3)}
    state = capture(**training.objects, **values)
    before = digest_value(state)
    training.steps(3)
    values["history"].append(2.0)
    values["counts"] += 1
    assert digest_value(state) == before
    assert digest_value(capture(**training.objects, **values)) != before


def test_restoring_and_training_on_changes_nothing_of_it_either(training: Training) -> None:
    state = capture(**training.objects)
    before = digest_value(state)
    runs = []
    for _ in range(3):
        restore(state, **training.objects)
        runs.append((training.steps(3), training.digest()))
    assert runs[0] == runs[1] == runs[2]
    assert digest_value(state) == before


def test_capturing_changes_nothing(training: Training) -> None:
    other = Training()
    other.steps(3)
    expected = other.steps(4)

    undisturbed = Training()
    undisturbed.steps(3)
    found = []
    for _ in range(4):
        capture(**undisturbed.objects)
        found.append(undisturbed.step())
    assert found == expected


def test_what_another_thread_draws_meanwhile_is_not_drawn_again() -> None:
    """As when a thread saves while the training goes on, or a thread fetches while the training saves."""
    drawn: list[float] = []
    begun, stop = threading.Event(), threading.Event()

    def train() -> None:
        while not stop.is_set():
            drawn.append(torch.rand(1, dtype=torch.float64).item())
            begun.set()

    class Waits(torch.nn.Linear):
        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            until = len(drawn) + 100
            while len(drawn) < until:
                time.sleep(0)
            return super().state_dict(*args, **kwargs)

    thread = threading.Thread(target=train)
    thread.start()
    begun.wait()
    try:
        for _ in range(3):
            capture(model=Waits(2, 2))
    finally:
        stop.set()
        thread.join()
    assert len(drawn) > 300 and len(set(drawn)) == len(drawn)


def test_a_state_dict_that_draws_moves_no_generator() -> None:
    class Draws(nn.Linear):
        def state_dict(self, *args, **kwargs):
            torch.rand(1), random.random(), np.random.rand()
            return super().state_dict(*args, **kwargs)

    model = Draws(2, 2)
    state = capture(model=model)
    drawn = [torch.rand(1).item(), random.random(), np.random.rand()]
    restore(state, model=model)
    assert [torch.rand(1).item(), random.random(), np.random.rand()] == drawn


def test_the_same_state_has_the_same_digest(training: Training) -> None:
    sets = {"names": {"b", "a", "c"}}
    assert digest_value(capture(**training.objects, **sets)) == digest_value(
        capture(**training.objects, names={"c", "b", "a"})
    )


def test_tied_weights_and_tensors_shared_between_objects_are_kept_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(50, 8), nn.Linear(8, 50, bias=False)
            self.head.weight = self.embed.weight

    model = Tied()
    state = capture(model=model, weight=model.embed.weight, other=model.embed.weight.detach().clone())
    tree = state["objects"]["model"]
    assert tree["embed.weight"] is tree["head.weight"]
    assert state["values"]["weight"].data_ptr() != model.embed.weight.data_ptr()
    before = model.embed.weight.detach().clone()
    with torch.no_grad():
        model.embed.weight.add_(1)
    values = restore(state, model=model)
    assert torch.equal(model.head.weight, before) and model.head.weight is model.embed.weight
    assert torch.equal(values["weight"], before) and torch.equal(values["other"], before)
    assert values["weight"].requires_grad and not values["other"].requires_grad


def test_state_dicts_that_hand_out_one_reused_tensor_are_kept_apart() -> None:
    """Freed between two objects, its address is taken by the next one's."""

    class Made:
        def __init__(self, value: float) -> None:
            self.value = value

        def state_dict(self):
            return {"value": torch.full((1000,), self.value)}

        def load_state_dict(self, state):
            self.value = state["value"][0].item()

    objects = {f"made{i}": Made(float(i)) for i in range(20)}
    state = capture(**objects)
    for made in objects.values():
        made.value = -1.0
    restore(state, **objects)
    assert [made.value for made in objects.values()] == [float(i) for i in range(20)]


def test_a_view_of_a_large_tensor_is_kept_without_it() -> None:
    state = capture(view=torch.zeros(10**6)[:3])
    file = io.BytesIO()
    torch.save(state["values"]["view"], file)
    assert len(file.getvalue()) < 5_000


def test_it_says_where_it_was_made() -> None:
    state = capture(epoch=3)
    assert (state["rank"], state["world_size"]) == (0, 1)
    assert state["torch"] == str(torch.__version__)
    assert state["devices"][0] == "cpu"
    assert {"python-random", "numpy-global", "torch-cpu"} <= state["rng"].keys()


def test_the_whole_is_readable_with_weights_only(training: Training) -> None:
    everything = {
        **training.objects,
        **{"array": np.arange(3), "scalar": np.float32(1.5), "names": {"a"}, "frozen": frozenset({1})},
        **{
            "size": torch.Size([1]),
            "dtype": torch.bfloat16,
            "nothing": None,
            "big": 2**100,
            "raw": b"\0\xff",
        },
    }
    file = io.BytesIO()
    torch.save(capture(**everything), file)
    file.seek(0)
    read = torch.load(file, weights_only=True)
    assert digest_value(read) == digest_value(capture(**everything))


class _Unstated:
    pass


class _ReadOnly:
    def state_dict(self):
        return {}


class _Raises:
    def state_dict(self):
        raise KeyError("half built")

    def load_state_dict(self, state):
        pass


class _Holds:
    def __init__(self, value: object) -> None:
        self.value = value

    def state_dict(self):
        return {"held": [self.value]}

    def load_state_dict(self, state):
        pass


ITSELF: list = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        (_Unstated(), "thing is a .*_Unstated.*state_dict"),
        (lambda: 0, "state_dict"),
        (nn.Linear, "thing is a builtins.type"),
        (_ReadOnly(), "without load_state_dict"),
        (_Raises(), "thing: its state could not be read .*half built"),
        (_Holds(_Unstated()), r"thing\['held'\]\[0\] is a .*_Unstated"),
        ({"a": [1, _Unstated()]}, r"thing\['a'\]\[1\] is a .*_Unstated"),
        (ITSELF, "contains itself"),
        ({_Unstated(): 1}, "has the key"),
        (np.array([object()]), "dtype object"),
        (torch.zeros(2, device="meta"), "has no content"),
        (nn.LazyLinear(2), "run a batch through the model"),
        (torch.utils.data.DataLoader([1]), "samerun.data.DataLoader"),
        (random.SystemRandom(), "could not be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_kept_is_named(thing: object, says: str) -> None:
    with pytest.raises(StateError, match=says):
        capture(model=nn.Linear(1, 1), thing=thing)


def test_everything_that_cannot_be_kept_is_named_at_once() -> None:
    with pytest.raises(StateError, match=r"first is .*; second is .*"):
        capture(first=_Unstated(), good=1, second=_Unstated())


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text()
    | st.binary()
    | st.binary().map(bytearray)
    | hypothesis.extra.numpy.arrays(
        hypothesis.extra.numpy.scalar_dtypes(),
        hypothesis.extra.numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    )
)
KEYS = st.none() | st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.dictionaries(st.text(), inner, max_size=3).map(collections.OrderedDict)
        | st.sets(st.integers() | st.text(), max_size=3)
        | st.frozensets(st.integers(), max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_any_plain_value_comes_back_the_same(value: object) -> None:
    tree, places = TreeWriter().take(value, "value")
    file = io.BytesIO()
    torch.save(tree, file)
    file.seek(0)
    back = TreeReader().give(torch.load(file, weights_only=True), places)
    assert digest_value(back) == digest_value(value)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12.0).reshape(3, 4).T,
        torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
        torch.zeros(0, 3),
        torch.tensor(float("nan")),
        torch.randn(3, dtype=torch.bfloat16),
        torch.randn(3, dtype=torch.complex64).conj(),
        torch.tensor([1.0, 0.0, 2.0]).to_sparse(),
        torch.ones(2, 3).expand(4, 2, 3),
        nn.Parameter(torch.randn(3)),
    ],
    ids=lambda tensor: f"{tensor.dtype} {tuple(tensor.shape)} {tensor.layout}",
)
def test_any_tensor_comes_back_the_same(tensor: torch.Tensor) -> None:
    back = restore(capture(tensor=tensor))["tensor"]
    assert digest_value(back) == digest_value(tensor.detach())
    assert back.requires_grad == tensor.requires_grad
    if tensor.layout is torch.strided and 0 not in tensor.stride():
        assert back.stride() == tensor.stride()


def test_arrays_keep_their_order_in_memory() -> None:
    back = restore(capture(array=np.asfortranarray(np.random.rand(300, 700).astype(np.float32))))["array"]
    assert back.flags.f_contiguous and not back.flags.c_contiguous
    assert back.flags.writeable and back.flags.owndata


def test_versions_of_modules_are_kept() -> None:
    """torch reads BatchNorm's state by the version beside it."""
    tree = capture(model=nn.BatchNorm1d(2))["objects"]["model"]
    assert tree._metadata[""]["version"] == 2


def test_no_graph_and_no_inference_tensors(training: Training) -> None:
    with torch.inference_mode():
        state = capture(**training.objects, value=torch.ones(2))
        values = restore(state, **training.objects)
    assert not values["value"].is_inference()
    training.steps(2)  # an inference tensor among the moments could not be updated
