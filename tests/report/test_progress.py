from __future__ import annotations

import io

from rich.console import Console

from samerun.report.progress import Progress, _format_duration


def played(terminal: bool) -> tuple[str, Progress]:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=100, highlight=False, markup=False)
    with Progress(console) as progress:
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


def test_a_terminal_sees_the_step_of_how_many() -> None:
    text, _ = played(terminal=True)
    assert "recording: run 2 of 2: step 45 of 90, 6.0 s" in text


def test_durations_are_for_people() -> None:
    assert [_format_duration(s) for s in (0.04, 59.9, 65, 7500)] == [
        "0.0 s",
        "59.9 s",
        "1 min 05 s",
        "2 h 05 min",
    ]
