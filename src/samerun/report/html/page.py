"""Makes the file: the templates, the styles, the scripts and the data, in one page that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.lookup import Lookup
from samerun.report.html.view import view
from samerun.report.json import write_text
from samerun.report.safe_text import clean

if TYPE_CHECKING:
    import jinja2

_HERE = Path(__file__).parent
_STYLES = ("vendor/uplot/uPlot.min.css", "page.css")
_SCRIPTS = ("vendor/uplot/uPlot.iife.min.js", "page.js")


def write(diagnosis: Diagnosis, lookup: Lookup, target: str, option: str = "--html") -> None:
    """Write the report to the file `target` ("-": standard output), which `option` asked for.

    `lookup` finds the runs; what is not on disk any more is left out. Raises UsageError when the file cannot
    be written.
    """
    write_text(render(diagnosis, lookup), target, option)


def render(diagnosis: Diagnosis, lookup: Lookup) -> str:
    """The page. It depends on nothing but its arguments and the runs: twice the same, the same bytes."""
    shown = view(diagnosis, lookup)
    style = "\n".join(_read_asset(name) for name in _STYLES)
    scripts = [_read_asset(name) for name in _SCRIPTS]
    return (
        _make_environment()
        .get_template("page.html")
        .render(
            view=shown,
            check=shown.diagnosis.check,
            style=_trust(style),
            scripts=[_trust(script) for script in scripts],
            data=_trust(_write_json(shown.data())),
            policy=_write_policy(style, scripts),
        )
    )


def _write_policy(style: str, scripts: list[str]) -> str:
    """Nothing may be loaded, and nothing may run but what is in this file already, byte for byte."""
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _read_asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _write_json(value: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element: no character in it can end one."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))  # ASCII alone
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _trust(text: str) -> str:
    from markupsafe import Markup

    return Markup(text)


@cache
def _make_environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_show,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _show(value: object) -> object:
    """What a template puts in, without characters that hide or reorder text; it is escaped after this."""
    from markupsafe import Markup

    if isinstance(value, Markup):
        return value
    # Newlines and tabs stay: code and patches are copied from here.
    lines = str(value).split("\n")
    return "\n".join("\t".join(map(clean, line.split("\t"))) for line in lines)
