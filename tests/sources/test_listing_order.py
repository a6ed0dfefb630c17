import glob
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

import pytest

from samerun.runs.plan import Control
from samerun.sources.listing_order import GROUPED, MOVED, NUMBERED, ListingOrder

from .differences import ONE, TWO, batch, row, side
from .kept import Kept

source = ListingOrder()
NAMES = [f"{n:02d}" for n in (7, 3, 9, 1, 5, 8, 2)]


@pytest.fixture
def folder(tmp_path):
    """A folder that is not listed in order: on a tmpfs by creation, and elsewhere by a hash."""
    for name in NAMES:
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.fixture
def controlled():
    undo = source.control(Control())
    yield
    undo()


def walks(folder):
    return {
        "listdir": os.listdir(folder),
        "bytes": [os.fsdecode(name) for name in os.listdir(os.fsencode(folder))],
        "scandir": [entry.name for entry in os.scandir(folder)],
        "walk": next(os.walk(folder))[2] + ["sub"],
        "glob": [os.path.basename(path) for path in glob.glob(str(folder / "*"))],
        "iterdir": [path.name for path in folder.iterdir()],
        "pathlib": [path.name for path in folder.glob("*")],
    }


def test_control_sorts_every_way_of_listing(folder, controlled):
    expected = [*sorted(NAMES), "sub"]
    assert walks(folder) == dict.fromkeys(walks(folder), expected)


def test_control_mixes_classes_that_sorting_would_bring_together(tmp_path, controlled):
    for label in ("cat", "dog"):
        for n in range(20):
            (tmp_path / f"{label}_{n:02d}").touch()
    (tmp_path / "sub").mkdir()
    found = walks(tmp_path)
    assert len({tuple(name for name in names if name != "sub") for names in found.values()}) == 1
    assert 5 < sum(name.startswith("cat") for name in found["listdir"][:20]) < 15


def test_a_note_says_where_names_fall_in_groups(folder, observed):
    notes = observed(source)
    os.listdir(folder)
    for n in range(40):
        (folder / f"{'cat' if n < 20 else 'dog'}_{n:02d}").touch()
    os.listdir(folder)
    values = [int(note.value or 0) & ~MOVED for note in notes.of("listing")]
    assert values == [0, GROUPED]


def test_a_note_says_where_the_control_has_another_order(tmp_path, observed, monkeypatch):
    names = ["a_2", "a_10", "a_1"]
    monkeypatch.setattr(os, "listdir", lambda folder: list(names))
    notes = observed(source)
    os.listdir(tmp_path)
    names.sort(key=lambda name: int(name[2:]))
    os.listdir(tmp_path)
    assert [note.value for note in notes.of("listing")] == [NUMBERED | MOVED, NUMBERED]


def test_control_keeps_what_scandir_is(folder, controlled):
    with os.scandir(folder) as entries:
        first = next(entries)
        assert first.name == "01" and first.is_file()
    assert list(entries) == []
    with pytest.raises(FileNotFoundError):
        os.scandir(folder / "nothing")
    with pytest.raises(FileNotFoundError):
        os.listdir(folder / "nothing")
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        assert os.listdir(descriptor) == [*sorted(NAMES), "sub"]
    finally:
        os.close(descriptor)


def test_removing_a_tree_stays_safe_and_a_reference_pickles(folder, controlled):
    assert os.scandir in os.supports_fd
    assert pickle.loads(pickle.dumps(os.listdir)) is os.listdir
    (folder / "sub" / "x").touch()
    shutil.rmtree(folder / "sub")
    with tempfile.TemporaryDirectory() as path:
        (pathlib.Path(path) / "a").touch()
    assert not os.path.exists(path)


def test_control_is_taken_back_even_from_kept_references(folder):
    before = os.listdir
    undo = source.control(Control())
    kept = os.listdir
    undo()
    assert os.listdir is before
    assert kept(folder) == before(folder)


