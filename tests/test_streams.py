import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from samerun.errors import UsageError
from samerun.streams import Stream, stream, stream_seed

PARTS = st.one_of(st.integers(), st.text())
PATHS = st.lists(PARTS, max_size=4).map(tuple)


@pytest.mark.parametrize(
    ("path", "seed"),
    [
        ((0,), 2991461905970676082),
        ((42, 1), 11343848930931287457),
        ((43, 0), 495141545760784585),
        ((0, "a", "b"), 1924284126707419705),
        ((0, "ab"), 12181411639244377057),
    ],
)
def test_pinned(path, seed):
    assert stream_seed(*path) == seed


@given(st.integers(), PATHS, st.integers(), PATHS)
def test_distinct_paths_give_distinct_seeds(seed, path, other, others):
    assert (stream_seed(seed, *path) == stream_seed(other, *others)) == ((seed, path) == (other, others))


@given(PATHS)
def test_seeds_fit_64_bits(path):
    assert 0 <= stream_seed(1, *path) < 2**64


def test_the_type_of_a_part_counts():
    assert len({stream_seed(0, 1), stream_seed(0, "1"), stream_seed(0, "i1;"), stream_seed(0, "", 1)}) == 4


def test_integers_of_any_library_are_the_same_integer():
    assert stream_seed(0, 5) == stream_seed(0, np.int64(5)) == stream_seed(0, torch.tensor(5))


@pytest.mark.parametrize("part", [1.0, None, b"x", (1,)])
def test_other_types_are_refused(part):
    with pytest.raises(UsageError, match=type(part).__name__):
        stream(0, part)


def test_children_go_down_the_path():
    assert stream(7, "data").child(1).child(2, "x") == Stream(7, "data", 1, 2, "x")
    assert stream(7, "data").child(1).seed64 == stream_seed(7, "data", 1)
    assert stream(7, "data", 1) != stream(7, "data", 2)


def test_generators_start_at_the_start_of_the_stream():
    data = stream(1, "data", 0, 5)
    assert data.python().random() == data.python().random() == random.Random(data.seed64).random()
    assert data.python().getstate() == random.Random(data.seed64).getstate()
    assert data.numpy().random() == data.numpy().random() != stream(1, "data", 0, 6).numpy().random()
    assert torch.equal(torch.rand(3, generator=data.torch()), torch.rand(3, generator=data.torch("cpu")))
    assert data.torch().initial_seed() == data.seed64


def test_pinned_numbers():
    data = stream(1, "data", 0, 5)
    assert data.python().random() == 0.7161470419286678
    assert data.numpy().random() == 0.8401464415598027


def test_item_seeds_are_a_permutation():
    data = stream(0, "data")
    numbers = [*range(5000), *(2**bit for bit in range(13, 64)), 2**64 - 1]
    assert len(set(data.item_seeds(numbers))) == len(numbers)
    assert data.item_seeds([7]) == data.item_seeds(range(8))[7:]
    assert not set(data.item_seeds(range(5000))) & set(stream(1, "data").item_seeds(range(5000)))
    for outside in (-1, 2**64):
        with pytest.raises(OverflowError):
            data.item_seeds([outside])


def test_pinned_item_seeds():
    found = stream(0, "data").item_seeds([0, 1, 2**64 - 1])
    assert found == [8775746910135860894, 14500934302782813798, 117019273776514553]


def test_repr_shows_how_to_make_it():
    assert repr(stream(1, "data", 0)) == "stream(1, 'data', 0)"


def test_a_random_state_uses_all_64_bits_and_is_one_that_scikit_learn_takes() -> None:
    from sklearn.utils import check_random_state

    first = stream(42, "split").random_state()
    assert check_random_state(first) is first
    drawn = first.permutation(100).tolist()
    assert drawn == stream(42, "split").random_state().permutation(100).tolist()
    assert drawn != stream(42, "fit").random_state().permutation(100).tolist()
    key = stream(42, "split").seed64
    assert drawn != np.random.RandomState([key % 2**32, 0]).permutation(100).tolist()
