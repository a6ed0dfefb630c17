"""The first changed line, with the change in sight."""

from __future__ import annotations

import subprocess
from pathlib import Path

from samerun.digest import digest_bytes
from samerun.experiments.verify.changed_line import describe_first_change, find_changed_line

LONG = 'parser.add_argument("--episodes", type=int, default=30); '


def test_a_short_line_is_shown_whole() -> None:
    said = describe_first_change("train.py", "a = 1\nlr = 0.1\n", "a = 1\nlr = 0.2\n")
    assert said == "train.py:2: lr = 0.1 → lr = 0.2"
    assert describe_first_change("train.py", "a = 1\n", "a = 1\n") is None


def test_other_places_are_counted_and_empty_lines_are_none() -> None:
    before = "import os\na = 1\nb = 2\nc = 3\n"
    after = "import os\n\nimport sys\na = 1\nb = 3\nc = 3\n\n"
    said = describe_first_change("train.py", before, after)
    assert said == "train.py:3: nothing → import sys, and 1 more place"
    more = describe_first_change("train.py", before, after.replace("c = 3\n\n", "c = 4\nd = 5\n"))
    assert more == "train.py:3: nothing → import sys, and 1 more place"
    more = describe_first_change("train.py", before + "e = 1\nf = 1\n", "a = 1\nb = 3\nc = 3\nf = 1\n")
    assert more == "train.py:1: import os → nothing, and 2 more places"
    assert describe_first_change("train.py", "a = 1\nb = 2\n", "a = 1\n\n\nb = 2\n") == (
        "train.py:2: empty lines alone"
    )
    assert describe_first_change("train.py", "a = 1\n\nb = 2\n", "a = 1\nc = 1\nb = 2\n") == (
        "train.py:2: nothing → c = 1"
    )


def test_of_a_long_line_the_part_that_changed_is_shown() -> None:
    before, after = (f"{LONG * 3}lr = {rate}  # {LONG * 3}" for rate in (0.1, 0.2))
    said = describe_first_change("train.py", before, after)
    assert said is not None and len(said) < 250
    one, other = said.removeprefix("train.py:1: ").split(" → ")
    assert "lr = 0.1 " in one and "lr = 0.2 " in other and one[0] == one[-1] == "…"


def test_of_a_configuration_too_and_not_of_data(tmp_path: Path) -> None:
    who = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for name, content in (("config.yaml", b"epochs: 2\nlr: 0.1\n"), ("data.bin", b"\0a")):
        (tmp_path / name).write_bytes(content)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Train")):
        subprocess.run([*who, *words], cwd=tmp_path, check=True, capture_output=True)
    names = ("config.yaml", "data.bin")
    digests = {name: digest_bytes((tmp_path / name).read_bytes(), "file").hex() for name in names}
    (tmp_path / "config.yaml").write_text("epochs: 2\nlr: 0.2\n")
    (tmp_path / "data.bin").write_bytes(b"\0b")
    found = {name: find_changed_line(tmp_path, name, of, None, "file") for name, of in digests.items()}
    assert found == {"config.yaml": "config.yaml:2: lr: 0.1 → lr: 0.2", "data.bin": None}
