"""The tutorials, as a reader follows them: the script is saved, and each command is run."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from cli.command import samerun

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
EXPECTED = {  # (tutorial, the number of its command): the exit codes that it may have, words in its output
    ("is-my-improvement-real", 0): (
        {0},
        ["initialisation", "not in play: other seeds, the same bits", "best seed"],
    ),
    ("is-my-improvement-real", 1): ({0}, ["A - B =", "probability", "known from earlier"]),
    ("how-fast-can-reproducible-be", 0): ({0, 1}, ["3 runs"]),
    ("how-fast-can-reproducible-be", 1): ({0}, ["cheapest", "repeats", "nothing", "strict"]),
    ("how-fast-can-reproducible-be", 2): ({0, 1}, ["threads", "hostname"]),
}


def script(page: str) -> str:
    found = re.search(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert found is not None
    return found[1]


def commands(page: str) -> list[list[str]]:
    blocks = re.findall(r"^```\n(samerun .*?)\n```$", page, re.M | re.S)
    return [shlex.split(block.replace("python train.py", f"{sys.executable} train.py")) for block in blocks]


@pytest.mark.parametrize("name", ["is-my-improvement-real", "how-fast-can-reproducible-be"])
def test_every_command_of_a_tutorial_is_known_here(name: str) -> None:
    page = (TUTORIALS / f"{name}.md").read_text()
    assert {at for tutorial, at in EXPECTED if tutorial == name} == set(range(len(commands(page))))
    compile(script(page), name, "exec")


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", ["is-my-improvement-real", "how-fast-can-reproducible-be"])
def test_a_tutorial_does_what_it_says(name: str, tmp_path: Path) -> None:
    page = (TUTORIALS / f"{name}.md").read_text()
    (tmp_path / "train.py").write_text(script(page))
    for at, words in enumerate(commands(page)):
        codes, said = EXPECTED[name, at]
        done = samerun(*words[1:], cwd=tmp_path, timeout=2500)
        assert done.returncode in codes, done.stdout + done.stderr
        for word in said:
            assert word in " ".join(done.stdout.split()), done.stdout
