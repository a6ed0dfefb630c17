"""`verify --bisect`: the first commit since the lock that moved a bit, by `git bisect run` in a clone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from samerun.errors import UsageError
from samerun.experiments.runner import Runner
from samerun.experiments.verify.bisect_step import Setup, try_commit
from samerun.experiments.verify.bisected import Bisected, Tried
from samerun.experiments.verify.clone import Clone, git, leave_git_out, make_clone
from samerun.experiments.verify.request import VerifyRequest
from samerun.experiments.verify.result import VerifyResult
from samerun.experiments.verify.verify import verify

_ONLY_SKIPPED = 2
# The folder that it is started in holds the user's code: none of it is imported in place of samerun's.
# An error of ours ends the search: exit code 1 would be an answer.
_STEP = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
try:
    from samerun.experiments.verify.bisect_step import main
    code = main(sys.argv[1])
except BaseException as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    code = 255
sys.exit(code)
"""


def bisect(asked: VerifyRequest, runner: Runner) -> VerifyResult:
    """What `verify` finds now, without confirming it, and the commit since which that is so.

    Raises UsageError where the lock has no commit of this repository, and what `verify` raises.
    """
    good = asked.lock.code.commit
    if good is None:
        raise UsageError("The lock names no commit to start from: lock in a git repository, with a commit.")
    folder = asked.request.folder
    _check_is_before(folder, good)
    asked = replace(asked, any_inputs=True, request=replace(asked.request, confirm=False))
    result = verify(asked, runner)
    if result.verdict != "differs":
        return result
    with make_clone(folder) as clone:
        setup = Setup.make(asked, clone)
        return replace(result, bisected=_search(asked, clone, setup, good, runner))


def _check_is_before(folder: Path, commit: str) -> None:
    try:
        git(folder, "merge-base", "--is-ancestor", commit, "HEAD")
    except UsageError as error:
        raise UsageError(
            f"The locked commit {commit[:12]} is none of those before HEAD ({error}), so there is nothing "
            "between them to bisect."
        ) from None


def _search(asked: VerifyRequest, clone: Clone, setup: Setup, good: str, runner: Runner) -> Bisected:
    """Both ends first: where the locked commit gives the locked bits and HEAD does not, one between is it."""
    runner.listener.stage("running HEAD as it was committed")
    now = try_commit(setup)
    if now == "same":
        changed = [line[3:] for line in git(asked.request.folder, "status", "--porcelain").splitlines()]
        reason = "HEAD gives the locked bits: what moved them is not committed"
        return Bisected(files=tuple(changed), tried=_read_tried(setup), reason=reason)
    if now != "differs":
        return Bisected(tried=_read_tried(setup), reason=f"HEAD cannot be compared in a clone: {now}")
    runner.listener.stage("running the locked commit")
    clone.git("checkout", "-q", "--detach", good)
    then = try_commit(setup)
    if then != "same":
        dirty = ", which had uncommitted changes when it was locked" if asked.lock.code.dirty else ""
        reason = f"the locked commit{dirty} does not give the locked bits here ({then}): no later one is why"
        return Bisected(tried=_read_tried(setup), reason=reason)
    runner.listener.stage("git bisect run: the commits between")
    clone.git("bisect", "start", clone.head, good)
    stopped = _run_bisect(clone, setup)
    return _read_found(clone, setup, stopped)


def _run_bisect(clone: Clone, setup: Setup) -> str | None:
    """What git printed last, where it was not at an end."""
    path = clone.top.parent / "setup.json"
    path.write_text(setup.to_json(), encoding="utf-8")
    done = subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", "bisect", "run", sys.executable, "-c", _STEP, str(path)],
        cwd=clone.top,
        env=leave_git_out(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    if done.returncode in (0, _ONLY_SKIPPED):
        return None
    return (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason was given"])[-1]


def _read_found(clone: Clone, setup: Setup, stopped: str | None) -> Bisected:
    """By git's refs: its words are in the user's language."""
    tried = _read_tried(setup)
    good = clone.git("for-each-ref", "--format=^%(refname)", "refs/bisect/good-*").split()
    left = clone.git("rev-list", "refs/bisect/bad", *good).split()
    if len(left) != 1 or stopped is not None:
        reason = f"git bisect run stopped: {stopped}" if stopped else "commits between could not be run"
        return Bisected(candidates=tuple(left), tried=tried, reason=reason)
    (commit,) = left
    subject = clone.git("show", "-s", "--format=%s", commit).strip()
    files = clone.git("show", "--format=", "--name-only", "-m", "--first-parent", commit).splitlines()
    return Bisected(commit, subject, tuple(filter(None, files)), tried=tried)


def _read_tried(setup: Setup) -> tuple[Tried, ...]:
    lines = Path(setup.log).read_text(encoding="utf-8").splitlines()
    return tuple(Tried(**json.loads(line)) for line in lines)
