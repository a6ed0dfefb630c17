import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from samerun.data.by_class import assign_by_class, cut, draw_random_keys, spread
from samerun.errors import UsageError
from samerun.streams import stream


@st.composite
def classes_and_parts(draw):
    """Sizes of classes and of parts, with the same sum."""
    classes = draw(st.lists(st.integers(0, 30), min_size=1, max_size=12))
    cuts = draw(st.lists(st.integers(0, sum(classes)), max_size=5).map(sorted))
    return np.array(classes), np.diff([0, *cuts, sum(classes)])


@given(classes_and_parts())
@example((np.array([8, 7, 4, 1, 1]), np.array([4, 3, 10, 4])))  # some entries are whole, and must stay
@settings(max_examples=500)
def test_every_entry_is_the_floor_or_the_ceiling_of_its_proportion(sizes):
    classes, parts = sizes
    table = spread(classes, parts)
    assert np.array_equal(table.sum(axis=1), classes)
    assert np.array_equal(table.sum(axis=0), parts)
    exact = classes[:, None] * parts
    total = max(classes.sum(), 1)
    assert (table >= exact // total).all()
    assert (table <= -(-exact // total)).all()


def test_spread_where_rounding_row_by_row_fails():
    # Every class alone would round up in part 0, which has room for 80 of them.
    table = spread(np.full(100, 1), np.array([80, 10, 10]))
    assert table.sum(axis=0).tolist() == [80, 10, 10]
    table = spread(np.array([3, 1, 1, 1, 2, 2]), np.array([4, 3, 3]))
    assert table.sum(axis=0).tolist() == [4, 3, 3]


def test_spread_of_many_classes_over_many_parts():
    random = np.random.default_rng(0)
    for parts in (np.full(100, 500), np.bincount(random.integers(0, 100, 50_000), minlength=100)):
        classes = np.bincount(random.integers(0, 1000, 50_000), minlength=1000)
        table = spread(classes, parts)
        assert np.array_equal(table.sum(axis=0), parts)
        assert np.array_equal(table.sum(axis=1), classes)
        assert np.abs(table - classes[:, None] * parts / 50_000).max() < 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30), st.data())
def test_cut_takes_the_smallest_keys_and_keeps_ties_in_order(pairs, data):
    keys = np.array([key for key, _ in pairs], dtype=np.uint64)
    cuts = data.draw(st.lists(st.integers(0, len(keys)), max_size=4).map(sorted))
    sizes = np.diff([0, *cuts, len(keys)])
    expected = np.empty(len(keys), dtype=np.int64)
    expected[sorted(range(len(keys)), key=lambda at: (keys[at], at))] = np.repeat(
        np.arange(len(sizes)), sizes
    )
    assert cut(keys, sizes).tolist() == expected.tolist()


def test_cut_into_many_pieces_as_into_few():
    keys = draw_random_keys(stream(0), 1000)
    many = cut(keys, np.full(500, 2))
    assert np.array_equal(np.bincount(many), np.full(500, 2))
    assert np.array_equal(many // 50, cut(keys, np.full(10, 100)))


def test_the_first_keys_are_the_same_for_every_count():
    assert draw_random_keys(stream(0), 3).tolist() == draw_random_keys(stream(0), 10).tolist()[:3]


def test_pinned_keys():
    keys = draw_random_keys(stream(0, "split", "samples"), 3)
    assert keys.tolist() == [17570480527807816795, 2416153812728074205, 1872755668677994443]


def test_each_sample_is_in_each_part_as_often_as_its_size_says():
    # 500 seeds, 40 samples of 4 classes, a quarter in part 1: chi-square with 40 cells.
    classes = np.arange(40) % 4
    sizes = np.array([30, 10])
    for kinds, number in ((classes, 4), (np.zeros(40, dtype=np.int64), 1)):
        hits = sum(assign_by_class(kinds, number, sizes, stream(seed)) for seed in range(500))
        chi_square = ((hits - 125) ** 2 / (500 * 0.25 * 0.75)).sum()
        assert 15 < chi_square < 75  # 39 ± 4 standard deviations


def test_classes_of_one_sample_go_to_every_part_at_random():
    classes, sizes = np.arange(100), np.array([80, 10, 10])
    parts = np.stack([assign_by_class(classes, 100, sizes, stream(seed)) for seed in range(60)])
    assert all(np.bincount(part).tolist() == [80, 10, 10] for part in parts)
    assert ((parts == 0).any(axis=0) & (parts == 1).any(axis=0) & (parts == 2).any(axis=0)).mean() > 0.9


def test_more_samples_than_arithmetic_in_64_bits_allows_are_refused():
    huge = np.broadcast_to(np.int64(0), (3 * 10**9 + 1,))
    with pytest.raises(UsageError, match="too many"):
        assign_by_class(huge, 1, np.array([3 * 10**9 + 1]), stream(0))