def test_control_before_the_first_import_of_pathlib_and_glob():
    code = (
        "import sys\nfrom samerun.runs.plan import Control\n"
        "from samerun.sources.listing_order import ListingOrder\n"
        "for name in [*sys.modules]:\n"
        "    if name.split('.')[0] in ('pathlib', 'glob'): del sys.modules[name]\n"
        "ListingOrder().control(Control())\nimport pathlib, glob\n"
        "print(len(list(pathlib.Path('/').iterdir())), len(glob.glob('/*')) > 3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split()[1:] == ["True"], done.stderr


def test_observing_changes_no_order_and_notes_each_listing(folder, observed):
    before = walks(folder)
    notes = observed(source)
    assert walks(folder) == before
    listed = notes.of("listing")
    assert {note.detail for note in listed} == {str(folder)}
    assert len({note.inputs for note in listed}) == 1
    assert len(listed) >= len(before)
    assert all(note.call_site.startswith("tests/sources/test_listing_order.py:") for note in listed)


def test_a_note_tells_order_from_content(tmp_path, observed):
    notes = observed(source)
    os.listdir(tmp_path)
    (tmp_path / "a").touch()
    os.listdir(tmp_path)
    one, two = notes.of("listing")
    assert one.inputs != two.inputs and one.digest != two.digest


def test_a_listing_that_is_not_read_to_its_end_is_not_noted(folder, observed):
    notes = observed(source)
    with os.scandir(folder) as entries:
        next(entries)
    assert notes.of("listing") == []


def test_listings_by_the_standard_librarys_machinery_are_not_noted(observed):
    notes = observed(source)
    import importlib

    importlib.invalidate_caches()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "inner").mkdir()
        (pathlib.Path(folder) / "inner" / "file").touch()
        shutil.rmtree(pathlib.Path(folder) / "inner")
    assert notes.of("listing") == []


def test_recognises_the_same_names_in_another_order():
    def listed(digest, names, **more):
        at = {"call_site": "train.py:3", "detail": "data", **more}
        return side(row("listing", "folder", digest=digest, inputs=names, **at))

    found = source.recognise(batch(a=listed(ONE, 5), b=listed(TWO, 5)))
    assert (found.strength, found.call_site, found.advice) == (1.0, "train.py:3", None)
    grouped = source.recognise(batch(a=listed(ONE, 5, value=GROUPED), b=listed(TWO, 5, value=GROUPED)))
    assert "random.Random(0).shuffle(names)" in grouped.advice
    assert source.recognise(batch(a=listed(ONE, 5), b=listed(ONE, 5))) is None
    assert source.recognise(batch(a=listed(ONE, 5), b=listed(TWO, 6))) is None  # other files: input-data


# --- replay ----------------------------------------------------------------------------------------


@pytest.fixture
def kept(folder):
    """What a run keeps that lists the folder in every way: (what it found, what is kept)."""
    answers = Kept()
    undo = source.replay(answers)
    found = walks(folder)
    undo()
    return found, answers


def replay(answers, folder):
    undo = source.replay(answers.again())
    try:
        return walks(folder)
    finally:
        undo()


@pytest.fixture
def turned(folder):
    """From here on the file system keeps its names the other way round."""
    undo = source.vary(True, lambda: None)
    yield
    undo()


def test_keeping_changes_nothing(folder, kept):
    assert kept[0] == walks(folder) and not kept[1].parted
    assert len(kept[1].kept) >= len(kept[0])


def test_a_replay_lists_in_the_recorded_order(folder, kept, turned):
    assert all(walks(folder)[way] != kept[0][way] for way in ("listdir", "scandir", "glob", "iterdir"))
    assert replay(kept[1], folder) == kept[0]
    assert not kept[1].parted


@pytest.mark.parametrize("change", ["one more", "another"])
def test_other_names_come_as_they_are_and_are_reported(folder, kept, change):
    if change == "another":
        (folder / "01").unlink()
    (folder / "99").touch()
    expected = walks(folder)
    assert replay(kept[1], folder) == expected
    assert {why for _, why in kept[1].parted} == {"other names are there than in the recorded run"}


def test_a_recorded_scandir_is_read_as_it_is_asked_for(folder):
    answers = Kept()
    undo = source.replay(answers)
    with os.scandir(folder) as entries:
        next(entries)
        (folder / "late").touch()
    undo()
    assert answers.kept == []  # not read to its end: there is no order to keep


def test_removing_a_tree_keeps_no_order(folder):
    answers = Kept()
    undo = source.replay(answers)
    shutil.rmtree(folder / "sub")
    undo()
    assert answers.kept == [] and not (folder / "sub").exists()
