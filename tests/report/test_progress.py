from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from rich.text import Text

from samerun.report.console import make_console
from samerun.report.progress import Progress, _format_duration


def played(terminal: bool) -> tuple[str, Progress]:
    file = io.StringIO()
    console = Console(
        file=file,
        force_terminal=terminal,
        force_interactive=terminal,
        width=100,
        highlight=False,
        markup=False,
    )
    with Progress(console, now=lambda: 100.0) as progress:
        progress.stage("recording")
        progress.run_started(1, 2, None)
        progress.progress(3, 0.5, 1.0)
        progress.run_ended("a", 90, "finished", 12.3)
        progress.run_started(2, 2, 90)
        progress.progress(45, None, 6.0)
        if progress._live is not None:
            progress._live.refresh()
        progress.run_ended("b", 1, "stopped", 6.0)
    return file.getvalue(), progress


def test_a_pipe_gets_one_line_for_each_run() -> None:
    text, progress = played(terminal=False)
    assert text.splitlines() == [
        "recording: run 1 of 2: finished, 90 steps, 12.3 s",
        "recording: run 2 of 2: stopped, 1 step, 6.0 s",
    ]
    assert progress.runs == {"a": "finished", "b": "stopped"}


def test_a_pipe_that_shall_have_colours_has_no_animation(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel of a notebook and a CI set it."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    file = io.StringIO()
    with Progress(make_console(file)) as progress:
        progress.stage("recording")
        progress.run_started(1, 1, None)
        progress.run_ended("a", 90, "finished", 12.3)
    shown = re.sub(r"\x1b\[\d+m", "", file.getvalue())
    assert shown == "recording: run 1 of 1: finished, 90 steps, 12.3 s\n" != file.getvalue()


def test_no_more_than_ten_runs_begin_without_a_word_on_how_many_may_come() -> None:
    file = io.StringIO()
    progress = Progress(Console(file=file, width=100, highlight=False, markup=False))
    progress.stage("confirming")
    for number in range(1, 13):
        progress.run_started(1, 1, None)
        progress.run_ended(str(number), 5, "finished", 2.0)
    lines = file.getvalue().splitlines()
    assert lines[10] == "10 runs so far, 20.0 s; the search goes on. Ctrl-C stops, and keeps what is there"
    progress.ahead(24)
    assert file.getvalue().splitlines()[-1].startswith("about 24 runs to come, 2.0 s each: 48.0 s; Ctrl-C")
    for number in range(13, 25):
        progress.run_started(1, 24, None)
        progress.run_ended(str(number), 5, "finished", 2.0)
    assert "so far" not in "".join(file.getvalue().splitlines()[14:])


def test_the_live_line_says_how_long_it_will_take() -> None:
    text, _ = played(terminal=True)
    assert "about 6.3 s left in this part; Ctrl-C stops" in text
    assert "left" not in text.split("run 1 of 2: finished")[0]  # nothing is known before the first run


def test_a_first_result_is_printed_once_into_a_pipe_and_stands_above_the_live_line() -> None:
    for terminal in (False, True):
        file = io.StringIO()
        console = Console(
            file=file,
            force_terminal=terminal,
            force_interactive=terminal,
            width=100,
            highlight=False,
            markup=False,
        )
        with Progress(console, interim=lambda result: [Text(f"price {result}")]) as progress:
            progress.run_started(1, 9, None)
            progress.so_far(1)
            progress.so_far(2)
            progress.progress(3, None, 1.0)
            if progress._live is not None:
                progress._live.refresh()
        assert ("price 1" in file.getvalue()) is not terminal
        assert ("price 2" in file.getvalue()) is terminal


def test_a_terminal_sees_the_step_of_how_many() -> None:
    text, _ = played(terminal=True)
    assert "recording: run 2 of 2: step 45 of 90, 6.0 s" in text


def test_the_time_goes_on_while_a_run_says_nothing() -> None:
    now, file = [100.0], io.StringIO()
    console = Console(
        file=file, force_terminal=True, force_interactive=True, width=100, highlight=False, markup=False
    )
    with Progress(console, now=lambda: now[0]) as progress:
        progress.stage("recording")
        progress.run_started(1, 2, None)
        now[0] = 112.5
        assert progress._live is not None
        progress._live.refresh()
    assert "recording: run 1 of 2: starting, 12.5 s; Ctrl-C stops" in file.getvalue()


def test_durations_are_for_people() -> None:
    assert [_format_duration(s) for s in (0.04, 59.9, 65, 7500)] == [
        "0.0 s",
        "59.9 s",
        "1 min 05 s",
        "2 h 05 min",
    ]
