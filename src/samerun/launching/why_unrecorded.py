"""Says why a run has no trace, for the verdict `unknown`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from samerun.launching.marker_files import PYTHON_SEEN, TORCH_SEEN
from samerun.launching.standard_input import explain_unread
from samerun.runs.recorder_errors import FAILED, NO_TORCH, explain_broken, read_complaints

_HIDING = {"I": "isolated mode", "E": "ignoring the environment", "S": "without the site module"}
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
_ELSEWHERE = ("docker", "podman", "singularity", "apptainer", "ssh", "sudo", "srun", "kubectl")


def explain_unrecorded(run: Path, command: Sequence[str]) -> str:
    """Why `command` left no trace in the folder `run`, and what to do: one or two sentences."""
    broken = explain_broken(run)
    if broken is not None:
        return broken
    failed = read_complaints(run)
    if failed:
        return failed[0] + (f" ({len(failed) - 1} more in {FAILED})" if len(failed) > 1 else "")
    if not (run / PYTHON_SEEN).exists():
        return _explain_no_python(command)
    if not (run / TORCH_SEEN).exists():
        absent = without_torch(run)
        if absent is not None:
            return f"nothing was recorded: {absent}, or name the command that trains"
        unread = explain_unread()
        return "Python ran, but torch was never imported, so there was nothing to record. " + (
            "Name the command that trains." if unread is None else f"It may read its input: {unread}."
        )
    return (
        "torch was imported, but no step, loss or batch was seen: nothing was trained or evaluated with it. "
        "A training that finds the checkpoint of its last step has nothing left to do: move it away."
    )


def without_torch(run: Path) -> str | None:
    """Why no process of the run could import torch, and what to do; None where one did, or none tried to."""
    said = read_complaints(run, NO_TORCH)
    return said[0] if said and not (run / TORCH_SEEN).exists() else None


def _explain_no_python(command: Sequence[str]) -> str:
    words = [*_read_shebang(command), *command]
    flag = _find_hiding_flag(words)
    if flag is not None:
        instead = ", or install samerun in that Python" if flag == "E" else ""
        return (
            f"Python ran with -{flag} ({_HIDING[flag]}), so samerun could not start its recorder in it. "
            f"Run the command without -{flag}{instead}."
        )
    names = [Path(word).name for word in words]
    if "env" in names and {"-i", "-", "--ignore-environment"} & set(words):
        return (
            "env -i clears the environment, through which samerun starts its recorder. "
            "Run the command without it, or keep SAMERUN_PLAN and PYTHONPATH."
        )
    elsewhere = next((name for name in names if name in _ELSEWHERE), None)
    if elsewhere is not None:
        return (
            f"{elsewhere} starts the program with another environment, so samerun could not start its "
            f"recorder in it. Call samerun on the inside: {elsewhere} … samerun check -- …"
        )
    return (
        "No Python process that reads its environment was started. Name a command that trains with Python; "
        "if it does, look in what it calls for python -I or -S, env -i or a container; and where its Python "
        "is one that samerun is not installed in, for -E, or a PYTHONPATH that is replaced, not added to."
    )


def _find_hiding_flag(words: Sequence[str]) -> str | None:
    """The flag of the first Python named in `words` that keeps sitecustomize from being read."""
    start = next((i for i, word in enumerate(words) if re.fullmatch(r"python[\d.]*", Path(word).name)), None)
    if start is None:
        return None
    options = iter(words[start + 1 :])
    for option in options:
        if option in _WITH_VALUE:
            next(options, None)
            continue
        if not option.startswith("-") or option.startswith("--") or option == "-":
            return None
        for letter in option[1:]:
            if letter in _HIDING:
                return letter
            if letter in "cmWX":  # the rest is its value
                break
        if set(option) & set("cm"):
            return None
    return None


def _read_shebang(command: Sequence[str]) -> list[str]:
    """The interpreter that the command's own first line names."""
    try:
        with open(command[0], "rb") as file:
            line = file.readline(256)
    except OSError:
        return []
    return line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
