import uuid
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from samerun.data.by_content import assign_by_content, hash_ids
from samerun.errors import UsageError
from samerun.streams import stream

IDS = st.one_of(st.integers(), st.text(), st.binary())
HALVES = [Fraction(1, 2), Fraction(1, 2)]


def of(ids, seed=0):
    return hash_ids(ids, len(ids), stream(seed, "split")).tolist()


@pytest.mark.parametrize(
    ("identity", "bits"),
    [
        (0, 10752866679343411394),
        (-1, 5381735669991824082),
        (2**63, 8197001437361267597),
        (2**70, 12277441607882374231),
        ("", 7165125759789176777),
        ("img_1.png", 16360775090073995826),
        ("\udcff", 181337304537350133),
        (b"img_1.png", 5848893413330673830),
    ],
)
def test_pinned(identity, bits):
    assert of([identity]) == [bits]


@given(st.lists(IDS, unique_by=lambda identity: (type(identity), identity)))
def test_distinct_ids_have_distinct_hashes(ids):
    assert len(set(of(ids))) == len(ids)


def test_the_type_of_an_id_counts():
    assert len(set(of([5, "5", b"5", "i5", "s5"]))) == 5


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_an_integer_is_the_same_id_in_every_container(ids):
    expected = of(ids)
    assert (
        of(np.array(ids)) == of(np.array(ids, dtype=np.int32)) == of(np.array(ids, dtype=object)) == expected
    )
    assert of(torch.tensor(ids)) == of(pd.Series(ids)) == of(tuple(ids)) == expected
    assert of([*ids, "x", 2**80])[:-2] == expected
    assert of([np.int64(i) for i in ids]) == of([torch.tensor(i) for i in ids]) == expected


def test_a_string_is_the_same_id_in_every_container():
    ids = ["a", "bc", "é", ""]
    assert of(ids) == of(np.array(ids)) == of(np.array(ids, dtype=object)) == of(pd.Series(ids))


def test_large_unsigned_integers():
    assert of(np.array([2**64 - 1, 3], dtype=np.uint64)) == of([2**64 - 1, 3])


@given(st.lists(IDS, min_size=1), st.lists(IDS), st.randoms(use_true_random=False))
def test_samples_added_removed_or_moved_move_no_other(ids, added, random):
    parts = assign_by_content(ids, len(ids), HALVES, stream(0)).tolist()
    grown = assign_by_content(ids + added, len(ids + added), HALVES, stream(0)).tolist()
    assert grown[: len(ids)] == parts
    assert assign_by_content(ids[1:], len(ids) - 1, HALVES, stream(0)).tolist() == parts[1:]
    order = random.sample(range(len(ids)), len(ids))
    moved = assign_by_content([ids[at] for at in order], len(ids), HALVES, stream(0)).tolist()
    assert moved == [parts[at] for at in order]


def test_dividing_a_part_moves_nothing_between_the_others():
    ids = np.arange(1000)
    two = assign_by_content(ids, 1000, [Fraction(8, 10), Fraction(2, 10)], stream(0))
    three = assign_by_content(ids, 1000, [Fraction(8, 10), Fraction(1, 10), Fraction(1, 10)], stream(0))
    assert np.array_equal(two, np.minimum(three, 1))


@pytest.mark.parametrize("ids", [np.arange(100_000), [f"img_{n}.png" for n in range(100_000)]])
def test_sizes_are_binomial_and_seeds_unrelated(ids):
    def parts(*path):
        return assign_by_content(ids, 100_000, [Fraction(9, 10), Fraction(1, 10)], stream(*path))

    deviation = (100_000 * 0.1 * 0.9) ** 0.5
    small = [parts(*path) for path in ((0, "split"), (1, "split"), (2**32, "split"), (0, "other"))]
    assert all(abs(part.sum() - 10_000) < 5 * deviation for part in small)
    for at, one in enumerate(small):
        for other in small[at + 1 :]:  # both in part 1: 1 of 100
            assert abs((one & other).sum() - 1000) < 5 * (100_000 * 0.01 * 0.99) ** 0.5


def test_neighbouring_ids_are_unrelated():
    bits = np.unpackbits(hash_ids(np.arange(4096), 4096, stream(0)).view(np.uint8)).reshape(4096, 64)
    assert abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / 64
    for distance in (1, 2, 64, 1024):
        flipped = (bits[distance:] ^ bits[:-distance]).mean(axis=0)
        assert abs(flipped - 0.5).max() < 5 * 0.5 / (4096 - distance) ** 0.5


def test_parts_without_a_fraction_get_nothing():
    for fractions in ([0, 1, 0], [0, 0, 1], [1, 0, 0]):
        shares = [Fraction(share) for share in fractions]
        assert set(assign_by_content(range(1000), 1000, shares, stream(0))) == {fractions.index(1)}


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([1.5, 2.0], "float"),
        (np.array([1.5, 2.0]), "float"),
        ([1, None], "NoneType"),
        ([True, False], "bool"),
        (np.array([True, False]), "bool"),
        ([uuid.UUID(int=1), uuid.UUID(int=2)], "UUID"),
        ([(1, 2), (3, 4)], "tuple"),
        ([1, 2, 3], "3 ids for 2 samples"),
        (np.ones((2, 2), dtype=int), r"shape \(2, 2\)"),
        (7, r"shape \(\)"),
    ],
)
def test_bad_ids_are_refused(ids, said):
    with pytest.raises(UsageError, match=said):
        hash_ids(ids, 2, stream(0))
