import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from samerun.data.labels import number_labels
from samerun.errors import UsageError


def of(labels):
    numbers, count = number_labels(labels, len(labels), "stratify")
    assert numbers.dtype == np.int64
    return numbers.tolist(), count


@pytest.mark.parametrize(
    "labels",
    [
        [7, 3, 7, 900],
        (7, 3, 7, 900),
        [7.0, 3.0, 7.0, 900.5],
        ["d", "a", "d", "é"],
        [b"d", b"a", b"d", b"x"],
        [2**70, 1, 2**70, 2**71],
        [10**12, -(10**12), 10**12, 10**15],  # too far apart for a table
        np.array([7, 3, 7, 900], dtype=np.uint16),
        np.array([100, -128, 100, 127], dtype=np.int8),
        np.array([2**64 - 2, 2**64 - 3, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
        np.array([0, -(2**63), 0, 2**63 - 1]),
        np.array([7.5, 3.5, 7.5, 9.5]),
        np.array(["d", "a", "d", "é"]),
        np.array(["d", "a", "d", "é"], dtype=object),
        torch.tensor([7, 3, 7, 900]),
        pd.Series([7, 3, 7, 900]),
        pd.Series(["d", "a", "d", "é"], index=[4, 3, 2, 1]),
        pd.Series(["d", "a", "d", "é"], dtype="category"),
        pd.Series([7, 3, 7, 900], dtype="Int64"),
        [("b", 1), ("a", 2), ("b", 1), ("b", 2)],
    ],
)
def test_numbers_are_those_of_the_sorted_labels(labels):
    assert of(labels) == ([1, 0, 1, 2], 3)


def test_two_labels():
    assert of([True, False, True]) == of(np.array([True, False, True])) == ([1, 0, 1], 2)
    assert of(np.array([], dtype=np.int64)) == of([]) == ([], 0)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_as_python_sorts_them(labels):
    distinct = sorted(set(labels))
    expected = [distinct.index(label) for label in labels]
    assert of(labels) == of(np.array(labels, dtype=np.int64)) == (expected, len(distinct))
    assert of([str(label) for label in labels])[1] == len(distinct)


@given(st.lists(st.integers(-20, 20), min_size=1))
def test_the_table_and_the_sort_agree(labels):
    far = np.array(labels) * 2**50
    assert of(np.array(labels, dtype=np.int8)) == of(far)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", None, "b", "b"], "missing"),
        ([None, None, None, None], "missing"),
        ([1.0, float("nan"), 2.0, 2.0], "missing"),
        (np.array([1.0, np.nan, 2.0, 2.0]), "missing"),
        (pd.Series([1, None, 2, 2], dtype="Int64"), "missing"),
        (pd.Series(["a", None, "b", "b"]), "missing"),
        ([1, "1", 2, 2], r"types: int, str"),
        ([[1], [2], [3], [4]], r"cannot be sorted \(types: list"),
        ([1, 2, 3], "has 3 labels for 4 samples"),
        (np.eye(4), r"shape \(4, 4\)"),
        (5, r"shape \(\)"),
        (b"abcd", r"shape \(\)"),
    ],
)
def test_bad_labels_are_refused(labels, said):
    with pytest.raises(UsageError, match=said) as raised:
        number_labels(labels, 4, "stratify")
    assert "`stratify`" in str(raised.value)
