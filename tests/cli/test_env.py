from __future__ import annotations

import json
from pathlib import Path

from samerun.sources.catalogue import catalogue

from .command import samerun


def test_every_source_is_described(tmp_path: Path) -> None:
    done = samerun("env", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sources = json.loads(done.stdout)["sources"]
    assert set(sources) == set(catalogue())
    assert sources["torch-cpu"]["in_play"]
    assert not [source for source, said in sources.items() if said["error"]]


def test_the_text_names_each_source_with_its_summary(tmp_path: Path) -> None:
    text = samerun("env", cwd=tmp_path).stdout
    for source in catalogue().values():
        assert source.id in text
        assert source.summary in text
