"""What shells complete; covers `arguments.py`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .command import samerun

COMPLETE = """
source ./script
COMP_WORDS=(samerun {words})
COMP_CWORD={at}
_shtab_samerun samerun {current} {before}
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    "words, completed",
    [("dia", ["diagnose"]), ("check --ste", ["--steps"]), ("check --mode str", ["strict"])],
)
def test_bash_completes_verbs_options_and_their_values(
    words: str, completed: list[str], tmp_path: Path
) -> None:
    done = samerun("--print-completion", "bash", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "script").write_text(done.stdout)
    given = ["samerun", *words.split()]
    asked = COMPLETE.format(words=words, at=len(given) - 1, current=given[-1], before=given[-2])
    found = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, cwd=tmp_path)
    assert found.stdout.split() == completed, found.stderr


def test_another_shell_is_refused(tmp_path: Path) -> None:
    done = samerun("--print-completion", "dos", cwd=tmp_path)
    assert done.returncode == 2
    assert "bash" in done.stderr
