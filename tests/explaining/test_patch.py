"""The patch as a whole: one diff for all causes that `patch` and `git apply` take, for every form of file.

Covers `cause.py` and `full_evidence.py`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from sources.differences import side
from sources.mending import Program, changed, differing, equal

import samerun.explaining.patch as patch_module
from samerun.digest import digest_bytes
from samerun.editing.user_program import encode_text
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch, make_edits, patch
from samerun.runs.difference import Difference


def causes(program: Program, *sources: str) -> Patch:
    made = patch([(program.difference(), Cause(source, True, "", "")) for source in sources], program.folder)
    assert made is not None
    return made


def applied(folder: Path, made: Patch, tool: str) -> dict[str, bytes]:
    """What a tool makes of the files with the diff."""
    copy = folder.parent / f"{folder.name}-{tool}"
    shutil.copytree(folder, copy)
    (copy / "it.diff").write_bytes(made.diff.encode())
    command = {
        "patch": ["patch", "-p1", "-s", "-i", "it.diff"],
        "git": ["git", "apply", "--whitespace=nowarn", "it.diff"],
    }
    done = subprocess.run(command[tool], cwd=copy, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path: (copy / path).read_bytes() for path in made.files}


def test_no_causes_no_patch(tmp_path: Path) -> None:
    assert patch([], tmp_path) is None


def test_all_causes_in_one_diff_with_each_import_once(tmp_path: Path) -> None:
    program = Program(tmp_path, "import torch\n\nnet = torch.nn.Linear(2, 2)\n")
    made = causes(
        program,
        "torch-cpu",
        "python-random",
        "numpy-global",
        "torch-cuda",
        "nondeterministic-kernels",
        "torch-cpu",
    )
    assert changed(made.diff) == (
        "+import random\n+import numpy as np\n+random.seed(0)\n+np.random.seed(0)\n+torch.manual_seed(0)\n"
        "+torch.use_deterministic_algorithms(True)\n"
        "+torch.utils.deterministic.fill_uninitialized_memory = False"
    )
    assert made.cannot == {}


def test_what_no_edit_mends_is_named_beside_what_is_mended(tmp_path: Path) -> None:
    made = causes(Program(tmp_path, "import torch\n"), "torch-cpu", "input-data", "no-such-source")
    assert changed(made.diff) == "+torch.manual_seed(0)"
    assert sorted(made.cannot) == ["input-data", "no-such-source"]


def test_edits_of_several_files_and_several_edits_of_a_line(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        "import os, random, time\nimport data\nrandom.seed(int(time.time()) + os.getpid())\n",
        {"data.py": 'def load(ws):\n    return list({f"{w}" for w in ws}), [hash(f"{w}") % 9 for w in ws]\n'},
    )
    seed = differing("seed", "random.seed", "train.py:3")
    found = [
        (program.difference(seed), Cause(source, True, "", ""))
        for source in ("clock", "process-id", "hash-seed", "torch-cpu")
    ]
    made = patch(found, tmp_path)
    assert made is not None and made.cannot == {}
    assert made.files["train.py"] == (
        "import os, random, time\nimport data\nimport torch\ntorch.manual_seed(0)\nrandom.seed(0)\n"
    )
    assert made.files["data.py"] == (
        "import zlib\n"
        'def load(ws):\n    return sorted({f"{w}" for w in ws}), '
        '[zlib.crc32(f"{w}".encode()) % 9 for w in ws]\n'
    )
    for tool in ("patch", "git"):
        assert applied(tmp_path, made, tool) == {path: text.encode() for path, text in made.files.items()}


FORMS = {
    "plain": b"import torch\n\nx = torch.rand(2)\n",
    "crlf": b"import torch\r\n\r\nx = torch.rand(2)\r\n",
    "no last line end": b"import torch",
    "crlf without the last": b"import torch\r\nx = torch.rand(2)",
    "byte order mark": b"\xef\xbb\xbfimport torch\n\nx = torch.rand(2)  # \xc3\xa9\n",
    "utf-8": "# Überschrift – ✓\nimport torch\n\nname = 'é𝒳'; x = torch.rand(2)\n".encode(),
    "latin-1": "# coding: latin-1\nimport torch\n\na = 1\nb = 2\nname = 'é'\nx = torch.rand(2)\n".encode(
        "latin-1"
    ),
    "latin-1 nearby": "# coding: latin-1\n# é\n\nimport torch\n\nx = torch.rand(2)\nname = 'é'\n".encode(
        "latin-1"
    ),
    "form feed": b"import torch\n\x0c\nx = torch.rand(2)\n",
    "tabs": b"import torch\nif 1:\n\tx = torch.rand(2)\n",
    "empty lines": b"\n\n\nimport torch\n\n\n\n\nx = torch.rand(2)\n",
    "nothing": b"",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tool", ["patch", "git"])
def test_the_diff_applies_to_files_of_every_form(tmp_path: Path, form: str, tool: str) -> None:
    data = FORMS[form]
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "train.py").write_bytes(data)
    program = Program(folder)
    program.files = {"train.py": ""}
    made = causes(program, "torch-cpu")
    assert made.cannot == {}
    got = applied(folder, made, tool)["train.py"]
    assert got == encode_text(made.files["train.py"])
    assert b"torch.manual_seed(0)" in got
    assert got.count(b"\r\n") in (0, got.count(b"\n"))
    kept = [line for line in got.splitlines() if b"manual_seed" not in line]
    if data:
        assert kept == data.splitlines()
    made.apply(folder)
    assert (folder / "train.py").read_bytes() == got


@pytest.mark.parametrize("tool", ["patch", "git"])
def test_paths_with_spaces(tmp_path: Path, tool: str) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    program = Program(
        folder,
        "",
        {"my code/train it.py": "import torch\ntorch.rand(2)\n"},
        ("python", "my code/train it.py"),
    )
    made = causes(program, "torch-cpu")
    assert b"manual_seed" in applied(folder, made, tool)["my code/train it.py"]


def test_a_changed_line_that_a_diff_cannot_carry_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes("# coding: latin-1\nimport random; x = 'é'\n".encode("latin-1"))
    program = Program(tmp_path)
    program.files = {"train.py": ""}
    said = causes(program, "python-random").cannot["python-random"]
    assert "by hand" in said and "random.seed(0)" in said


def test_multi_line_calls_decorators_and_tabs(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        "import numpy as np\n@staticmethod\n"
        "def f(\n\trng=np.random.default_rng(  # fresh\n\t),\n\tn=3,\n): pass\n",
    )
    row = equal("unseeded", "numpy-generator", program.at("default_rng"))
    assert program.patch("numpy-generator", row).files["train.py"] == (
        "import numpy as np\n@staticmethod\ndef f(\n\trng=np.random.default_rng(0),\n\tn=3,\n): pass\n"
    )


def site(program: Program, path: str) -> str:
    row = equal("unseeded", "numpy-generator", path)
    return program.refused("numpy-generator", row, site=path)


def test_places_that_cannot_be_edited_say_so(tmp_path: Path) -> None:
    program = Program(tmp_path, "import torch\n")
    assert "has no file to edit" in site(program, "<generated>:3")
    assert "python -c" in site(program, "<string>:1")
    assert "standard input" in site(program, "<stdin>:1")
    assert "has no file to edit" in site(program, "/tmp/ipykernel_123/77.py:1")
    assert "installed package" in site(program, "torchvision/datasets/folder.py:31")
    assert "inside of something else" in site(program, "train.py:1")


def test_code_beside_the_working_directory_is_not_edited_and_that_is_the_reason(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "common.py").write_text("names = set('abc')\n")
    program = Program(here, "import torch\n")
    for path in ("../common.py:1", f"{tmp_path}/common.py:1"):
        row = equal("unseeded", "numpy-generator", path)
        assert "start samerun in the folder of the project" in program.refused(
            "numpy-generator", row, site=path
        )
    installed = tmp_path / "site-packages" / "lib.py"
    installed.parent.mkdir()
    installed.touch()
    row = equal("unseeded", "numpy-generator", f"{installed}:1")
    assert "installed package" in program.refused("numpy-generator", row, site=f"{installed}:1")


@pytest.mark.parametrize("argv", [("python", "-"), ("python", "-c", "import torch"), ("python",)])
def test_scripts_without_a_file(tmp_path: Path, argv: tuple[str, ...]) -> None:
    program = Program(tmp_path, argv=argv)
    assert "no file to edit" in program.refused("torch-cpu")


def test_an_installed_program(tmp_path: Path) -> None:
    program = Program(tmp_path, argv=("python", "-m", "lightning.fabric"))
    assert "is not in the working directory" in program.refused("torch-cpu")


def test_a_script_outside_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "train.py").write_text("import torch\n")
    program = Program(tmp_path / "here", argv=("python", "../train.py"))
    assert "working directory" in program.refused("torch-cpu")
    program = Program(tmp_path / "here", argv=("python", str(tmp_path / "train.py")))
    assert "working directory" in program.refused("torch-cpu")


def test_a_script_that_changed_since_the_run(tmp_path: Path) -> None:
    program = Program(tmp_path, "import torch\n")
    difference = program.difference()
    (tmp_path / "train.py").write_text("import torch  # changed\n")
    made = patch([(difference, Cause("torch-cpu", True, "", ""))], tmp_path)
    assert made is not None and not made.diff
    assert "changed since the run" in made.cannot["torch-cpu"]


def test_a_script_this_python_cannot_parse(tmp_path: Path) -> None:
    assert "parse" in Program(tmp_path, "import torch\nprint 'old'\n").refused("torch-cpu")


def test_a_script_started_from_another_folder_of_the_project(tmp_path: Path) -> None:
    """`cd src && python train.py`: lines and files are relative to where it was started."""
    program = Program(
        tmp_path, "", {"src/train.py": "import torch\nimport data\n", "src/data.py": "import torch\n"}
    )
    digests = {
        path: digest_bytes((tmp_path / "src" / path).read_bytes()).hex() for path in ("train.py", "data.py")
    }
    settings = {"code": digests}
    kept = dict(command=["bash", "-c", "cd src && python train.py"], cwd=str(tmp_path))
    difference = Difference(0, "setup", "parameters", a=side(settings=settings, **kept), b=side(**kept))
    assert program.argv
    made = patch([(difference, Cause("python-random", True, "", "", "train.py:1"))], tmp_path)
    assert made is not None and not made.files  # which of the two files was started is not known
    command = ["bash", "-c", "cd src && python train.py", "train.py"]
    sides = [replace(item, manifest={**kept, "command": command}) for item in (difference.a, difference.b)]
    made = patch([(replace(difference, a=sides[0], b=sides[1]), Cause("torch-cpu", True, "", ""))], tmp_path)
    assert made is not None and list(made.files) == ["src/train.py"]


def test_lines_of_runs_of_patched_code_are_found_again(tmp_path: Path) -> None:
    """Where only an edit controls a cause, the next difference comes from edited code."""
    program = Program(
        tmp_path,
        """
        import threading, torch
        import numpy as np
        out = []

        def work():
            out.append(1)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        rng = np.random.default_rng()
        """,
    )
    first = (program.difference(), Cause("thread-scheduling", True, "", ""))
    made = patch([first], tmp_path)
    assert made is not None and "t.join()" in made.diff
    edited = made.files["train.py"]
    at = f"train.py:{edited.splitlines().index('rng = np.random.default_rng()') + 1}"
    settings = {"code": {"train.py": digest_bytes(edited.encode()).hex()}}
    second = program.difference(equal("unseeded", "numpy-generator", at), settings=settings)
    assert at != program.at("default_rng")
    both = patch([first, (second, Cause("numpy-generator", True, "", "", at))], tmp_path)
    assert both is not None and both.cannot == {}
    assert changed(both.diff) == (
        "-rng = np.random.default_rng()\n+    t.join()\n+rng = np.random.default_rng(0)"
    )


def test_each_cause_is_edited_once_however_many_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each later difference comes from code with the edits of all causes before it."""
    lines = [f"rng{n} = np.random.default_rng()" for n in range(12)]
    program = Program(tmp_path, "\n".join(["import numpy as np", *lines, ""]))
    found, files = [], dict(program.files)
    for number in range(2, 14):
        at = f"train.py:{number}"
        settings = {"code": {"train.py": digest_bytes(files["train.py"].encode()).hex()}}
        difference = program.difference(equal("unseeded", "numpy-generator", at), settings=settings)
        found.append((difference, Cause("numpy-generator", True, "", "", at)))
        made = patch(found, tmp_path, {"numpy-generator"})
        assert made is not None and made.cannot == {}
        files = dict(made.files)
    assert all(f"rng{n} = np.random.default_rng({n})" in files["train.py"] for n in range(12))
    asked = []
    monkeypatch.setattr(
        patch_module, "make_edits", lambda *given: asked.append(given[1]) or make_edits(*given)
    )
    again = patch(found, tmp_path, {"numpy-generator"})
    assert again is not None and again.files == files
    assert asked == [cause for _, cause in found]


