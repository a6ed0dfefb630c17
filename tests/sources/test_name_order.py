"""Covers `patching/name_order.py`."""

import os
import random
import re
from collections import Counter

import pytest

from samerun.sources.patching import name_order


def order(names):
    """As given, from three orders in which a file system might have them."""
    shuffled = [random.Random(seed).sample(names, len(names)) for seed in range(3)]
    found = [name_order.put_in_order(given) for given in shuffled]
    assert found[0] == found[1] == found[2]
    assert sorted(found[0]) == sorted(names)
    return found[0]


def natural(names):
    """By their numbers."""
    return sorted(names, key=lambda name: [int(x) if x.isdecimal() else x for x in re.split(r"(\d+)", name)])


SORTED = {
    "frames": [f"frame_{n:04d}.png" for n in range(300)],
    "numbers": [f"{n}.txt" for n in range(300)],
    "checkpoints": [f"model_{n:03d}.pt" for n in range(100)],
    "with its label": [f"{n:03d}.{end}" for n in range(100) for end in ("jpg", "txt")],
    "modalities": [f"BraTS_{n:03d}_{kind}.nii" for n in range(100) for kind in ("flair", "seg", "t1", "t2")],
    "days": [f"2021-{m:02d}-{d:02d}.csv" for m in range(1, 13) for d in range(1, 29)],
    "times": [f"log_20210301_{h:02d}{m:02d}.csv" for h in range(24) for m in range(0, 60, 5)],
    "classes that take turns": [f"{n:03d}_{'cat' if n % 2 else 'dog'}.png" for n in range(100)],
    "words": ["apple", "bee", "car", "dog", "eel", "fox", "goat", "hat", "ink", "jar"],
    "few": ["cat_0", "cat_1", "dog_0", "dog_1"],
    "a folder of a training": [*(f"checkpoint-{n}" for n in (100, 200, 300)), "config.json", "events", "log"],
}


@pytest.mark.parametrize("name", SORTED)
def test_names_that_fall_in_no_groups_are_sorted(name):
    assert order(SORTED[name]) == natural(SORTED[name])
    assert name_order.classify(SORTED[name]) in ("plain", "numbered")


GROUPED = {
    "words first": (["cat", "cow", "dog", "owl"], "{label}_{n:03d}.txt"),
    "with a dot": (["cat", "dog"], "{label}.{n}.jpg"),
    "numbers first": ([str(label) for label in range(10)], "{label}_jackson_{n}.wav"),
    "after what all begin with": (["neg", "pos"], "review-{label}-{n}.txt"),
    "after an index": (["cat", "dog", "owl"], "{index:05d}_{label}.png"),
    "many": ([f"n{label:08d}" for label in range(60)], "{label}_{n}.JPEG"),
}


@pytest.mark.parametrize("name", GROUPED)
def test_each_part_of_a_listing_holds_all_groups(name):
    labels, form = GROUPED[name]
    names = [
        form.format(label=label, n=n, index=1000 * at + n)
        for at, label in enumerate(labels)
        for n in range(100)
    ]
    named = {one: label for one, label in zip(names, [x for x in labels for _ in range(100)], strict=True)}
    found = [named[one] for one in order(names)]
    cut = len(found) * 3 // 4
    for part in (
        found[:cut],
        found[cut:],
        *(found[start::step] for step in (2, 4, 5, 10) for start in (0, 1)),
    ):
        counts = Counter(part)
        assert set(counts) == set(labels)
        assert max(counts.values()) < 4 * len(part) / len(labels)
    assert name_order.classify(names) == "grouped"


def test_within_a_group_names_stay_sorted():
    found = order([f"video{v}_frame{n:03d}.png" for v in range(5) for n in range(50)])
    for v in range(5):
        of_one = [name for name in found if name.startswith(f"video{v}_")]
        assert of_one == sorted(of_one)


def test_groups_within_groups_are_mixed_too():
    names = [f"{age}_{sex}_{n:02d}.jpg" for age in range(20, 28) for sex in (0, 1) for n in range(20)]
    last = order(names)[-80:]
    assert min(Counter(name.split("_")[1] for name in last).values()) > 20
    assert len({name.split("_")[0] for name in last}) == 8


def test_two_folders_of_pairs_come_in_the_same_order():
    images = [f"{label}_{n:02d}.jpg" for label in ("cat", "dog") for n in range(50)]
    masks = [name.replace(".jpg", "_mask.png") for name in images]
    assert [name.replace(".jpg", "_mask.png") for name in order(images)] == order(masks)


def test_groups_of_other_sizes_are_mixed_in_proportion():
    names = [f"cat_{n:03d}" for n in range(300)] + [f"dog_{n:03d}" for n in range(30)]
    found = order(names)
    assert [sum(name.startswith("dog") for name in found[at : at + 110]) for at in (0, 110, 220)] == [10] * 3


def test_other_files_beside_the_groups_change_nothing():
    names = [f"{label}_{n:02d}" for label in ("cat", "dog") for n in range(20)]
    others = ["README", "labels.csv", *(f"{n:02d}" for n in range(9))]
    assert [name for name in order(names + others) if name in names] == order(names)
    models = [f"model_{n}" for n in range(20)]
    assert [name for name in order(models + others) if name in models] == models


def test_names_of_bytes_and_names_that_are_no_text():
    names = [os.fsencode(f"{label}_{n}") for label in ("cat", "dog") for n in range(20)] + [b"\xff_1"]
    assert order(names) != sorted(names)
    assert order([os.fsdecode(name) for name in names]) == [os.fsdecode(name) for name in order(names)]


PAIRS = {
    "a suffix": ("img{n}.npy", "img{n}_mask.npy"),
    "a prefix": ("{n}.npy", "GT_{n}.npy"),
    "another ending": ("{label}{n}.jpg", "{label}{n}.txt"),
    "hexadecimal": ("{n:x}_sat.npy", "{n:x}_mask.npy"),
    "case": ("Scan-{n}", "scan-{n}"),
}


@pytest.mark.parametrize("count", [5, 30])
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_two_folders_are_at_the_same_place(name, count):
    """`img1.npy`, `img10.npy`, … but `img10_mask.npy`, …, `img1_mask.npy`: sorted as texts they are not."""
    one, other = (
        [form.format(n=n, label=["cat", "dog"][n % 2]) for n in range(count)] for form in PAIRS[name]
    )
    place = {second: first for first, second in zip(one, other, strict=True)}
    assert [place[each] for each in order(other)] == order(one)


def test_why_sorted_texts_would_be_wrong():
    assert name_order.classify(["a_1", "a_2", "a_3"]) == name_order.classify(["a.c", "a_b"]) == "plain"
    assert name_order.classify(["a_1", "a_2", "a_10"]) == name_order.classify([b"2", b"10"]) == "numbered"
