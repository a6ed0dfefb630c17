"""Read by every Python process that a recorded command starts: begins the recorder, then makes room.

It stands first on PYTHONPATH, hides nobody else's `sitecustomize`, and never stops the user's process.
Only the standard library is imported here: the interpreter may be one that has no samerun.
"""

import os
import sys


def _begin() -> None:
    """Start what SAMERUN_PLAN asks for; a failure is written into the run's folder."""
    plan = os.environ.get("SAMERUN_PLAN")
    if not plan:
        return
    try:
        from samerun.launching.bootstrap import start_from
    except Exception as error:  # not there, or an interpreter too old to read it
        _complain(
            plan,
            f"The interpreter {sys.executable} (Python {sys.version.split()[0]}) cannot import samerun "
            f"({type(error).__name__}: {error}), so nothing was recorded in it. Install samerun there: "
            f"{sys.executable} -m pip install samerun",
            "inject-error.txt",
        )
        return
    start_from(plan)


def _complain(plan: str, text: str, name: str) -> None:
    """Append one line to a file of samerun.runs.recorder_errors."""
    import json

    try:
        path = os.path.join(json.loads(plan)["run"], name)
        fd = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        with os.fdopen(fd, "a", encoding="utf-8") as file:
            file.write(" ".join(text.split()) + "\n")
    except (OSError, ValueError, KeyError, TypeError):
        pass


def _run_next() -> None:
    """Run the `sitecustomize` that this one stands in front of, as the module of that name."""
    import importlib.machinery
    import importlib.util

    # os.path, since pathlib is slow to import
    here = os.path.realpath(os.path.dirname(__file__))
    path = [entry for entry in sys.path if os.path.realpath(entry) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _begin()
except SystemExit as stop:
    # Wrong usage. Raised through `site` it would be a fatal error with a traceback; no user code ran yet.
    os._exit(stop.code if isinstance(stop.code, int) else 2)
except Exception as failure:
    _complain(os.environ["SAMERUN_PLAN"], f"The recorder did not start: {failure!r}", "recording-error.txt")
finally:
    _run_next()
