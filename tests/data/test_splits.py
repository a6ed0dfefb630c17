import random
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset, TensorDataset

from samerun.data.splits import split
from samerun.errors import UsageError

CLASSES = [0, 0, 1, 1, 1, 1, 0, 1, 2, 1, 1, 0, 1, 1, 2, 0, 1, 0, 1, 1]
GROUPS = list("aabbbcddddeeffghhhij")
IDS = [f"img_{n}.png" for n in range(20)]

# A change of a pinned value is a breaking change, and gets a decision record.
PINS = [
    ((10, [0.8, 0.2]), {"seed": 0}, [[1, 2, 3, 4, 6, 7, 8, 9], [0, 5]]),
    ((10, [0.8, 0.2]), {"seed": 1}, [[1, 2, 3, 4, 5, 6, 7, 8], [0, 9]]),
    ((10, [0.8, 0.2]), {"seed": 2**32 - 1}, [[0, 1, 3, 4, 5, 6, 8, 9], [2, 7]]),
    ((10, [0.8, 0.2]), {"seed": -1, "name": "test"}, [[0, 1, 2, 4, 5, 7, 8, 9], [3, 6]]),
    ((10, [5, 3, 2]), {"seed": 0}, [[1, 2, 4, 6, 8], [3, 7, 9], [0, 5]]),
    (
        (20, [0.7, 0.15, 0.15]),
        {"seed": 0, "stratify": CLASSES},
        [[1, 2, 3, 4, 6, 8, 9, 10, 11, 13, 14, 15, 16, 19], [7, 12, 17], [0, 5, 18]],
    ),
    (
        (20, [0.7, 0.15, 0.15]),
        {"seed": 0, "groups": GROUPS},
        [[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18], [0, 1, 19], [12, 13, 14]],
    ),
    (
        (20, [0.7, 0.15, 0.15]),
        {"seed": 0, "groups": GROUPS, "stratify": CLASSES},
        [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 18], [10, 11, 19], [15, 16, 17]],
    ),
    (
        (20, [0.7, 0.15, 0.15]),
        {"seed": 0, "ids": IDS},
        [[2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18], [4, 13], [0, 1, 19]],
    ),
    (
        (20, [0.7, 0.15, 0.15]),
        {"seed": 0, "ids": range(20)},
        [[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19], [], [7, 14]],
    ),
]


def lists(parts):
    return [part.tolist() for part in parts]


def part_of(parts, samples):
    """The part of each sample; fails unless each is in exactly one, and each part is in order."""
    found = np.full(samples, -1)
    for number, part in enumerate(parts):
        assert part.dtype == np.int64
        assert (np.diff(part) > 0).all()
        assert (found[part] == -1).all()
        found[part] = number
    assert (found >= 0).all()
    return found


@pytest.mark.parametrize(("arguments", "options", "expected"), PINS)
def test_pinned(arguments, options, expected):
    assert lists(split(*arguments, **options)) == expected


def test_pinned_at_a_million():
    validation = split(10**6, [0.9, 0.1], seed=0)[1]
    assert (len(validation), validation[:5].tolist(), int(validation.sum())) == (
        100000,
        [0, 17, 23, 28, 70],
        50009598610,
    )


def test_pinned_with_many_groups_and_classes():
    groups = [(n * n * 7919 + n) % 409 for n in range(3000)]
    classes = [n * 31 % 17 % 7 for n in range(3000)]
    parts = split(3000, [0.8, 0.1, 0.1], seed=0, groups=groups, stratify=classes)
    assert [len(part) for part in parts] == [2406, 295, 299]
    assert [int(part.sum()) for part in parts] == [3606388, 440724, 451388]


def test_another_process_with_other_global_generators_gives_the_same():
    code = (
        "import numpy, torch, random; from samerun.data.splits import split;"
        "random.random(), numpy.random.rand(3), torch.rand(5);"
        "print([p.tolist() for p in split(30, [.8, .2], seed=7, stratify=list('abc' * 10))])"
    )
    here = lists(split(30, [0.8, 0.2], seed=7, stratify=list("abc" * 10)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(here)


def test_the_callers_generators_are_left_alone():
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    split(100, [0.8, 0.2], seed=0)
    split(100, [0.8, 0.2], seed=0, groups=np.arange(100) // 5)
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())


LABELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=60)
WEIGHTS = st.lists(st.integers(0, 10), min_size=1, max_size=5).filter(any)


@given(LABELS, WEIGHTS, st.integers(), st.sampled_from(["plain", "stratify", "groups", "both", "ids"]))
def test_every_sample_is_in_exactly_one_part(labels, weights, seed, how):
    classes, groups = [label for label, _ in labels], [label for _, label in labels]
    options = {
        "plain": {},
        "stratify": {"stratify": classes},
        "groups": {"groups": groups},
        "both": {"stratify": classes, "groups": groups},
        "ids": {"ids": classes},
    }[how]
    fractions = [weight / sum(weights) for weight in weights]
    parts = split(len(labels), fractions, seed=seed, **options)
    assert len(parts) == len(fractions)
    found = part_of(parts, len(labels))
    assert lists(parts) == lists(split(len(labels), fractions, seed=seed, **options))
    if how in ("plain", "stratify"):
        for part, fraction in zip(parts, fractions, strict=True):
            assert abs(len(part) - fraction * len(labels)) < 1 + 1e-9
    if how in ("groups", "both"):
        assert len({(group, part) for group, part in zip(groups, found, strict=True)}) == len(set(groups))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=80), WEIGHTS, st.integers(0, 99))
