"""The report in a headless Chromium: two widths, light and dark, hostile content, keyboard, paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from samerun.report.html import write

from .browser import HANDLERS, SIDEWAYS, TAGS, chromium, opened, started
from .diagnoses import HOSTILE, PATCH, STEPS, a_case

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAM = chromium()
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no Chromium: install one (apt-get install chromium), or name it in CHROMIUM"
)
WINDOWS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PROGRAM is not None
    with started(PROGRAM) as browser:
        yield browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("hostile"), HOSTILE)


def made(folder: Path, brings: str = "") -> Path:
    case = a_case(folder / "here", brings)
    write(case.diagnosis, case.lookup, str(folder / "report.html"))
    return folder / "report.html"


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")


@pytest.mark.parametrize("width, scheme", WINDOWS)
def test_it_reads_well(width: int, scheme: str, browser: Browser, report: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with opened(browser, report, width=width, scheme=scheme) as (page, seen):
        assert page.evaluate(SIDEWAYS) == 0
        unfold(page)
        assert page.evaluate(SIDEWAYS) == 0
        page.wait_for_timeout(100)  # the plots of what was folded take their size
        found = Axe().run(page)  # contrast, names, structure: WCAG and best practice
        assert found.violations_count == 0, found.generate_report()
        assert seen.trouble == []


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_what_a_run_brings_is_text(
    width: int, scheme: str, browser: Browser, report: Path, hostile: Path
) -> None:
    with opened(browser, report, width=width, scheme=scheme) as (page, _):
        expected = page.evaluate(TAGS)
    with opened(browser, hostile, width=width, scheme=scheme) as (page, seen):
        unfold(page)
        page.wait_for_timeout(200)
        assert seen.trouble == []
        assert page.evaluate(TAGS) == expected
        assert page.evaluate(HANDLERS) == []
        assert page.evaluate("document.scripts.length") == 3
        assert page.evaluate(SIDEWAYS) == 0
        text = page.evaluate("document.documentElement.textContent")
        assert "<img src=x onerror=alert(2)>" in text
        assert "{{7*7}}" in text
        assert not set(text) & set("\x00\x1b\u202e\u2066\u2028\ufeff")


def test_a_page_that_does_not_escape_is_found_out(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "unsafe.html"
    unsafe = f"<!doctype html><p>{'w' * 300}</p><script>var data = '{HOSTILE}'</script><p>{HOSTILE}"
    file.write_text(unsafe, encoding="utf-8")
    with opened(browser, file, width=390) as (page, seen):
        page.wait_for_timeout(200)
        assert any(line.startswith("dialog") for line in seen.trouble)
        assert any(line.startswith("request") for line in seen.trouble)
        assert "img" in page.evaluate(TAGS)
        assert page.evaluate(HANDLERS) != []
        assert page.evaluate(SIDEWAYS) > 0


def test_the_policy_stops_a_script_that_was_put_in_afterwards(browser: Browser, report: Path) -> None:
    changed = report.with_name("changed.html")
    html = report.read_text(encoding="utf-8")
    changed.write_text(html.replace("</body>", "<script>alert(1)</script></body>"), encoding="utf-8")
    with opened(browser, changed) as (page, seen):
        page.wait_for_timeout(200)
        assert any("Content Security Policy" in line for line in seen.trouble)
        assert not any(line.startswith("dialog") for line in seen.trouble)


def test_every_plot_is_drawn(browser: Browser, report: Path) -> None:
    inked = """canvas => {
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(new Uint32Array(pixels.buffer)).size;
    }"""
    with opened(browser, report) as (page, _):
        unfold(page)
        canvases = page.locator("canvas")
        assert canvases.count() == 1 + 1 + 2 * 2  # losses, strip, and two of growth for each difference
        for number in range(canvases.count()):
            page.wait_for_function(
                f"number => ({inked})(document.querySelectorAll('canvas')[number]) > 3", arg=number
            )


def test_the_strip_zooms_with_the_mouse(browser: Browser, report: Path) -> None:
    with opened(browser, report) as (page, _):
        area = page.locator("#plot-strip .u-over")
        area.scroll_into_view_if_needed()
        box = area.bounding_box()
        assert box is not None

        def step_at(share: float) -> int:
            page.mouse.move(box["x"] + box["width"] * share, box["y"] + 20)
            return int(page.locator("#plot-strip").get_attribute("aria-valuenow") or "-1")

        def drag(start: float, to: float) -> None:
            page.mouse.move(box["x"] + box["width"] * start, box["y"] + 20)
            page.mouse.down()
            page.mouse.move(box["x"] + box["width"] * to, box["y"] + 20, steps=5)
            page.mouse.up()

        assert (step_at(0.01), step_at(0.99)) == (0, STEPS - 1)
        drag(0.5, 0.75)
        assert (step_at(0.02), step_at(0.98)) == (20, 29)
        page.get_by_role("button", name="All steps").click()
        assert (step_at(0.01), step_at(0.99)) == (0, STEPS - 1)
        page.get_by_role("button", name="First difference").click()
        assert page.locator("#strip-readout").inner_text().startswith("step 3 ")
        assert step_at(0.01) == 0 and step_at(0.99) < STEPS - 10


def test_the_strip_is_told_and_zoomed_with_the_keyboard(browser: Browser, report: Path) -> None:
    with opened(browser, report, width=390) as (page, _):
        strip = page.locator("#plot-strip")
        strip.focus()
        assert strip.get_attribute("aria-valuenow") == "3"
        said = strip.get_attribute("aria-valuetext") or ""
        assert "data: 1 of 1 differ" in said and "optimizer: 2 of 2 differ" in said
        page.keyboard.press("ArrowLeft")
        said = strip.get_attribute("aria-valuetext") or ""
        assert said.startswith("step 2 ") and "differ" not in said
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert "evaluation: 1 in one run alone" in (strip.get_attribute("aria-valuetext") or "")
        whole = strip.screenshot()
        page.keyboard.press("+")
        near = strip.screenshot()
        assert near != whole
        page.keyboard.press("Home")
        assert strip.screenshot() == whole
        for _ in range(4):
            page.keyboard.press("Shift+ArrowLeft")
        assert strip.get_attribute("aria-valuenow") == "0"


def test_all_that_can_be_done_can_be_reached_with_the_keyboard(browser: Browser, report: Path) -> None:
    with opened(browser, report) as (page, _):
        wanted = page.evaluate(
            "document.querySelectorAll('a[href], button, summary, [tabindex=\"0\"]').length"
        )
        reached = set()
        for _ in range(wanted + 5):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
        hidden = page.evaluate(
            "[...document.querySelectorAll('a[href], button, summary, [tabindex=\"0\"]')]"
            ".filter(e => !e.checkVisibility()).length"
        )
        assert len(reached - {-1}) >= wanted - hidden


def test_what_is_copied_is_whole(browser: Browser, report: Path) -> None:
    from playwright.sync_api import expect

    with opened(browser, report) as (page, _):
        page.get_by_role("button", name="Copy the patch").click()
        expect(page.locator("#patch button")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == PATCH.replace("{note}", "")
        page.get_by_role("button", name="Copy the command").click()
        expect(page.locator(".command button")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == "python train.py --name=x"


def test_plots_follow_a_change_of_light(browser: Browser, report: Path) -> None:
    with opened(browser, report) as (page, _):
        data = "document.querySelector('#plot-losses canvas').toDataURL()"
        light = page.evaluate(data)
        # The page hears of the change with a frame: how soon that comes is the browser's affair.
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"light => {data} !== light", arg=light)
        page.emulate_media(color_scheme="light")
        page.wait_for_function(f"light => {data} === light", arg=light)


def test_it_reads_without_scripts(browser: Browser, report: Path) -> None:
    with opened(browser, report, scripts=False) as (page, _):
        assert page.get_by_role("heading", level=1).inner_text().endswith("2 runs diverge at step 3, in data")
        assert page.get_by_role("button").count() == 0
        assert page.get_by_text("random.seed(0)").first.is_visible()


def test_on_paper_it_is_light_and_unfolded(browser: Browser, report: Path) -> None:
    with opened(browser, report, scheme="dark") as (page, seen):
        folded = "document.querySelectorAll('details:not([open]):not(.aside)').length"
        before = page.evaluate(folded)
        assert before > 0
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        light = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(light) == "rgb(255, 255, 255)"
        assert page.evaluate(folded) == 0
        assert page.evaluate("document.querySelector('#plot-losses canvas').clientWidth") <= 660
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(light) == "rgb(20, 22, 26)"
        assert page.evaluate(folded) == before
        assert seen.trouble == []
