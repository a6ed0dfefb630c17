"""The report as a file: what it holds, what it leaves out, what it never does.

Covers `causes.py`, `charts/growth.py`, `charts/losses.py`, `charts/timeline.py`, `operations.py`,
`page.py`, `runs.py`, `settings.py`, `source_code.py` and `view.py`.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from comparing.build import Builder, Record, end, find, flip, group, operation, record, training

from samerun.comparing.pairing import read
from samerun.errors import UsageError
from samerun.experiments.check.diff import diff
from samerun.experiments.check.result import CheckResult
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.lookup import Lookup
from samerun.report.html import operations, write
from samerun.report.html.charts import timeline
from samerun.report.html.charts.losses import build_losses
from samerun.report.html.page import render
from samerun.report.html.settings import build_settings
from samerun.report.html.source_code import diff as diff_lines
from samerun.report.html.source_code import excerpt, split_pieces
from samerun.runs.difference import Difference
from samerun.runs.schema import NEVER_WRITTEN
from samerun.runs.source_lines import read_source
from samerun.runs.store import Run, Store

from ..diagnoses import HOSTILE, a_case
from ..results import DIFFERS, SAME, UNKNOWN

OPS = {"tier": "ops", "window": None}


@pytest.fixture
def build(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


class Page(HTMLParser):
    """The text, the attributes, and what stands in each script and style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.inline: list[tuple[str, str]] = []
        self.text = ""
        self._in: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._in = tag
        if tag in ("script", "style"):
            self.inline.append((f"{tag} {dict(attrs).get('type', '')}".strip(), ""))

    def handle_endtag(self, tag: str) -> None:
        self._in = None

    def handle_data(self, data: str) -> None:
        if self._in in ("script", "style"):
            self.inline[-1] = (self.inline[-1][0], self.inline[-1][1] + data)
        else:
            self.text += data


def shown(diagnosis: Diagnosis, *runs: Run, folder: Path) -> str:
    return Page(render(diagnosis, Lookup(Store(folder / "none"), runs))).text


def compared(*runs: Run, folder: Path) -> Diagnosis:
    return Diagnosis(diff(Store(folder / "none"), runs), complete=False)


# ---- the file -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("brings", ["", HOSTILE])
def test_it_loads_nothing(brings: str, tmp_path: Path) -> None:
    case = a_case(tmp_path / "x", brings)
    page = Page(render(case.diagnosis, case.lookup))
    for tag, name, value in page.attributes:
        if name in ("src", "href", "srcset", "action", "data", "poster"):
            assert value.startswith(("#", "data:,")), (tag, name, value)
    assert not [tag for tag, _, _ in page.attributes if tag in ("iframe", "object", "embed", "base", "form")]