def test_what_cannot_be_written_does_not_cost_the_rest(tmp_path: Path) -> None:
    """The script came from standard input, and a module of the user's has a fault of its own."""
    program = Program(
        tmp_path, "", {"data.py": "def f(ws):\n    return list({str(w) for w in ws})\n"}, ("python", "-")
    )
    made = causes(program, "torch-cpu", "hash-seed")
    assert list(made.files) == ["data.py"]
    assert list(made.cannot) == ["torch-cpu"]


def test_a_notebook_exported_as_a_script(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        #!/usr/bin/env python
        # coding: utf-8

        # In[1]:


        import torch
        get_ipython().run_line_magic("matplotlib", "inline")


        # In[2]:


        torch.rand(3)
        """,
    )
    made = causes(program, "torch-cpu")
    assert "import torch\ntorch.manual_seed(0)\nget_ipython()" in made.files["train.py"]
    kernel = Program(tmp_path, argv=("python", "-m", "ipykernel_launcher", "-f", "kernel.json"))
    assert "notebook" in kernel.refused("torch-cpu")


def test_the_values_for_json(tmp_path: Path) -> None:
    made = causes(Program(tmp_path, "import torch\n"), "torch-cpu", "code")
    said = json.loads(json.dumps(made.to_json()))
    assert said["diff"] == made.diff and said["verified"] is None and list(said["cannot"]) == ["code"]


def test_a_cause_without_a_line_is_at_that_of_the_one_edit_that_was_seen_to_fix_it(tmp_path: Path) -> None:
    one = "import torch\nwords = {'a', 'b'}\nids = list(words)\nnet = torch.nn.Linear(2, 2)\n"
    two = f"{one}more = list({{'c', 'd'}})\n"
    for name, text, site in (("one", one, "train.py:3"), ("two", two, None)):
        (tmp_path / name).mkdir()
        made = causes(Program(tmp_path / name, text), "hash-seed")
        cause = Cause("hash-seed", True, "", "")
        assert made.complete(cause).call_site is None  # not tried
        tried = replace(made, verified=True)
        assert tried.complete(cause).call_site == site
        assert tried.complete(replace(cause, call_site="train.py:9")).call_site == "train.py:9"


def test_where_the_general_advice_would_do_harm_the_reason_is_the_advice(tmp_path: Path) -> None:
    made = causes(Program(tmp_path, "import torch\n"), "torch-cpu", "code")
    cause = Cause("code", True, "what is said in general", "")
    assert made.complete(cause).advice == cause.advice
    said = replace(made, unfaithful=frozenset(["code"])).complete(cause)
    assert said.advice == made.cannot["code"] != cause.advice


@pytest.mark.parametrize(("owner", "count"), [("optimizer", 1), ("model", 0)])
def test_a_seed_where_a_training_may_go_on_has_its_price(tmp_path: Path, owner: str, count: int) -> None:
    """Weights that somebody else has trained are where a training begins."""
    text = f"import torch\n{owner}.load_state_dict(torch.load('last.pt'))\nnet = torch.nn.Linear(2, 2)\n"
    assert len(causes(Program(tmp_path, text), "torch-cpu").costs) == count
