"""The public surface as plain values, to compare with the one that is kept in surface.json.

python -m surface.described          # from tests/: prints it; to be kept only where it is meant to change
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "surface.json"
PACKAGES = ("", ".data", ".digest", ".errors", ".ops", ".ranks", ".state", ".streams", ".testing")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def describe() -> dict[str, Any]:
    """Everything that a program can hold samerun to, without running one."""
    return {
        "python": {f"samerun{package}": _names(f"samerun{package}") for package in PACKAGES},
        "verbs": _verbs(),
        "sources": _sources(),
        "trace": _trace(),
        "manifest": _manifest(),
        "exit codes": _exit_codes(),
    }


def _names(module: str) -> dict[str, str]:
    found = importlib.import_module(module)
    public = getattr(found, "__all__", None)
    if public is None:
        public = [n for n, value in vars(found).items() if getattr(value, "__module__", None) == module]
    return {name: _form(getattr(found, name)) for name in sorted(public) if not name.startswith("_")}


def _form(value: Any) -> str:
    """How it is called; of a class also its public attributes. Versions of Python write types differently."""
    if not callable(value):
        return "" if isinstance(value, str) else type(value).__name__
    try:
        form = ", ".join(map(_parameter, inspect.signature(value).parameters.values()))
    except (ValueError, TypeError):
        form = "?"
    form = _ADDRESS.sub("", f"({form})")
    if inspect.isclass(value):
        mine = {
            name for kind in value.__mro__ if kind.__module__.startswith("samerun") for name in vars(kind)
        }
        form += " " + " ".join(sorted(name for name in mine if not name.startswith("_")))
    return form


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
    return f"{stars}{parameter.name}{default}{':keyword' if parameter.kind == parameter.KEYWORD_ONLY else ''}"


def _verbs() -> dict[str, list[str]]:
    from samerun.cli.arguments import find_verbs

    verbs = {}
    for verb in find_verbs().values():
        parser = argparse.ArgumentParser(add_help=False)
        verb.add_options(parser)
        verbs[verb.name] = sorted(
            f"{'/'.join(action.option_strings) or action.dest}"
            f"{'' if action.choices is None else ' ' + '|'.join(map(str, action.choices))}"
            for action in parser._actions
        )
    return verbs


def _sources() -> dict[str, str]:
    from samerun.sources.catalogue import find_sources

    return {id_: source.kind for id_, source in sorted(find_sources().items())}


def _trace() -> dict[str, Any]:
    from samerun.runs import schema
    from samerun.runs.trace import build_arrow_schema

    columns = {field.name: str(field.type) for field in build_arrow_schema({})}
    return {
        "version": schema.SCHEMA,
        "columns": columns,
        "phases": list(schema.PHASES),
        "compared": list(schema.COMPARED),
        "evidence": list(schema.EVIDENCE),
    }


def _manifest() -> list[str]:
    from samerun.runs.manifest import Manifest

    return sorted(field.name for field in dataclasses.fields(Manifest))


def _exit_codes() -> dict[str, int]:
    from samerun.cli import exit_codes

    return {
        name: value
        for name, value in sorted(vars(exit_codes).items())
        if name.isupper() and type(value) is int
    }


def keys(value: Any, path: str = "") -> set[str]:
    """The keys of a JSON value, those of all items of a list together; `*` for keys that are data."""
    if isinstance(value, dict):
        found = set()
        for key, inner in value.items():
            name = key if re.fullmatch(r"[a-z_]+", key) else "*"
            found |= {f"{path}.{name}"} | keys(inner, f"{path}.{name}")
        return found
    if isinstance(value, list):
        return set().union(*(keys(item, f"{path}[]") for item in value))
    return set()


if __name__ == "__main__":
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"json": {}}
    print(json.dumps({**describe(), "json": kept["json"]}, indent=1))
