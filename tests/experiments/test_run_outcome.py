"""How runs ended, in words. Covers `launched_traceback.py`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from samerun.experiments.run_outcome import (
    describe_end,
    explain_failure,
    explain_repeated_names,
    has_same_output,
    read_last_lines,
)
from samerun.runs.manifest import Manifest
from samerun.runs.store import Run


def ended(folder: Path, outcome: str, code: int | None = 0, output: bytes | None = None) -> Run:
    path = folder / f"run{len(list(folder.iterdir()))}"
    path.mkdir()
    manifest = Manifest(
        id=path.name,
        command=("python", "train.py"),
        cwd=str(folder),
        started="2026-11-01T12:00:00.000+00:00",
        outcome=outcome,
        exit_code=code,
        duration_s=1.0,
        steps=1,
    )
    manifest.write(path)
    if output is not None:
        (path / "output.txt").write_bytes(output)
    return Run(path)


@pytest.mark.parametrize(
    ("outcome", "code", "expected"),
    [
        ("failed", 3, "exit code 3 after 1 step"),
        ("failed", -9, "killed by signal 9 after 1 step"),
        ("interrupted", 0, "interrupted after 1 step"),
        ("timeout", None, "ended by --timeout after 1 step; give it more seconds"),
    ],
)
def test_how_a_run_ended(tmp_path: Path, outcome: str, code: int | None, expected: str) -> None:
    assert describe_end(ended(tmp_path, outcome, code)).split(", or")[0] == expected


def test_which_of_the_runs_failed(tmp_path: Path) -> None:
    fine, bad, late = ended(tmp_path, "finished"), ended(tmp_path, "failed", 3), ended(tmp_path, "timeout")
    assert explain_failure([fine, fine], parted=False) is None
    assert (
        explain_failure([bad, bad], parted=False)
        == "the command failed in every run: exit code 3 after 1 step"
    )
    assert explain_failure([fine, bad], parted=True) == (
        "run 2 of 2 did not end as the others did: exit code 3 after 1 step"
    )
    assert str(explain_failure([fine, bad], parted=False)).endswith("up to there the runs agree")
    cut = ended(tmp_path, "interrupted")
    assert explain_failure([cut, cut], parted=False) == (
        "every run was interrupted, the first of them after 1 step"
    )
    assert str(explain_failure([fine, cut], parted=True)).endswith("others did: interrupted after 1 step")
    assert str(explain_failure([late, late], parted=False)).startswith(
        "every run was ended by --timeout: run 1 after 1 step, run 2 after 1 step"
    )


def test_the_last_lines_of_the_first_that_failed(tmp_path: Path) -> None:
    text = "".join(f"{line}\n\n" for line in range(9)).encode() + b"\xff\n"
    fine, bad = ended(tmp_path, "finished", output=b"fine\n"), ended(tmp_path, "failed", 1, text)
    assert read_last_lines([fine, bad]) == ("5", "6", "7", "8", "\ufffd")
    assert read_last_lines([fine]) == read_last_lines([ended(tmp_path, "failed")]) == ()


TORCHRUN = """\
step 1
[rank1]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank1]:   File "train.py", line 10, in <module>
[rank0]:   File "train.py", line 12, in <module>
[rank1]:     main()
[rank0]:     dist.barrier()
[rank1]: ValueError: boom
[rank0]: RuntimeError: Connection closed by peer
E1124 11:00:00.1 7 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: 1)
Traceback (most recent call last):
  File "torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
  rank      : 1 (local_rank: 1)
============================================================
"""
ACCELERATE = """\
Traceback (most recent call last):
  File "train.py", line 3, in load
    open(path)
FileNotFoundError: data.csv

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "train.py", line 5, in <module>
    load()
SystemError: no data
Traceback (most recent call last):
  File "accelerate", line 8, in <module>
    sys.exit(main())
subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.
"""


@pytest.mark.parametrize(
    ("printed", "first", "last"),
    [
        (TORCHRUN, "Traceback (most recent call last):", "ValueError: boom"),
        (ACCELERATE, "Traceback (most recent call last):", "SystemError: no data"),
        (TORCHRUN.replace("ChildFailedError", "Other"), "-" * 60, "=" * 60),
        (TORCHRUN.replace("Traceback", "trace"), "-" * 60, "=" * 60),
    ],
    ids=["torchrun", "accelerate", "no launcher", "no traceback"],
)
def test_a_launchers_summary_hides_no_traceback(tmp_path: Path, printed: str, first: str, last: str) -> None:
    lines = read_last_lines([ended(tmp_path, "failed", 1, printed.encode())])
    assert (lines[-1], len(lines) <= 5) == (last, True)
    assert first in lines


def test_whether_all_printed_the_same(tmp_path: Path) -> None:
    one, two, other = (ended(tmp_path, "finished", output=text) for text in (b"a\n", b"a\n", b"b\n"))
    assert (has_same_output([one, two]), has_same_output([one, two, other])) == (True, False)
    assert has_same_output([one, ended(tmp_path, "finished")]) is None


@pytest.mark.parametrize(
    ("last", "controlled", "said"),
    [
        ("FileExistsError: [Errno 17] File exists: 'runs/1f'", True, "a name that is made of uuid4()"),
        ("OSError: [Errno 98] Address already in use", True, "bind port 0"),
        ("OSError: [Errno 98] Address already in use", False, None),
        ("ValueError: no", True, None),
    ],
)
def test_what_is_the_same_in_each_controlled_run_is_said(
    tmp_path: Path, last: str, controlled: bool, said: str | None
) -> None:
    run = ended(tmp_path, "failed", 1, f"Traceback:\n{last}\n".encode())
    if controlled:
        replace(run.manifest, mode="seeded").write(run.path)
    found = explain_repeated_names(Run(run.path))
    assert said in (found or "") if said else found is None
