import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samerun.data.by_group import assign_by_group
from samerun.streams import stream

GROUP_SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=25)
WEIGHTS = st.lists(st.integers(0, 10), min_size=1, max_size=5).filter(any)


def sizes_by(weights, samples):
    """Sizes of parts with about these weights; a weight of 0 gives a size of 0."""
    ends = np.cumsum(weights) * samples // sum(weights)
    return np.diff(ends, prepend=0)


def never_straddles(groups, parts):
    return len(np.unique(np.stack([groups, parts]), axis=1).T) == len(np.unique(groups))


@given(GROUP_SIZES, WEIGHTS, st.integers(0, 9))
@settings(max_examples=300)
def test_sizes_are_within_the_documented_bound(group_sizes, weights, seed):
    groups = np.repeat(np.arange(len(group_sizes)), group_sizes)
    sizes = sizes_by(weights, len(groups))
    parts = assign_by_group(groups, len(group_sizes), None, sizes, stream(seed))
    assert never_straddles(groups, parts)
    missed = np.abs(np.bincount(parts, minlength=len(sizes)) - sizes)
    used = np.count_nonzero(sizes)
    assert missed.max() <= max(used - 1.5, 0) * max(group_sizes)
    assert missed[sizes == 0].sum() == 0


@given(GROUP_SIZES, WEIGHTS, st.integers(0, 9), st.data())
@settings(max_examples=300)
def test_the_chi_square_is_within_the_documented_bound(group_sizes, weights, seed, data):
    groups = np.repeat(np.arange(len(group_sizes)), group_sizes)
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    favourite = random.integers(0, 3, len(group_sizes))[groups]
    classes = np.where(random.random(len(groups)) < 0.5, favourite, random.integers(0, 3, len(groups)))
    sizes = sizes_by(weights, len(groups))
    parts = assign_by_group(groups, len(group_sizes), classes, sizes, stream(seed))
    assert never_straddles(groups, parts)

    columns = [np.ones(len(groups), dtype=bool), *(classes == kind for kind in range(3))]
    chi_square = bound = 0.0
    for column in (column for column in columns if column.any()):
        expected = column.sum() * sizes[sizes > 0] / len(groups)
        have = np.bincount(parts[column], minlength=len(sizes))[sizes > 0]
        chi_square += ((have - expected) ** 2 / expected).sum()
        bound += (np.bincount(groups[column]) ** 2).sum() / column.sum()
    assert chi_square <= (np.count_nonzero(sizes) - 1) * bound + 1e-9


def test_equal_groups_fill_equal_parts_exactly():
    groups = np.arange(100) // 5
    parts = assign_by_group(groups, 20, None, np.array([50, 25, 25]), stream(0))
    assert np.bincount(parts).tolist() == [50, 25, 25]


def test_groups_of_one_class_are_spread_by_class():
    groups = np.arange(400) // 5
    classes = groups % 4 // 3  # a quarter of the groups are of class 1
    parts = assign_by_group(groups, 80, classes, np.array([320, 40, 40]), stream(0))
    assert np.bincount(parts[classes == 1]).tolist() == [80, 10, 10]
    assert np.bincount(parts[classes == 0]).tolist() == [240, 30, 30]
    # Without the classes the sizes are right, and the classes are as it falls out.
    parts = assign_by_group(groups, 80, None, np.array([320, 40, 40]), stream(0))
    assert np.bincount(parts).tolist() == [320, 40, 40]
    assert np.bincount(parts[classes == 1], minlength=3).tolist() != [80, 10, 10]


def test_one_large_group_goes_where_it_fits():
    groups = np.repeat(np.arange(5), [10, 10, 10, 10, 60])
    for seed in range(10):
        parts = assign_by_group(groups, 5, None, np.array([80, 10, 10]), stream(seed))
        assert np.bincount(parts).tolist() == [80, 10, 10]
        assert parts[-1] == 0


@given(st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_the_samples_has_no_effect(random, stratified):
    groups = np.repeat(np.arange(12), np.arange(1, 13))
    classes = np.arange(len(groups)) % 3 if stratified else None
    sizes = sizes_by([8, 1, 1], len(groups))
    order = np.array(random.sample(range(len(groups)), len(groups)))
    parts = assign_by_group(groups, 12, classes, sizes, stream(0))
    shuffled = assign_by_group(
        groups[order], 12, None if classes is None else classes[order], sizes, stream(0)
    )
    assert shuffled.tolist() == parts[order].tolist()


@pytest.mark.parametrize("stratified", [False, True])
def test_every_group_comes_into_every_part_under_some_seed(stratified):
    groups = np.repeat(np.arange(30), 4 + np.arange(30) % 4)
    classes = groups % 2 if stratified else None
    sizes = sizes_by([6, 2, 2], len(groups))
    parts = np.stack([assign_by_group(groups, 30, classes, sizes, stream(seed)) for seed in range(60)])
    assert all((parts == part).any(axis=0).all() for part in range(3))
