"""Both ways to act after an import, on a package that imports its own submodule."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext

import pytest

from samerun.import_hook import ImportHook, call_once_imported, change_once_imported

PACKAGE = "a_package_of_the_test"
INNER = f"{PACKAGE}.inner"


@pytest.fixture
def order(tmp_path, monkeypatch):
    """What happened, in order; the package adds to it, and is not imported yet."""
    happened = []
    (tmp_path / PACKAGE).mkdir()
    (tmp_path / PACKAGE / "inner.py").write_text("import sys\nsys.happened.append('inner')\n")
    (tmp_path / PACKAGE / "__init__.py").write_text(
        f"import sys\nimport {INNER}\nsys.happened.append('package')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "happened", happened, raising=False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield happened
    for name in (PACKAGE, INNER):
        sys.modules.pop(name, None)


def test_the_hook_waits_for_the_whole_package(order):
    ImportHook([PACKAGE, INNER], order.append, lambda name: nullcontext()).install()
    importlib.import_module(INNER)
    assert order == ["inner", "package", INNER, PACKAGE]
    importlib.reload(sys.modules[INNER])
    assert order[4:] == ["inner"]


def test_once_imported_does_not_wait(order):
    call_once_imported(INNER, lambda: order.append("then"))
    importlib.import_module(PACKAGE)
    assert order == ["inner", "then", "package"]
    call_once_imported(INNER, lambda: order.append("there already"))
    assert order[3:] == ["there already"]


def test_two_that_wait_for_one_module_are_both_called(order):
    for name in ("first", "second"):
        call_once_imported(INNER, lambda name=name: order.append(name))
    module = importlib.import_module(INNER)
    assert order == ["inner", "first", "second", "package"]
    assert type(module.__loader__) is type(module.__spec__.loader)
    assert type(module.__loader__).__module__.startswith(("_frozen", "importlib"))


def test_a_change_is_taken_back_or_never_made(order):
    finders = list(sys.meta_path)

    def change():
        order.append("changed")
        return lambda: order.append("back")

    change_once_imported(INNER, change)()
    assert sys.meta_path == finders
    undo = change_once_imported(INNER, change)
    importlib.import_module(INNER)
    undo()
    assert order == ["inner", "changed", "package", "back"] and sys.meta_path == finders
