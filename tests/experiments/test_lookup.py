from __future__ import annotations

from pathlib import Path

from comparing.build import Builder, training

from samerun.experiments.lookup import Lookup
from samerun.runs.store import Run, Store


def test_a_run_is_found_by_its_id_its_folder_beside_another_and_in_the_store(tmp_path: Path) -> None:
    build = Builder(tmp_path)
    a, b = build(training()), build(training())
    stored = Store(tmp_path / "store").create()
    (stored / "manifest.json").write_bytes((a.path / "manifest.json").read_bytes())
    lookup = Lookup(Store(tmp_path / "store"), [a])
    assert lookup.find(a.id) == a == lookup.find(str(a.path))
    assert lookup.find(b.id) == b
    assert lookup.find(stored.name) == Run(stored)
    assert Lookup(Store(tmp_path / "none")).find(a.id) is None


def test_what_is_no_run_is_not_found(tmp_path: Path) -> None:
    a = Builder(tmp_path)(training())
    (tmp_path / "other").mkdir()
    lookup = Lookup(Store(tmp_path / "none"), [a])
    for name in ("", ".", "..", "other", "../run1", "nosuch", "\x00", "x" * 5000, "/"):
        assert lookup.find(name) is None
