"""torch is brought by extras alone, and what needs it says in one line that it is missing or too old."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torches

from samerun import torch_version
from samerun.errors import SamerunError, TorchNeeded

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


@pytest.mark.parametrize("version", ["2.5.1", "2.5.1+cu121", "1.13.0a0+git1", "0.4"])
def test_what_is_older_than_2_6_is_outdated(version: str) -> None:
    said = torch_version.outdated(SimpleNamespace(__version__=version))
    assert said is not None
    assert f"torch {version} in {sys.executable} is too old" in said
    assert "pip install 'torch>=2.6'" in said


@pytest.mark.parametrize("version", ["2.6.0", "2.6.0a0+git1", "2.13.0", "3.0", "10.0", "", "unknown"])
def test_what_is_not_or_says_nothing_is_not_outdated(version: str) -> None:
    assert torch_version.outdated(SimpleNamespace(__version__=version)) is None
    assert torch_version.outdated(torch) is None
    assert torch_version.outdated(None) is None


def test_a_torch_that_is_not_there_is_told_from_one_that_cannot_be_loaded() -> None:
    missing = ModuleNotFoundError("No module named 'torch'", name="torch")
    assert " has no torch. Install" in torch_version.absent()
    assert torch_version.absent(missing) == torch_version.absent()
    other = torch_version.absent(ModuleNotFoundError("No module named 'sympy'", name="sympy"))
    assert "cannot import torch (ModuleNotFoundError: No module named 'sympy')" in other


USES = {
    "import samerun.state": "samerun.state",
    "import samerun.ops": "samerun.ops",
    "import samerun.testing": "samerun.testing",
    "import samerun.data; samerun.data.split": "samerun.data.split",
    "from samerun.data import DataLoader": "samerun.data.DataLoader",
    "import samerun; samerun.seed_everything(0)": "control of torch's sources",
    "import samerun\nwith samerun.control(0): pass": "control of torch's sources",
    "import samerun; samerun.digest_tensor": "samerun.digest_tensor",
    "import samerun; samerun.stream(0, 'a').torch()": "Stream.torch()",
}
HARMLESS = """
import samerun, samerun.data, samerun.digest, samerun.recording
samerun.rank(), samerun.world_size(), samerun.sync_seed(3), samerun.digest_value({"a": 1})
samerun.stream(0, "a").numpy(), samerun.stream(0, "a").python()
with samerun.isolate_rng(), samerun.control(0, only=["python-random", "numpy-global"]):
    pass
"""


@pytest.mark.parametrize(
    ("stand_in", "why"),
    [
        (torches.missing, "has no torch"),
        (torches.broken, "cannot import torch (OSError: libcudart.so.12: cannot open shared object file)"),
        (torches.old, "torch 2.5.1+cpu in "),
    ],
)
def test_what_needs_torch_says_so_in_one_line_and_the_rest_works(tmp_path: Path, stand_in, why: str) -> None:
    program = ["from samerun.errors import TorchNeeded", HARMLESS]
    for use in USES:
        program += [f"try:\n    exec({use!r})\nexcept TorchNeeded as error:\n    print(error)"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(program)],
        env={**os.environ, "PYTHONPATH": stand_in(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(USES)
    for line, name in zip(lines, USES.values(), strict=True):
        assert line.startswith(f"{name} needs torch 2.6 or newer: ")
        assert why in line
        assert line.endswith(
            f"Install torch 2.6 or newer there: {sys.executable} -m pip install 'torch>=2.6'"
        )


def test_a_refused_control_leaves_nothing_behind(tmp_path: Path) -> None:
    program = (
        "import os, random, samerun\n"
        "before = random.getstate(), dict(os.environ)\n"
        "try:\n    samerun.seed_everything(0)\n"
        "except samerun.SamerunError:\n    print((random.getstate(), dict(os.environ)) == before)\n"
    )
    env = {**os.environ, "PYTHONPATH": torches.missing(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_the_error_is_one_of_samerun_and_an_import_error() -> None:
    assert issubclass(TorchNeeded, SamerunError)
    assert issubclass(TorchNeeded, ImportError)


def test_no_dependency_but_an_extra_brings_torch() -> None:
    text = PROJECT.read_text()
    assert "torch" not in _dependencies()
    for extra in ("dev", "examples", "frameworks", "guests", "peers"):
        listed = re.findall(rf"^{extra} = \[(.*?)\]$", text, re.DOTALL | re.MULTILINE)
        assert [part.count('"samerun[torch]"') for part in listed] == [1], extra
    oldest = ".".join(map(str, torch_version._OLDEST))
    assert f'torch = ["torch>={oldest}"]' in text
    assert oldest in torch_version.NEEDED


def test_what_is_required_does_not_require_torch_in_its_turn() -> None:
    seen: set[str] = set()
    waiting = re.findall(r'^    "([\w-]+)', _dependencies(), re.MULTILINE)
    while waiting:
        name = waiting.pop().lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            needed = [line for line in requires(name) or [] if "extra ==" not in line]
        except PackageNotFoundError:  # for another Python or platform
            continue
        waiting += [re.split(r"[^\w.-]", line)[0] for line in needed]
    assert {"numpy", "pyarrow", "markupsafe"} <= seen
    assert "torch" not in seen


def _dependencies() -> str:
    (found,) = re.findall(r"^dependencies = \[(.*?)^\]", PROJECT.read_text(), re.DOTALL | re.MULTILINE)
    return found
