import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset, TensorDataset

from samerun.data.folds import kfold
from samerun.errors import UsageError

CLASSES = [0, 0, 1, 1, 1, 1, 0, 1, 2, 1, 1, 0]
GROUPS = list("aabbbcddddee")


def validations(folds):
    return [validation.tolist() for _, validation in folds]


# A change of a pinned value is a breaking change, and gets a decision record.
@pytest.mark.parametrize(
    ("k", "options", "expected"),
    [
        (3, {"seed": 0}, [[0, 1, 7, 10], [3, 5, 6, 8], [2, 4, 9, 11]]),
        (5, {"seed": 1, "name": "outer"}, [[0, 5, 8], [3, 7, 10], [2, 6], [9, 11], [1, 4]]),
        (3, {"seed": 0, "stratify": CLASSES}, [[1, 5, 7, 10], [0, 3, 8, 9], [2, 4, 6, 11]]),
        (3, {"seed": 0, "groups": GROUPS}, [[6, 7, 8, 9], [0, 1, 10, 11], [2, 3, 4, 5]]),
        (2, {"seed": 0, "groups": GROUPS, "stratify": CLASSES}, [[0, 1, 5, 6, 7, 8, 9], [2, 3, 4, 10, 11]]),
        (3, {"seed": 0, "ids": range(12)}, [[2, 4, 6, 9, 10], [1, 3, 5, 7, 8, 11], [0]]),
    ],
)
def test_pinned(k, options, expected):
    assert validations(kfold(12, k, **options)) == expected


@given(st.lists(st.integers(0, 3), min_size=2, max_size=60), st.integers(2, 8), st.integers(), st.booleans())
def test_every_sample_is_validated_once_and_trained_on_otherwise(classes, k, seed, stratified):
    samples = len(classes)
    k = min(k, samples)
    folds = kfold(samples, k, seed=seed, stratify=classes if stratified else None)
    assert len(folds) == k
    assert sorted(sample for fold in validations(folds) for sample in fold) == list(range(samples))
    for train, validation in folds:
        assert sorted([*train, *validation]) == list(range(samples))
        assert (np.diff(train) > 0).all()
        assert len(validation) in (samples // k, -(-samples // k))
        if stratified:
            for kind in set(classes):
                have = sum(classes[sample] == kind for sample in validation)
                assert abs(have - classes.count(kind) * len(validation) / samples) < 1


def test_a_group_is_in_one_fold_only():
    groups = np.arange(90) // 4
    for train, validation in kfold(90, 5, seed=0, groups=groups):
        assert not set(groups[train]) & set(groups[validation])
        assert 14 <= len(validation) <= 22


def test_with_ids_new_samples_move_no_old_one():
    old = kfold(500, 4, seed=0, ids=np.arange(500))
    new = kfold(700, 4, seed=0, ids=np.arange(700))
    assert validations(old) == [[i for i in fold if i < 500] for fold in validations(new)]


def test_another_seed_or_name_gives_other_folds():
    first, *others = (
        validations(kfold(100, 5, **options))
        for options in ({"seed": 0}, {"seed": 1}, {"seed": 0, "name": "inner"})
    )
    assert first == validations(kfold(100, 5, seed=0, name="kfold"))
    assert all(first != other for other in others)


def test_every_kind_of_data_gets_the_same_samples():
    expected = kfold(12, 3, seed=0)
    frame = pd.DataFrame({"x": range(12), "label": CLASSES}, index=range(12, 0, -1))
    for (train, validation), (more, one) in zip(kfold(frame, 3, seed=0), expected, strict=True):
        assert train["x"].tolist() == more.tolist()
        assert validation["x"].tolist() == one.tolist()
    for (train, validation), (more, one) in zip(
        kfold(TensorDataset(torch.arange(12)), 3, seed=0), expected, strict=True
    ):
        assert isinstance(train, Subset)
        assert (train.indices, validation.indices) == (more.tolist(), one.tolist())
    by_name = kfold(frame, 3, seed=0, stratify="label")
    assert [validation["x"].tolist() for _, validation in by_name] == validations(
        kfold(12, 3, seed=0, stratify=CLASSES)
    )


@pytest.mark.parametrize(
    ("k", "options", "said"),
    [
        (1, {}, "k is 1"),
        (0, {}, "k is 0"),
        (2.0, {}, "not 2.0"),
        ("5", {}, "not '5'"),
        (13, {}, "fold 12 of 13 is empty: too few samples"),
        (6, {"groups": GROUPS}, "too few groups"),
        (5, {"ids": [1] * 12}, "is empty: too few ids"),
        (3, {"stratify": [1]}, "1 labels for 12 samples"),
        (3, {"seed": None}, "NoneType"),
    ],
)
def test_bad_input_is_refused(k, options, said):
    with pytest.raises(UsageError, match=said):
        kfold(12, k, **{"seed": 0, **options})
