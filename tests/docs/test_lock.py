"""The lock in docs/lock.md is a real one, of the example as it is now."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from cli.command import samerun
from trainer import EXAMPLES

from samerun.digest import digest_bytes
from samerun.runs.lock.file import FILE, format_lock, read_lock

PAGE = EXAMPLES.parent / "docs" / "lock.md"
AGAIN = "lock the example again, and put the file into docs/lock.md"


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / FILE
    path.write_text(text, encoding="utf-8")
    return path


def test_it_is_a_lock_of_the_example_as_it_is_now(shown: Path) -> None:
    lock = read_lock(shown)
    assert format_lock(lock) == shown.read_text(encoding="utf-8"), AGAIN
    assert lock.command == ("python", "digits_cnn.py", "--epochs", "1")
    digest = digest_bytes((EXAMPLES / "digits_cnn.py").read_bytes()).hex()
    assert lock.code.files == {"digits_cnn.py": digest}, AGAIN


@pytest.mark.slow
def test_what_is_portable_in_it_holds_on_this_machine(shown: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(EXAMPLES / "digits_cnn.py", folder)
    done = samerun("lock", "--", sys.executable, "digits_cnn.py", "--epochs", "1", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    now, kept = read_lock(folder / FILE), read_lock(shown)
    one, other = ((lock.portable, lock.counts, lock.code.digest, lock.steps) for lock in (now, kept))
    assert one == other, AGAIN
