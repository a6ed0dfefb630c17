"""Covers `causes.py` and `opening.py`."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from samerun.experiments.check.result import CheckResult
from samerun.report.text.check import show
from samerun.runs.difference import Difference

from ..results import DIFFERS, OPERATION, SAME, SCRIPT, UNKNOWN

GOLDEN = Path(__file__).parents[1] / "golden"


def shown(result: CheckResult, folder: Path, width: int = 80) -> str:
    (folder / "train.py").write_text(SCRIPT)
    file = io.StringIO()
    show(replace(result, folder=str(folder)), Console(file=file, width=width, highlight=False, markup=False))
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize(
    "name, result", [("same", SAME), ("differs", DIFFERS), ("operation", OPERATION), ("unknown", UNKNOWN)]
)
def test_each_verdict_reads_as_its_golden_text(
    name: str, result: CheckResult, width: int, tmp_path: Path
) -> None:
    lines = [line.rstrip() for line in shown(result, tmp_path, width).splitlines()]
    assert lines == (GOLDEN / f"{name}-{width}.txt").read_text().splitlines()


def test_the_verdict_comes_first(tmp_path: Path) -> None:
    firsts = [shown(result, tmp_path).split()[1] for result in (SAME, DIFFERS, UNKNOWN)]
    assert firsts == ["same", "differs", "unknown"]


def test_commands_are_not_wrapped(tmp_path: Path) -> None:
    long = replace(DIFFERS, command=("python", "train.py", *["--some-option"] * 20))
    assert f"samerun check --controlled -- python train.py {'--some-option ' * 20}".strip() in shown(
        long, tmp_path, 40
    )


@pytest.mark.parametrize("source", ["resume-state", "input-data"])
def test_a_file_that_one_run_leaves_to_the_next_suggests_scratch(source: str, tmp_path: Path) -> None:
    without = shown(DIFFERS, tmp_path)
    cause = replace(DIFFERS.causes[0], source=source)
    assert "samerun check --scratch --" in shown(replace(DIFFERS, causes=(cause,)), tmp_path)
    assert "--scratch" not in without
    failed = replace(
        DIFFERS, output=("EOFError: EOF when reading a line",)
    )  # it found what the first had left, say
    assert "samerun check --scratch --" in shown(failed, tmp_path)


def test_what_is_controlled_on_request_alone_is_asked_for(tmp_path: Path) -> None:
    causes = tuple(replace(DIFFERS.causes[0], source=id_) for id_ in ("clock", "torch-cpu", "input-data"))
    text = shown(replace(DIFFERS, causes=causes), tmp_path)
    assert "samerun check --controlled --control clock -- " in text


def test_under_control_it_does_not_suggest_control(tmp_path: Path) -> None:
    assert "--controlled" not in shown(replace(DIFFERS, controlled=True), tmp_path)


def test_no_cause_is_said_plainly(tmp_path: Path) -> None:
    assert "no source of the catalogue explains it" in shown(replace(DIFFERS, causes=()), tmp_path)


@pytest.mark.parametrize("site", ["gone.py:3", "train.py:900", "train.py", "train.py:x", "\x00:1", ":1"])
def test_a_call_site_that_cannot_be_read_leaves_out_the_source(site: str, tmp_path: Path) -> None:
    difference = Difference(step=7, phase="data", what="batch", call_site=site)
    assert "│" not in shown(replace(DIFFERS, difference=difference), tmp_path)


def test_what_comes_from_a_run_is_never_markup_nor_control(tmp_path: Path) -> None:
    evil = "[bold]x[/bold] \x1b[31mred\x1b]0;title\x07 \u202eback\r\nnew"
    difference = Difference(step=1, phase=evil, what=evil, name=evil, module=evil, op=evil, call_site=evil)
    result = replace(
        DIFFERS,
        difference=difference,
        runs=(evil, evil, evil),
        pair=(evil, evil),
        command=(evil,),
        notes=(evil,),
        output=(evil,),
        causes=(replace(DIFFERS.causes[0], evidence=evil, advice=evil, source=evil, call_site=evil),),
        place=evil,
    )
    text = shown(result, tmp_path)
    assert "[bold]x[/bold]" in text
    assert not set(text) & set("\x1b\x07\r\u202e")


def test_a_pipe_gets_no_colour_and_a_terminal_does(tmp_path: Path) -> None:
    coloured = io.StringIO()
    show(SAME, Console(file=coloured, force_terminal=True, color_system="standard"))
    assert "\x1b[" in coloured.getvalue()
    assert "\x1b[" not in shown(SAME, tmp_path)
