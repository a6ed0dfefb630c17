from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from samerun.errors import FrameworkNeeded
from samerun.integrations.framework_needed import need_framework

FRAMEWORKS = {
    "accelerate": "accelerate",
    "ignite": "pytorch-ignite",
    "lightning": "lightning",
    "mmengine": "mmengine",
    "skorch": "skorch",
    "transformers": "transformers",
    "ultralytics": "ultralytics",
}


@pytest.mark.parametrize("module, package", FRAMEWORKS.items())
def test_without_the_framework_there_is_one_clear_line(module: str, package: str, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"samerun.integrations.{module}", raising=False)
    with pytest.raises(FrameworkNeeded) as found:
        importlib.import_module(f"samerun.integrations.{module}")
    text = str(found.value)
    assert text.startswith(f"samerun.integrations.{module} needs {package}, and {sys.executable} does not")
    assert text.endswith(f"-m pip install {package}") and "\n" not in text
    assert isinstance(found.value, ImportError)


def test_what_the_framework_itself_lacks_is_its_own_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="of_the_framework"), need_framework("skorch", "skorch"):
        import_it("of_the_framework")
    with pytest.raises(AttributeError), need_framework("skorch", "skorch"):
        raise AttributeError("another version")


def import_it(name: str) -> None:
    importlib.import_module(name)


def test_samerun_imports_no_framework() -> None:
    code = f"import samerun, sys; samerun.control; print({set(FRAMEWORKS)} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "set()", done.stderr