def test_the_policy_allows_what_is_in_the_file_byte_for_byte_and_nothing_else(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x")
    page = Page(render(case.diagnosis, case.lookup))
    policy = next(value for tag, name, value in page.attributes if "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    hashed = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for kind, text in page.inline
        if kind in ("script", "style")
    ]
    assert len(hashed) == 3
    assert set(hashed) == {word.rstrip(";") for word in policy.split() if word.startswith("'sha256-")}


def test_the_same_runs_make_the_same_bytes(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x")
    assert render(case.diagnosis, case.lookup) == render(case.diagnosis, case.lookup)


def test_it_is_small_enough_to_be_sent(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x")
    assert len(render(case.diagnosis, case.lookup).encode()) < 200_000


def test_the_data_cannot_end_its_script(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x", HOSTILE)
    page = Page(render(case.diagnosis, case.lookup))
    data = next(text for kind, text in page.inline if "json" in kind)
    assert not set(data) & set("<>&")
    assert data.isascii()


def test_a_file_that_cannot_be_written_is_wrong_usage(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x")
    with pytest.raises(UsageError, match="--html"):
        write(case.diagnosis, case.lookup, str(tmp_path / "no" / "x.html"))


def test_everything_that_was_found_is_there(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x")
    text = " ".join(Page(render(case.diagnosis, case.lookup)).text.split())
    for words in (
        "3 causes: python-random, nondeterministic-kernels and threads. With all of them controlled",
        "With python-random controlled, 2 further runs no longer diverge there, but at step 9",
        "x = random.randrange(4)",
        "+random.seed(0)",
        "Run B made one more draw from python-random at train.py:7, in batch 3 of rank0.worker1.",
        "only in run B",
        "random draw",
        "OMP_NUM_THREADS",
        "The weights differ after step 3 and to the end.",
        "the last line",
        "hash-seed",
        "also drawn from",
    ):
        assert words in text


# ---- verdicts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [SAME, DIFFERS, UNKNOWN])
def test_each_verdict_is_said_first(result: CheckResult, tmp_path: Path) -> None:
    text = shown(Diagnosis(result), folder=tmp_path)
    words = text[text.index("samerun report") :].split()
    assert words[3] == result.verdict


def test_runs_that_are_gone_cost_only_what_they_held(tmp_path: Path) -> None:
    text = shown(Diagnosis(DIFFERS), folder=tmp_path)
    assert text.count("not on this disk any more") == 3
    assert "Losses" in text and "Steps and phases" not in text


def test_a_damaged_run_costs_only_what_it_held(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x")
    (case.runs[0].path / "manifest.json").write_text("{")
    text = Page(render(case.diagnosis, case.lookup)).text
    assert "Left out: the runs: The manifest" in text
    assert "random.seed(0)" in text


def test_a_damaged_trace_is_said(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x")
    for path in case.runs[1].trace_paths():
        path.write_bytes(b"ARROW1 but not really")
    text = Page(render(case.diagnosis, case.lookup)).text
    assert "random.seed(0)" in text and "Steps and phases" not in text
    assert "run2/rank0.trace.arrow is corrupt" in " ".join(text.split())


def test_without_a_proof_nothing_is_said_to_be_proved(build: Builder, tmp_path: Path) -> None:
    runs = (
        build(training(steps=2)),
        build(training(steps=2), change=lambda rows: flip(rows[find(rows, "loss")])),
    )
    diagnosis = compared(*runs, folder=tmp_path)
    assert diagnosis.check.verdict == "differs"
    text = shown(diagnosis, *runs, folder=tmp_path)
    assert "agree to their end" not in text and "confirmed" not in text.replace("not confirmed", "")


# ---- the strip ----------------------------------------------------------------------------------------


def stripped(a: Run, b: Run, marks: list[timeline.Mark]) -> timeline.Strip | None:
    return timeline.strip(read(a), read(b), marks)


def test_equal_runs_have_an_equal_strip(build: Builder) -> None:
    found = stripped(build(training()), build(training()), [])
    assert found is not None
    assert found.differing == 0 and found.records > 20


@pytest.mark.parametrize("what, phase", [("batch", "data"), ("loss", "forward"), ("buffers", "optimizer")])
def test_one_bit_shows_in_its_step_and_phase_alone(what: str, phase: str, build: Builder) -> None:
    a, b = build(training()), build(training(), change=lambda rows: flip(rows[find(rows, what, 1)]))
    found = stripped(a, b, [(1, phase), (99, phase), (1, "nowhere")])
    assert found is not None
    unequal = [(name, part) for name, parts in found.segments.items() for part in parts if part[3] or part[4]]
    assert [(name, part[0], part[1], part[3], part[4]) for name, part in unequal] == [(phase, 1, 1, 1, 0)]
    assert found.marks == ((1, phase),)


def test_what_one_run_has_alone_is_told_apart(build: Builder) -> None:
    a = build(training())
    b = build(training(), change=lambda rows: rows.pop(find(rows, "output", 2, "evaluation")))
    for one, other in ((a, b), (b, a)):
        found = stripped(one, other, [])
        assert found is not None
        assert [part for part in found.segments["evaluation"] if part[4]] == [(2, 2, 2, 0, 1)]


def test_a_long_training_is_made_coarse_but_near_the_marks(
    build: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "_MOST", 50)
    monkeypatch.setattr(timeline, "_CELLS", 20)
    monkeypatch.setattr(timeline, "_NEAR", 3)

    def rows(changed: bool) -> Iterator[Record]:
        for step in range(200):
            row = record(step, "data", "batch", "Digits")
            if changed and step % 2:
                flip(row)
            yield row
        yield end(200)

    found = stripped(build(list(rows(False))), build(list(rows(True))), [(101, "data")])
    assert found is not None and found.coarse
    parts = found.segments["data"]
    assert sum(part[2] for part in parts) == 200 and sum(part[3] for part in parts) == 100
    assert [part[:2] for part in parts if 98 <= part[0] <= 104] == [(step, step) for step in range(98, 105)]
    assert len(parts) < 40


# ---- the operations -----------------------------------------------------------------------------------


def ops() -> list[Record]:
    rows = [operation(0, f"aten.op{number}", f"out {number}", inputs=number) for number in range(30)]
    return [group(0, "setup", "parameters", "CNN"), *rows, end(1)]


def around(a: Run, b: Run) -> list[operations.Operation]:
    return operations.list_around(read(a), read(b), Difference(0, "forward", "operation"))


def test_equal_operations_have_nothing_to_show(build: Builder) -> None:
    assert around(build(ops(), plan=OPS), build(ops(), plan=OPS)) == []


def test_runs_without_operations_have_nothing_to_show(build: Builder) -> None:
    assert around(build(training()), build(training(), change=lambda rows: flip(rows[-3]))) == []


def test_the_origin_is_told_from_what_it_carries_on(build: Builder) -> None:
    def change(rows: list[Record]) -> None:
        flip(rows[11])
        flip(rows[12])
        rows[12]["inputs"] = 99

    shown = around(build(ops(), plan=OPS), build(ops(), plan=OPS, change=change))
    states = {item.name: item.state for item in shown}
    assert states["aten.op9"] == "same"
    assert states["aten.op10"] == "origin"
    assert states["aten.op11"] == "carried"
    assert states["aten.op12"] == "same"
    assert [item.name for item in shown if item.first] == ["aten.op10"]


def test_data_that_comes_in_from_outside_is_told_as_such(build: Builder) -> None:
    def named(rows: list[Record]) -> None:
        rows[11]["name"] = "aten.lift_fresh.default"

    def change(rows: list[Record]) -> None:
        named(rows)
        rows[11]["inputs"] = 99
        flip(rows[11])

    shown = around(build(ops(), plan=OPS, change=named), build(ops(), plan=OPS, change=change))
    assert [item.state for item in shown if item.first] == ["comes-in"]


def test_one_bit_at_the_end_of_a_digest_is_seen_and_shown(build: Builder) -> None:
    def change(rows: list[Record]) -> None:
        digest = rows[11]["digest"]
        assert isinstance(digest, bytes)
        rows[11]["digest"] = digest[:-1] + bytes([digest[-1] ^ 1])

    shown = around(build(ops(), plan=OPS), build(ops(), plan=OPS, change=change))
    first = next(item for item in shown if item.first)
    assert first.state == "origin" and not first.outputs.equal
    assert first.outputs.shown[0] != first.outputs.shown[1]


def test_an_operation_that_one_run_has_more_does_not_hide_what_follows(build: Builder) -> None:
    b = build(ops(), plan=OPS, change=lambda rows: rows.insert(11, operation(0, "aten.more", "more")))
    a = build(ops(), plan=OPS)
    shown = around(a, b)
    assert [(item.name, item.state) for item in shown if item.state != "same"] == [("aten.more", "only-b")]
    assert len(shown) > 15
    assert [item.state for item in around(b, a) if item.state != "same"] == ["only-a"]


def test_an_output_that_is_never_written_is_not_held_against_it(build: Builder) -> None:
    def change(rows: list[Record]) -> None:
        for row in rows[5:8]:
            row["flags"] = NEVER_WRITTEN
        flip(rows[20])

    def both(rows: list[Record]) -> None:
        change(rows)
        flip(rows[6])

    shown = around(build(ops(), plan=OPS, change=change), build(ops(), plan=OPS, change=both))
    assert shown == []


# ---- settings, losses, code ---------------------------------------------------------------------------


def test_settings_that_differ_are_told_from_those_that_do_not(build: Builder) -> None:
    a = build(training(), environment={"OMP_NUM_THREADS": "1", "LANG": "C"})
    b = build(training(), environment={"OMP_NUM_THREADS": "2"})
    differing = {setting.name: setting.values for setting in build_settings([a, b]) if setting.differs}
    assert differing == {"OMP_NUM_THREADS": ("1", "2"), "LANG": ("C", None)}


def test_a_loss_that_is_no_number_is_a_gap_and_is_said(tmp_path: Path) -> None:
    result = replace(SAME, losses=({0: (1.0,), 1: (math.nan,), 2: (math.inf,)},) * 2)
    found = build_losses(result)
    assert found is not None and found.missing
    assert found.plot["runs"] == [[1.0, None, None]] * 2
    assert "a gap is a loss that is not a number" in shown(Diagnosis(result), folder=tmp_path)


def test_a_plot_of_many_steps_keeps_every_step_near_the_difference() -> None:
    many = {step: (1.0,) for step in range(10_000)}
    found = build_losses(replace(DIFFERS, difference=Difference(7_001, "data", "batch"), losses=(many,) * 3))
    assert found is not None
    steps = found.plot["steps"]
    assert len(steps) < 2_500 and steps[0] == 0 and steps[-1] == 9_999
    assert set(range(6_950, 7_050)) <= set(steps)
    assert found.every == 5


def test_a_removed_line_that_looks_like_a_header_is_removed() -> None:
    lines = diff_lines("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- x\n++++ y\n z\n--- a/y\n+++ b/y\n")
    assert [line.kind for line in lines] == ["head", "head", "hunk", "remove", "add", "same", "head", "head"]


def test_only_code_is_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("a = 1\n")
    (tmp_path / "secret.txt").write_text("password\n")
    (tmp_path / "train").write_text("#!/usr/bin/env python\na = 1\n")
    assert read_source("train.py:1", str(tmp_path)) == (["a = 1"], 1)
    assert read_source("train:2", str(tmp_path)) is not None
    assert read_source("secret.txt:1", str(tmp_path)) is None
    assert excerpt("secret.txt:1", str(tmp_path)) == [] == excerpt(None, str(tmp_path))


def test_code_taken_apart_is_the_same_code(tmp_path: Path) -> None:
    for path in (Path(__file__), tmp_path / "odd.py"):
        if not path.exists():
            path.write_text("x = '''\n  <b>\n'''\n\n  ¬ = \x00 \\\n\n")
        lines = path.read_text().splitlines()
        assert ["".join(piece.text for piece in line) for line in split_pieces(lines)] == lines
