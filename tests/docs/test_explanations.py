"""The pages of docs/explanations: one for each source, with the real output of samerun on an example."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from samerun.sources.catalogue import find_sources

PAGES = Path(__file__).parents[2] / "docs" / "explanations"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("explanation_examples", PAGES / "examples.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


examples = load()


@pytest.mark.parametrize("source", sorted(find_sources()))
def test_every_source_has_a_page_that_says_how_it_shows_and_what_mends_it(source: str) -> None:
    page = (PAGES / f"{source}.md").read_text()
    assert page.startswith(f"# {source}\n")
    assert re.search(r"\*\*(How it shows|How samerun shows it|What it looks like)", page), page[:300]


def test_there_is_no_page_without_a_source() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == find_sources().keys()


@pytest.mark.parametrize("source", examples.examples())
def test_the_page_shows_the_example_and_the_source_that_was_found(source: str) -> None:
    page = (PAGES / f"{source}.md").read_text()
    shown = examples.shown(source)
    assert shown is not None
    assert examples.code(source) in page
    assert re.match(rf"✗ differs — one reason: {source}; with it controlled, the runs agree", shown)


def test_numbers_that_are_new_each_time_are_masked_and_nothing_else_is() -> None:
    text = "→   12  {}  {}\n  seen  at train.py:13, by {} ulps after step 0\nrun {}\nas it is: {}"
    one = text.format("1.25", "1.50", 3, "20261121T222705.282Z-add87f", "5 results in 9 runs")
    lone = "1 result in 3 runs, never that of the training"
    other = text.format("7.25", "8.5e-3", 9, "20261121T222706.999Z-aaaaaa", lone)
    assert examples.masked(one) == examples.masked(other)
    assert examples.masked(one) != examples.masked(other.replace("train.py:13", "train.py:14"))


@pytest.mark.slow
@pytest.mark.parametrize("source", examples.examples())
@pytest.mark.timeout(900)
def test_what_the_page_shows_is_what_samerun_says_today(source: str) -> None:
    shown = examples.lasting(source, examples.shown(source) or "")
    assert source in shown
    assert examples.lasting(source, examples.output(source)) == shown
