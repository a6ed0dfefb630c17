"""What is noted of a file that is opened to write."""

from __future__ import annotations

import mmap
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from samerun.recording.evidence_log import Journal
from samerun.recording.opened_files import Files
from samerun.runs.plan import Plan
from samerun.runs.schema import RENAMED, STEADY


class Notes(Journal):
    """Keeps the values of one kind of evidence."""

    def __init__(self, folder: Path, kind: str = "written") -> None:
        super().__init__(Plan(run=str(folder / "run")))
        self.values: list[float | None] = []
        self._kind = kind

    def note(self, what: str, name: str, *, value: float | None = None, **columns: Any) -> None:
        if what == self._kind:
            self.values.append(value)


@pytest.mark.parametrize(
    ("mode", "flags", "size", "noted"),
    [
        ("w", os.O_WRONLY | os.O_TRUNC, 6, None),
        ("a", os.O_WRONLY, 6, 6.0),
        ("a", os.O_WRONLY, None, 0.0),  # it is not there yet
        ("r+", os.O_RDWR, 6, None),
        (None, os.O_WRONLY | os.O_APPEND, 6, 6.0),
        (None, os.O_WRONLY, 6, None),
    ],
)
def test_a_file_that_is_added_to_has_its_size(
    tmp_path: Path, mode: str | None, flags: int, size: int | None, noted: float | None
) -> None:
    path = tmp_path / "log.csv"
    if size is not None:
        path.write_bytes(b"x" * size)
    journal = Notes(tmp_path)
    Files(journal).opened((str(path), mode, flags))
    assert journal.values == [noted]


def test_the_first_time_counts(tmp_path: Path) -> None:
    journal, path = Notes(tmp_path), tmp_path / "log.csv"
    files = Files(journal)
    for text in ("one", "more"):
        files.opened((str(path), "a", os.O_WRONLY))
        path.write_text(text)
    assert journal.values == [0.0]


class Reads(Journal):
    def __init__(self, folder: Path) -> None:
        super().__init__(Plan(run=str(folder / "run")))
        self.rows: list[tuple[str, str, str | None]] = []

    def note(self, what: str, name: str, *, detail: str | None = None, **columns: Any) -> None:
        self.rows.append((what, name, detail))


def test_a_file_that_is_written_under_another_name_is_written(tmp_path: Path) -> None:
    journal, folder = Reads(tmp_path), tmp_path / "folder"
    files = Files(journal)
    (tmp_path / "last.tmp").write_text("weights")
    folder.mkdir()
    for old in ("last.tmp", "folder", "gone", "last.tmp"):
        files.renamed("os.rename", (str(tmp_path / old), str(tmp_path / "last.pt"), -1, -1))
    assert journal.rows == [("written", RENAMED, str(tmp_path / "last.pt"))]


def test_a_file_that_gets_a_second_name_by_a_link_is_written(tmp_path: Path) -> None:
    journal, out = Reads(tmp_path), tmp_path / "out"
    files = Files(journal)
    out.mkdir()
    (out / "epoch-3.pt").write_text("weights")
    files.renamed("os.link", (str(out / "epoch-3.pt"), str(out / "best.pt"), -1, -1))
    files.renamed("os.symlink", ("epoch-3.pt", str(out / "latest.pt"), -1))
    files.renamed("os.symlink", ("epoch-4.pt", str(out / "next.pt"), -1))  # it leads nowhere yet
    files.renamed("os.symlink", (".", str(out / "here"), -1))
    assert journal.rows == [("written", RENAMED, str(out / name)) for name in ("best.pt", "latest.pt")]


def test_what_the_kernel_says_of_the_system_is_a_read_of_the_system(tmp_path: Path) -> None:
    """It was in no record: runs in which memory happened to be equal were `same`, without a word."""
    journal = Reads(tmp_path)
    files = Files(journal)
    for path in ("/proc/self/statm", f"/proc/{os.getpid()}/statm", "/proc/meminfo", "/proc/cpuinfo"):
        files.opened((path, "r", os.O_RDONLY))
    assert journal.rows == [
        ("system", "/proc/PID/statm", None),
        ("system", "/proc/PID/statm", None),
        ("system", "/proc/meminfo", None),
        ("system", "/proc/cpuinfo", STEADY),
    ]


def test_what_a_library_reads_there_is_not(tmp_path: Path) -> None:
    journal, library = Reads(tmp_path), tmp_path / "site-packages" / "measure.py"
    library.parent.mkdir()
    library.write_text("def read(files, given):\n    files.opened(given)\n")
    made: dict[str, Any] = {"__name__": "measure"}
    exec(compile(library.read_text(), str(library), "exec"), made)
    made["read"](Files(journal), ("/proc/self/statm", "r", os.O_RDONLY))
    assert not journal.rows


