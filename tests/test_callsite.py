import concurrent.futures
import glob
import gzip
import subprocess
import sys
import threading
import timeit
import types

import pandas as pd
import pytest
import torch

from samerun import callsite


def here():
    frame = callsite.find_user_frame()
    return None if frame is None else callsite.call_site(frame)


def test_the_user_is_the_caller():
    assert here().startswith("tests/test_callsite.py:")


def test_lines_of_a_file_outside_the_working_directory_are_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(callsite, "_names", {})
    assert here().startswith("/")


def test_a_callback_from_a_library_is_the_users():
    seen = []
    torch.nn.Linear(1, 1).apply(lambda module: seen.append(here()))
    pd.Series([1]).map(lambda value: seen.append(here()))
    assert all(site.startswith("tests/test_callsite.py:") for site in seen)


def test_a_thread_started_by_the_standard_library_ends_at_the_users_function():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(here).result().startswith("tests/test_callsite.py:")
        # without a function of the user's, the machinery acts for itself
        assert pool.submit(callsite.find_user_frame).result() is None


def test_python_acts_for_itself_where_no_line_of_the_users_asked():
    said = []

    def look():
        said.append(callsite.acts_for_itself(sys._getframe(1)))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    look()
    pd.Series([1]).map(lambda value: look())
    sorted([1], key=lambda value: callsite.acts_for_itself(sys._getframe(0)) and said.append("own"))
    assert said == [True, False, False]


@pytest.mark.parametrize(
    ("file", "site"),
    [
        ("/home/me/train.py", "/home/me/train.py:3"),
        (glob.__file__, None),
        (None, "<dynamic-code>:3"),  # of a notebook, which has no file
    ],
)
def test_code_that_cloudpickle_carried_is_of_the_module_that_it_was_written_in(file, site):
    # cloudpickle >= 3.1.3 pickles a function by value with this name and with its module's __file__
    carried = {"callsite": callsite, "__name__": "__main__"} | ({"__file__": file} if file else {})
    source = "\ndef job():\n    return callsite.find_user_frame(), callsite.is_called_directly()\n"
    exec(compile(source, "<dynamic-code>", "exec"), carried)
    frame, direct = carried["job"]()
    if site is None:  # a library's: this test is what called it
        assert frame.f_code is sys._getframe().f_code
    else:
        assert callsite.call_site(frame) == site
        assert direct


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (glob.__file__, callsite._PASSED),
        (gzip.__file__, callsite._PASSED),
        (subprocess.__file__, callsite._END),
        (torch.__file__, callsite._LIBRARY),
        (callsite.__file__, callsite._PASSED),
        ("/home/somebody/project/train.py", callsite._USER),
        ("/home/somebody/project/.venv/lib/python3.11/site-packages/pkg/a.py", callsite._LIBRARY),
    ],
)
def test_files(name, kind):
    assert callsite._classify_file(name) == kind


SCRIPT = """
import sys
from samerun import callsite
def site():
    frame = callsite.find_user_frame()
    return frame and callsite.call_site(frame)
from dataclasses import dataclass, field
@dataclass
class Made:
    at: str = field(default_factory=site)
print(site(), Made().at)
"""


def test_a_command_line_script_is_the_users():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stdout.split() == ["<string>:6", "<string>:6"], done.stderr


@pytest.mark.parametrize(("name", "is_users"), [("trainer", True), ("joblib", False)])
def test_an_installed_program_started_by_name_is_the_users_unless_it_works_for_others(
    tmp_path, name, is_users
):
    package = tmp_path / "site-packages" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", name], cwd=tmp_path / "site-packages", capture_output=True, text=True
    )
    assert done.stdout.split()[0] == (f"{name}/__main__.py:6" if is_users else "None"), done.stderr


@pytest.mark.parametrize("name", ["<class 'networkx.utils.decorators.argmap'> compilation 5", "<made>"])
def test_code_that_a_library_generates_is_walked_through(name):
    made = {}
    exec(compile("def call(find):\n    return find()\n", name, "exec"), made)
    frame = made["call"](callsite.find_user_frame)
    assert callsite.call_site(frame).startswith("tests/test_callsite.py:")


def test_the_machinery_of_imports_is_not_the_users(tmp_path, monkeypatch):
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "samerun_imported.py").write_text(
        "from samerun import callsite\nframe = callsite.find_user_frame()\n"
    )
    monkeypatch.syspath_prepend(str(package))
    import samerun_imported

    assert samerun_imported.frame is None


def test_the_user_is_found_in_the_time_of_a_few_calls():
    def caller():
        return sys._getframe(1).f_code.co_filename

    times = [
        [timeit.timeit(one, number=2000) for one in (callsite.find_user_frame, caller)] for _ in range(9)
    ]
    found, called = map(min, zip(*times, strict=True))
    # timeit, a standard module, ends the walk at its first frame; the bound is three times what was measured
    assert found < 15 * called


def _asks(user):
    return callsite.is_the_compilers(user)


def test_what_torchs_compiler_does_for_itself_is_not_of_the_users_line():
    here = sys._getframe()
    compiler = types.FunctionType(
        _asks.__code__.replace(co_filename="/lib/site-packages/torch/_inductor/utils.py"), globals()
    )
    assert compiler(here) and not _asks(here)


@pytest.mark.slow
def test_a_compiled_model_uses_no_clock_of_the_scripts(trainer):
    from samerun.comparing.pairing import read
    from samerun.comparing.uncontrolled import list_uncontrolled

    trainer.script(
        "import time\nimport torch\n"
        "w = torch.ones(4, requires_grad=True)\n"
        "f = torch.compile(lambda x: (x * w).sin().sum())\n"
        "for _ in range(2):\n"
        "    f(torch.ones(4)).backward()\n"
        "time.time()  # the script's own\n"
    )
    used = list_uncontrolled(read(trainer.record("train.py")))
    assert [(use.source, use.uses) for use in used] == [("clock", (("time.time", "train.py:7"),))]


def test_a_seed_is_of_the_users_line_once_the_compiler_is_loaded(trainer):
    """An optimizer's first step imports torch._dynamo, which puts a function around torch.manual_seed."""
    trainer.script(
        "import torch\n"
        "import torch._dynamo\n"
        "torch.manual_seed(5)\n"
        "w = torch.rand(4, requires_grad=True)\n"
        "(w * w).sum().backward()\n"
        "torch.optim.SGD([w], 0.1).step()\n"
    )
    (trace,) = trainer.record("train.py").traces().values()
    rows = trace.rows(trace.is_one_of("what", {"seed"}))
    assert [(row.name, row.value, row.call_site) for row in rows] == [
        ("torch.manual_seed", 5.0, "train.py:3")
    ]
