"""What happens inside the processes of a launched command.

Covers `inject/sitecustomize.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torches

from samerun.launching.launch import INJECTED, LaunchRequest, launch
from samerun.runs.plan import Control, Plan

AT_START = ["observe start", "observe late-start"]
WITH_TORCH = [
    "observe loader complete",  # torch.utils.data is executed before torch is complete
    "observe late-torch complete",
    "observe torch-cpu complete",
    "record",
]


def test_sources_act_as_their_modules_are_imported_and_recording_begins_last(launched):
    launched("python", "-c", "import torch, torch.utils.data")
    assert launched.said == AT_START + WITH_TORCH


def test_a_process_without_torch_is_observed_and_not_recorded(launched):
    launched("python", "-c", "pass")
    assert launched.said == AT_START
    assert (launched.run / "python.seen").exists()
    assert not (launched.run / "torch.seen").exists()


def test_control_comes_after_observe_and_before_recording(launched):
    launched("python", "-c", "import torch", control=Control(only=("start", "torch-cpu")))
    said = launched.said
    assert said[:2] == ["observe start", "control start"]
    assert said[-3:] == ["observe torch-cpu complete", "control torch-cpu", "record"]
    assert "control loader" not in said


def test_what_torch_brings_is_out_of_the_garbage_collectors_way_and_the_users_is_not(launched):
    count = "import gc; print(gc.get_freeze_count())"
    plain = subprocess.run(
        [sys.executable, "-c", count], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    program = (  # Python 3.12 puts some of its own out of the way
        f"import gc, torch; print(gc.get_freeze_count() > {int(plain)})\n"
        "class Mine:\n"
        "    def __init__(self): self.me = self\n"
        "    def __del__(self): print('collected')\n"
        "Mine(); gc.collect(); print('trained')\n"
    )
    launched("python", "-c", program)
    assert launched.output == "True\ncollected\ntrained\n"
    launched("python", "-c", count)
    assert launched.output == plain


def test_garbage_is_collected_after_the_import_of_torch_where_it_was_before(launched, tmp_path):
    launched("python", "-c", "import gc, torch; print(gc.isenabled())")
    assert launched.output == "True\n"
    launched("python", "-c", "import gc; gc.disable(); import torch; print(gc.isenabled())")
    assert launched.output == "False\n"
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "torch.py").write_text("import gc; print(gc.isenabled()); raise ImportError('broken')")
    program = (
        f"import gc, sys; sys.path.insert(0, {str(broken)!r})\n"
        "try:\n    import torch\n"
        "except ImportError as error:\n    print(error, gc.isenabled())\n"
    )
    launched("python", "-c", program)
    assert launched.output == "False\nbroken True\n"


def test_a_source_that_raises_is_written_down_and_the_command_goes_on(launched):
    outcome = launched("python", "-c", "import torch; print('trained')")
    assert (outcome.outcome, launched.output) == ("finished", "trained\n")
    assert "observing broken failed: RuntimeError: the fake is broken" in launched.complaints
    assert launched.said[-1] == "record"


@pytest.mark.parametrize("source", ["late-start", "late-torch"])
def test_a_control_that_comes_too_late_ends_the_process_with_2(launched, source):
    outcome = launched("python", "-c", "import torch; print('trained')", control=Control(only=(source,)))
    assert outcome.exit_code == 2
    assert launched.output == f"samerun: {source} cannot be set any more; set it before the start\n"


def test_a_torch_that_is_too_old_is_left_alone_and_the_program_goes_on(launched, tmp_path):
    program = "import torch, torch.utils.data, queue; print(torch.touched, sorted(vars(torch)))"
    plain = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": torches.old(tmp_path)},
        capture_output=True,
        text=True,
    )
    overlay = os.pathsep.join([str(Path(__file__).parent / "overlay"), str(tmp_path / "old")])
    outcome = launched("python", "-c", program, env={"PYTHONPATH": overlay})
    assert (outcome.exit_code, launched.output) == (0, plain.stdout)
    assert launched.output.startswith("[] ")
    assert launched.said == [*AT_START, "observe queue"]
    said = (launched.run / "recording-error.txt").read_text().splitlines()
    assert len(said) == 1
    assert said[0].startswith(
        f"nothing was recorded: torch 2.5.1+cpu in {sys.executable} is too old. Install"
    )
    assert not (launched.run / "torch.seen").exists()


def test_a_control_that_an_old_torch_cannot_keep_ends_the_process_with_2_and_others_are_kept(
    launched, tmp_path
):
    overlay = os.pathsep.join([str(Path(__file__).parent / "overlay"), torches.old(tmp_path)])
    command = ("python", "-c", "import torch; print('trained')")
    outcome = launched(*command, control=Control(only=("start",)), env={"PYTHONPATH": overlay})
    assert (outcome.exit_code, launched.output) == (0, "trained\n")
    assert "control start" in launched.said
    outcome = launched(*command, control=Control(only=("torch-cpu",)), env={"PYTHONPATH": overlay})
    assert outcome.exit_code == 2
    (line,) = launched.output.splitlines()
    assert line.startswith("samerun: this training cannot be controlled: torch 2.5.1+cpu in ")
    assert line.endswith("or train without control: samerun run --mode off -- …")


@pytest.mark.parametrize("put", [torches.missing, torches.broken])
def test_a_torch_that_is_not_there_is_told_of_once_and_fails_as_without_us(launched, tmp_path, put):
    overlay = os.pathsep.join([str(Path(__file__).parent / "overlay"), put(tmp_path)])
    launched.write(
        "train.py",
        "for _ in range(2):\n"
        "    try:\n        import torch\n"
        "    except (ImportError, OSError) as error:\n        print(type(error).__name__)\n",
    )
    outcome = launched("python", "train.py", env={"PYTHONPATH": overlay})
    assert outcome.exit_code == 0
    name = "OSError" if put is torches.broken else "ModuleNotFoundError"
    assert launched.output == f"{name}\n{name}\n"
    said = (launched.run / "no-torch.txt").read_text().splitlines()
    assert len(said) == 1
    assert sys.executable in said[0]
    assert " torch" not in launched.complaints


def test_a_torch_that_no_finder_finds_is_told_of(launched):
    """As where none is installed: the path of Python has no folder torch."""
    launched.write(
        "train.py",
        "import sys\n"
        "sys.path[:] = [path for path in sys.path if 'stubs' not in path and 'packages' not in path]\n"
        "try:\n    import torch\nexcept ModuleNotFoundError as error:\n    print(error)\n",
    )
    launched("python", "train.py")
    assert launched.output == "No module named 'torch'\n"
    assert " has no torch. Install torch 2.6 or newer there" in (launched.run / "no-torch.txt").read_text()


def test_torch_imported_in_two_threads_begins_recording_once(launched):
    launched.write(
        "train.py",
        "import threading\n"
        "def work():\n    import torch\n    assert torch.complete\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]\n",
    )
    assert launched("python", "train.py").exit_code == 0
    assert launched.said.count("record") == 1


def test_reload_gives_back_the_real_loader_and_records_once(launched):
    launched.write(
        "train.py",
        "import importlib, torch\n"
        "importlib.reload(torch)\n"
        "print(type(torch.__loader__).__name__, type(torch.__spec__.loader).__name__)\n",
    )
    launched("python", "train.py")
    assert launched.output == "SourceFileLoader SourceFileLoader\n"
    assert launched.said.count("record") == 1


def test_an_import_that_fails_fails_as_without_us_and_can_be_tried_again(launched):
    launched.write(
        "train.py",
        "import sys\n"
        "sys.modules['torch.utils'] = None\n"
        "try:\n    import torch\nexcept ImportError as error:\n    print(type(error).__name__)\n"
        "print('torch' in sys.modules)\n"
        "del sys.modules['torch.utils']\n"
        "import torch\n",
    )
    assert launched("python", "train.py").exit_code == 0
    assert launched.output == "ModuleNotFoundError\nFalse\n"
    assert launched.said.count("record") == 1


def test_a_finder_of_the_user_that_asks_all_the_others_does_not_recurse(launched):
    launched.write(
        "train.py",
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        for finder in sys.meta_path:\n"
        "            if finder is not self and (spec := finder.find_spec(name, path, target)):\n"
        "                return spec\n"
        "sys.meta_path.insert(0, Finder())\n"
        "import torch\nprint('trained')\n",
    )
    launched("python", "train.py")
    assert launched.output == "trained\n"
    assert launched.said.count("record") == 1


def test_a_program_that_takes_our_finder_out_is_told_of(launched):
    launched.write(
        "train.py",
        "import sys\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith('samerun')]\n"
        "import torch\nprint('trained')\n",
    )
    assert launched("python", "train.py").exit_code == 0
    assert "imported past samerun's import hook" in launched.complaints


def test_python_dash_m(launched):
    launched.write("package/__init__.py", "")
    launched.write("package/__main__.py", "import torch, sys; print(sys.argv[1:])")
    launched("python", "-m", "package", "--lr", "1")
    assert launched.output == "['--lr', '1']\n"
    assert launched.said[-1] == "record"


def test_a_shell_script_that_runs_python_twice(launched):
    launched.write(
        "both.sh", f"{sys.executable} -c 'import torch'\n{sys.executable} -c 'import torch'\nexit 3\n"
    )
    assert launched("sh", "both.sh").exit_code == 3
    assert launched.said.count("record") == 2


def test_children_by_spawn_and_forkserver_are_reached(launched):
    launched.write(
        "train.py",
        "import multiprocessing as mp\n"
        "def work():\n    import torch\n"
        "if __name__ == '__main__':\n"
        "    for method in ('spawn', 'forkserver'):\n"
        "        child = mp.get_context(method).Process(target=work)\n"
        "        child.start(); child.join()\n",
    )
    launched("python", "train.py")
    assert launched.said.count("record") == 2


def test_a_zipapp(launched):
    with zipfile.ZipFile(launched.cwd / "train.pyz", "w") as archive:
        archive.writestr("__main__.py", "import torch; print('trained')")
    launched("python", "train.pyz")
    assert (launched.output, launched.said[-1]) == ("trained\n", "record")


@pytest.mark.parametrize("flag", ["-I", "-S"])  # samerun's own programs stay apart by -I
def test_an_interpreter_that_ignores_us_runs_unharmed(launched, flag):
    assert launched("python", flag, "-c", "print('trained')").exit_code == 0
    assert launched.output == "trained\n"
    assert not (launched.run / "python.seen").exists()


@pytest.mark.parametrize("hiding", ["env PYTHONPATH=/elsewhere python", "python -E"])
def test_the_recorder_is_found_without_pythonpath_where_samerun_is_installed(launched, hiding):
    launched(*hiding.split(), "-c", "print('trained')")
    assert launched.output == "trained\n"
    assert (launched.run / "python.seen").exists()


def test_a_python_outside_of_a_recorded_command_has_nothing_of_ours(tmp_path):
    code = "import sys; print([name for name in (*sys.modules, *sys.path) if name.endswith('inject')])"
    for recorded, found in (({}, "[]"), ({INJECTED: "/at/inject"}, "['/at/inject']")):
        said = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, env=recorded, text=True)
        assert said.strip() == found


def test_a_run_folder_that_is_gone_does_not_hurt(launched):
    launched.write(
        "train.py", f"import shutil, torch; shutil.rmtree({str(launched.run)!r}); print('trained')"
    )
    child = f"{sys.executable} train.py && {sys.executable} -c 'import torch'"
    assert launched("sh", "-c", child).exit_code == 0


class TestSitecustomize:
    def test_the_users_own_is_run_as_the_module_of_that_name(self, launched):
        launched.write("sitecustomize.py", "import sys\nvalue = 7\nprint(sys.modules[__name__].value)\n")
        launched("python", "-c", "import sitecustomize; print(sitecustomize.__file__)")
        assert launched.output == f"7\n{launched.cwd / 'sitecustomize.py'}\n"

    def test_it_is_run_even_if_ours_fails(self, launched):
        launched.write("sitecustomize.py", "print('theirs')")
        broken = launched.write("broken/samerun/__init__.py", "raise ImportError('no samerun here')")
        path = os.pathsep.join([str(broken.parent.parent), str(launched.cwd)])
        outcome = launched("python", "-c", "print('trained')", env={"PYTHONPATH": path})
        assert (outcome.exit_code, launched.output) == (0, "theirs\ntrained\n")
        assert "cannot import samerun (ImportError: no samerun here)" in launched.complaints
        assert f"{sys.executable} -m pip install samerun" in launched.complaints

    def test_any_exception_of_ours_stays_ours(self, launched):
        broken = launched.write("broken/samerun/__init__.py", "raise RuntimeError('half installed')")
        outcome = launched("python", "-c", "print('trained')", env={"PYTHONPATH": str(broken.parent.parent)})
        assert (outcome.exit_code, launched.output) == (0, "trained\n")
        assert "half installed" in launched.complaints

    def test_one_of_the_users_that_raises_is_reported_by_python_as_ever(self, launched):
        launched.write("sitecustomize.py", "raise ValueError('theirs')")
        assert launched("python", "-c", "print('trained')").exit_code == 0
        assert "ValueError: theirs" in launched.output
        assert launched.said == AT_START

    def test_without_a_plan_it_only_makes_room(self, launched, monkeypatch):
        launched.write("sitecustomize.py", "print('theirs')")
        script = f"env -u SAMERUN_PLAN {sys.executable} -c 'import torch'"
        launched("sh", "-c", script)
        assert (launched.output, launched.said) == ("theirs\n", [])

    def test_a_plan_that_cannot_be_read_does_not_hurt(self, launched):
        outcome = launched("sh", "-c", f"SAMERUN_PLAN=nonsense {sys.executable} -c 'print(1)'")
        assert (outcome.exit_code, launched.output) == (0, "1\n")


@pytest.mark.parametrize("method", ["torchrun", pytest.param("module", marks=pytest.mark.slow)])
def test_torchrun_reaches_its_workers(tmp_path: Path, method):
    run = tmp_path / "run"
    run.mkdir()
    script = tmp_path / "train.py"
    script.write_text(
        "import os, sys; rank, there = os.environ['RANK'], 'samerun.import_hook' in sys.modules\n"
        # in one piece: where the environment asks for no buffer, each word is a write of its own
        "print(f'rank {rank} {there}\\n', end='')\n"
    )
    torchrun = {
        "torchrun": [str(Path(sys.executable).parent / "torchrun")],
        "module": [sys.executable, "-m", "torch.distributed.run"],
    }[method]
    outcome = launch(
        LaunchRequest([*torchrun, "--nproc-per-node", "2", "train.py"]), Plan(run=str(run)), tmp_path
    )
    output = (run / "output.txt").read_text()
    assert outcome.exit_code == 0, output
    assert {line for line in output.splitlines() if line.startswith("rank")} == {"rank 0 True", "rank 1 True"}
    assert (run / "torch.seen").exists()
