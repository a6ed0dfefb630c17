"""A headless Chromium, where there is one, and what a test looks at in a page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str | None:
    """The program: what CHROMIUM names, or the first on the path."""
    given = os.environ.get("CHROMIUM")
    return given or next((found for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def started(program: str) -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Root has no sandbox; a container's /dev/shm is small.
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Seen:
    """What happened in a page: messages of the console, errors, dialogs, and requests for other files."""

    def __init__(self, page: Page) -> None:
        self.trouble: list[str] = []
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        self._first: str | None = None

    def _console(self, kind: str, text: str) -> None:
        self.trouble.append(f"{kind}: {text}")

    def _dialog(self, dialog: Any) -> None:
        self.trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        if self._first is None:
            self._first = request.url
        elif not request.url.startswith(("data:", "blob:")):
            self.trouble.append(f"request: {request.url}")


@contextmanager
def opened(
    browser: Browser, file: Path, *, width: int = 1280, scheme: str = "light", scripts: bool = True
) -> Iterator[tuple[Page, Seen]]:
    """The page of a file, as a window of this width shows it."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        java_script_enabled=scripts,
        offline=True,
        permissions=["clipboard-read", "clipboard-write"],
    )
    try:
        page = context.new_page()
        seen = Seen(page)
        page.goto(file.as_uri())
        yield page, seen
    finally:
        context.close()


TAGS = "[...new Set([...document.querySelectorAll('*')].map(e => e.localName))].sort()"
HANDLERS = (
    "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
    ".filter(a => a.name.startsWith('on') || a.name === 'style' && !a.ownerElement.closest('.uplot')"
    " || /^\\s*javascript:/i.test(a.value)).map(a => a.name + '=' + a.value)"
)
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