def test_each_class_is_within_one_of_its_proportion_in_each_part(classes, weights, seed):
    parts = split(len(classes), [weight / sum(weights) for weight in weights], seed=seed, stratify=classes)
    for kind in set(classes):
        for part in parts:
            have = sum(classes[sample] == kind for sample in part)
            assert abs(have - classes.count(kind) * len(part) / len(classes)) < 1


def test_only_stratify_keeps_a_class_within_one():
    classes = np.arange(1000) % 2

    def missed(**options):
        return [
            abs(classes[split(1000, [0.9, 0.1], seed=seed, **options)[1]].sum() - 50) for seed in range(9)
        ]

    assert max(missed()) > 1
    assert max(missed(stratify=classes)) == 0


def test_counts_and_fractions_of_the_same_size_are_the_same_split():
    assert lists(split(50, [40, 10], seed=3)) == lists(split(50, [0.8, 0.2], seed=3))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stratify": np.arange(200) % 3},
        {"groups": np.arange(200) // 4},
        {"groups": np.arange(200) // 4, "stratify": np.arange(200) % 3},
        {"ids": np.arange(200)},
    ],
)
def test_another_seed_or_name_gives_another_split(options):
    def parts(**changed):
        return lists(split(200, [0.8, 0.1, 0.1], **{"seed": 0, **options, **changed}))

    all_four = [parts(), parts(seed=1), parts(name="other"), parts(seed=2**64)]
    assert all(one != other for at, one in enumerate(all_four) for other in all_four[at + 1 :])
    assert parts(name="split") == all_four[0]


def test_labels_of_other_dtypes_give_the_same_split():
    expected = lists(split(20, [0.5, 0.5], seed=0, stratify=CLASSES))
    for same in (
        np.array(CLASSES, dtype=np.uint8),
        torch.tensor(CLASSES),
        pd.Series(CLASSES, index=range(20, 0, -1)),
        ["abc"[label] for label in CLASSES],
    ):
        assert lists(split(20, [0.5, 0.5], seed=0, stratify=same)) == expected


def test_every_kind_of_data_gets_the_same_samples():
    train, test = split(20, [0.7, 0.3], seed=0)
    values = np.arange(20) * 10
    assert lists(split(values, [0.7, 0.3], seed=0)) == [(train * 10).tolist(), (test * 10).tolist()]
    assert split(values.tolist(), [0.7, 0.3], seed=0) == ((train * 10).tolist(), (test * 10).tolist())
    subsets = split(TensorDataset(torch.arange(20)), [0.7, 0.3], seed=0)
    assert all(isinstance(part, Subset) for part in subsets)
    assert [part.indices for part in subsets] == [train.tolist(), test.tolist()]
    frames = split(pd.DataFrame({"x": values}, index=list("abcdefghijklmnopqrst")), [0.7, 0.3], seed=0)
    assert [frame["x"].tolist() for frame in frames] == [(train * 10).tolist(), (test * 10).tolist()]
    assert frames[1].index.tolist() == [chr(ord("a") + at) for at in test]


def test_an_index_array_is_split_again():
    train, rest = split(100, [0.8, 0.2], seed=0)
    validation, test = split(rest, [0.5, 0.5], seed=0, name="rest")
    assert sorted([*train, *validation, *test]) == list(range(100))
    assert validation.dtype == np.int64


def test_columns_of_a_frame_by_name():
    frame = pd.DataFrame({"label": CLASSES, "patient": GROUPS, "file": IDS})
    for option, column, values in (
        ("stratify", "label", CLASSES),
        ("groups", "patient", GROUPS),
        ("ids", "file", IDS),
    ):
        by_name = split(frame, [0.7, 0.3], seed=0, **{option: column})
        by_values = split(20, [0.7, 0.3], seed=0, **{option: values})
        assert [part.index.tolist() for part in by_name] == lists(by_values)


@given(st.lists(st.integers(), unique=True, min_size=1), st.lists(st.text()))
def test_with_ids_new_samples_move_no_old_one(old, new):
    before = split(old, [0.8, 0.2], seed=0, ids=old)
    after = split(new + old, [0.8, 0.2], seed=0, ids=new + old)
    assert [[sample for sample in part if not isinstance(sample, str)] for part in after] == list(before)


def test_without_ids_new_samples_do_move_old_ones():
    before, after = split(100, [0.8, 0.2], seed=0), split(150, [0.8, 0.2], seed=0)
    assert set(before[1].tolist()) != {sample for sample in after[1].tolist() if sample < 100}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fractions_or_counts": [0.8, 0.1]}, "sum to 0.9"),
        ({"fractions_or_counts": [10, 9]}, "there are 20 samples"),
        ({"data": {"a": 1}}, "keys"),
        ({"seed": None}, "NoneType"),
        ({"seed": 1.5}, "1.5"),
        ({"name": None}, "NoneType"),
        ({"stratify": [0, 1]}, "`stratify` has 2 labels for 20 samples"),
        ({"groups": [0, 1]}, "`groups` has 2 labels for 20 samples"),
        ({"ids": [0, 1]}, "`ids` has 2 ids for 20 samples"),
        ({"stratify": "label"}, "'label', but data of type int has no columns"),
        ({"ids": IDS, "fractions_or_counts": [10, 10]}, "cannot keep the counts"),
        ({"ids": IDS, "stratify": CLASSES}, "`stratify` has no effect"),
        ({"ids": IDS, "groups": GROUPS}, "pass the groups as `ids`"),
        ({"ids": [1.0] * 20}, "float"),
    ],
)
def test_bad_input_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        split(**{"data": 20, "fractions_or_counts": [0.5, 0.5], "seed": 0, **options})
