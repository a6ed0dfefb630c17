from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Store

SHOW = "import lib.inner, single; print(lib.inner.__file__, single.__file__, lib.value)"
FINDER = """
import sys
from importlib.util import spec_from_file_location
from pathlib import Path
MAPPING = {mapping!r}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        path = MAPPING.get(name)
        if path is not None:
            found = [path + "/__init__.py", path + ".py"]
            return next(spec_from_file_location(name, each) for each in found if Path(each).exists())
sys.meta_path.append(Finder)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src" / "lib").mkdir(parents=True)
    (project / "src" / "lib" / "__init__.py").write_text("value = 1\n")
    (project / "src" / "lib" / "inner.py").touch()
    (project / "src" / "single.py").touch()
    return project


def print_in_copy(project: Path, command: list[str], **variables: str) -> tuple[list[str], str]:
    """What the command prints in a copy of the project, and what stands for `/` there."""
    at = Workspace(project, Store(project.parent / "store"), fresh=True)
    run = record(LaunchRequest(command, variables), Plan(), at)
    output = (run.path / "output.txt").read_text()
    assert run.outcome == "finished", output
    return output.split(), str(run.manifest.plan["root"])


def test_modules_are_those_of_the_copy_though_an_absolute_path_names_the_original(project: Path) -> None:
    command = [sys.executable, "-c", SHOW]
    (inner, single, _), root = print_in_copy(project, command, PYTHONPATH=str(project / "src"))
    assert inner == f"{root}{project}/src/lib/inner.py" and single == f"{root}{project}/src/single.py"


def test_so_are_those_of_a_path_that_the_script_itself_adds(project: Path) -> None:
    """Also where another hook stands before ours, which is passed over."""
    hook = "import sys, zipimport; sys.path_hooks.insert(0, zipimport.zipimporter)"
    text = f"{hook}; sys.path.append({str(project / 'src')!r}); {SHOW}"
    (inner, _, _), root = print_in_copy(project, [sys.executable, "-c", text])
    assert inner.startswith(root)


def test_so_are_those_that_setuptools_maps_for_an_editable_install(project: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    mapping = {name: str(project / "src" / name) for name in ("lib", "single")}
    (site / "__editable___project_finder.py").write_text(FINDER.format(mapping=mapping))
    text = f"import __editable___project_finder; {SHOW}"
    # as a line of a .pth file is, before samerun begins
    (site / "sitecustomize.py").touch()
    code = (
        "import sys; from samerun.launching.copies.imports_from_copy import import_from_copy\n"
        f"import __editable___project_finder\nimport_from_copy({str(tmp_path / 'root')!r})\n{text}"
    )
    copy = tmp_path / "root" / str(project).lstrip("/")
    copy.parent.mkdir(parents=True)
    subprocess.run(["cp", "-r", str(project), str(copy)], check=True)
    (copy / "src" / "lib" / "__init__.py").write_text("value = 2\n")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [f"{copy}/src/lib/inner.py", f"{copy}/src/single.py", "2"], done.stderr


def test_a_script_that_is_named_by_its_absolute_path_is_the_one_of_the_copy(project: Path) -> None:
    script = project / "train.py"
    script.write_text("import sys; print(__file__, sys.argv[1])")
    (file, argument), root = print_in_copy(project, [sys.executable, str(script), str(project / "data")])
    assert (file, argument) == (f"{root}{script}", str(project / "data"))


def test_so_is_one_that_is_the_program_itself(project: Path) -> None:
    script = project / "go.sh"
    script.write_text('#!/bin/sh\ncd "$(dirname "$0")" && pwd\n')
    script.chmod(0o755)
    (printed,), root = print_in_copy(project, [str(script)])
    assert printed == f"{root}{project}"


def test_what_is_outside_of_the_copy_is_found_where_it_is(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "beside.py").touch()
    (other / "tool.py").write_text("import beside; print(beside.__file__)")
    printed, _ = print_in_copy(project, [sys.executable, str(other / "tool.py")])
    assert printed == [f"{other}/beside.py"]


def test_modules_of_samerun_are_never_those_of_a_copy(tmp_path: Path) -> None:
    """A run in a copy of its own repository: half of them are imported by then."""
    import samerun

    own = Path(samerun.__file__).parent
    copy = tmp_path / "root" / str(own).lstrip("/")
    copy.mkdir(parents=True)
    (copy / "interruption.py").write_text("raise RuntimeError('of the copy')")
    code = (
        "from samerun.launching.copies.imports_from_copy import import_from_copy\n"
        f"import_from_copy({str(tmp_path / 'root')!r}); import samerun.interruption as it; print(it.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == f"{own}/interruption.py", done.stderr


def test_a_namespace_package_has_its_portions_in_both(project: Path) -> None:
    space = project / "src" / "space"
    space.mkdir()
    (space / "first.py").touch()
    text = "import space.first as first, space; print(first.__file__, len(space.__path__))"
    command = [sys.executable, "-c", text]
    (file, count), root = print_in_copy(project, command, PYTHONPATH=str(project / "src"))
    assert (file, count) == (f"{root}{space}/first.py", "2")


def test_a_package_that_the_folder_is_a_part_of_has_the_copys_modules(tmp_path: Path) -> None:
    """Though the rest of the package, of no project that is known, was not copied."""
    here = tmp_path / "whole" / "part"
    here.mkdir(parents=True)
    for path in (tmp_path / "whole" / "__init__.py", tmp_path / "whole" / "beside.py", here / "mine.py"):
        path.touch()
    (tmp_path / "root" / str(here).lstrip("/")).mkdir(parents=True)
    (tmp_path / "root" / str(here).lstrip("/") / "mine.py").touch()
    code = (
        "import sys; from samerun.launching.copies.imports_from_copy import import_from_copy\n"
        f"import_from_copy({str(tmp_path / 'root')!r}); sys.path.append({str(tmp_path)!r})\n"
        "import whole.part.mine, whole.beside; print(whole.part.mine.__file__, whole.beside.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == [
        f"{tmp_path}/root{here}/mine.py",
        f"{tmp_path}/whole/beside.py",
    ], done.stderr