@pytest.mark.parametrize(
    ("mode", "size", "read"),
    [
        ("r+", 6, [6.0]),
        ("a+", 6, [6.0]),  # this file goes back in it: file.seek(0)
        ("a+b", 0, [0.0]),
        ("a+", None, [0.0]),  # it is not there yet
        ("a", 6, []),
        ("w+", 6, []),
        ("x+", None, []),
        ("r", None, []),  # an error, the script's own
    ],
)
def test_a_file_that_is_read_and_written_has_what_was_in_it(
    tmp_path: Path, mode: str, size: int | None, read: list[float]
) -> None:
    path = tmp_path / "replay.jsonl"
    if size is not None:
        path.write_bytes(b"x" * size)
    journal = Notes(tmp_path, "opened")
    Files(journal).opened((str(path), mode, 0))
    assert journal.values == read


def test_a_file_that_is_only_added_to_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("old")
    script = tmp_path / "train.py"
    script.write_text(f"opened(({str(tmp_path / 'log.csv')!r}, 'a+', 0))\n")
    journal = Notes(tmp_path, "opened")
    exec(compile(script.read_text(), str(script), "exec"), {"opened": Files(journal).opened})
    assert journal.values == []


@pytest.mark.parametrize(
    ("ranks", "access", "noted"),
    [
        ("2", mmap.ACCESS_WRITE, [2.0]),
        ("2", mmap.ACCESS_DEFAULT, [2.0]),
        ("2", mmap.ACCESS_READ, []),
        ("2", mmap.ACCESS_COPY, []),
        ("1", mmap.ACCESS_WRITE, []),
        ("many", mmap.ACCESS_WRITE, []),
    ],
)
def test_a_file_that_ranks_map_to_write_to_is_memory_that_they_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: str, access: int, noted: list[float]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", ranks)
    journal = Notes(tmp_path, "threads")
    files = Files(journal)
    files.mapped((3, 4096, access, 0))
    files.mapped((-1, 4096, access, 0))  # memory without a file
    within = {"files": files, "__name__": "multiprocessing.heap"}
    exec("def hook(): files.mapped((3, 4096, 0, 0))\nhook()", within)
    exec("(lambda: files.mapped((3, 4096, 0, 0)))()", within)
    assert journal.values == noted


@pytest.mark.parametrize(("target", "noted"), [("log.txt", [4.0, 4.0]), (None, [])])
def test_a_file_that_a_shell_sends_the_output_to(
    tmp_path: Path, target: str | None, noted: list[float]
) -> None:
    journal = Notes(tmp_path)
    path = tmp_path / (target or "pipe")
    if target is None:
        os.mkfifo(path)
    else:
        path.write_text("old\n")
    descriptor = os.open(path, os.O_RDWR)
    saved = [os.dup(number) for number in (1, 2)]
    try:
        for number in (1, 2):
            os.dup2(descriptor, number)
        Files(journal).redirected()
    finally:
        for number, old in zip((1, 2), saved, strict=True):
            os.dup2(old, number)
            os.close(old)
        os.close(descriptor)
    assert journal.values == noted


@pytest.mark.parametrize(("opener", "direct"), [("logging", True), ("http.client", False)])
def test_the_file_of_a_log_is_noted_though_the_standard_library_opens_it(
    tmp_path: Path, opener: str, direct: bool
) -> None:
    """The call comes through two more frames, as that of an audit hook does."""
    asked = []

    class Asked(Notes):
        def note(self, what: str, name: str, *, user_only: bool = False, **columns: Any) -> None:
            asked.append(not user_only)

    files = Files(Asked(tmp_path))
    code = compile("def opens(hook, arguments):\n    hook(arguments)", "opener.py", "exec")
    exec(code, names := {"__name__": opener})
    names["opens"](lambda arguments: files.opened(arguments), (str(tmp_path / "a.log"), "a", os.O_WRONLY))
    assert asked == [direct]


def test_what_threads_open_at_the_same_moment_is_noted_of_each(tmp_path: Path) -> None:
    noted, begun, goes_on = [], threading.Event(), threading.Event()

    class Slow(Journal):
        def note(self, what: str, name: str, **columns: Any) -> None:
            noted.append(columns["detail"])
            if threading.current_thread() is not threading.main_thread():
                begun.set()
                goes_on.wait(30)

    files = Files(Slow(Plan(run=str(tmp_path / "run"))))
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    other = threading.Thread(target=files.opened, args=((str(tmp_path / "a.txt"), "r", os.O_RDONLY),))
    other.start()
    assert begun.wait(30)
    files.opened((str(tmp_path / "b.txt"), "r", os.O_RDONLY))
    goes_on.set()
    other.join()
    assert [Path(name).name for name in noted] == ["a.txt", "b.txt"]
