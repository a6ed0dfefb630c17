"""Starts one command under the recorder, follows it, and sees to the end of all its processes."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

from samerun import lineage, set_variables
from samerun.launching.command import cannot_start, check_command, is_python
from samerun.launching.interrupts import Interrupts
from samerun.launching.notebook import build_command, is_notebook
from samerun.launching.output import Output, is_stderr_apart
from samerun.launching.process_tree import Tree, adopt_orphans
from samerun.launching.progress_files import Follower, Progress
from samerun.launching.standard_input import open_for_a_run
from samerun.launching.watcher import Matter, watcher
from samerun.runs.plan import VARIABLE, Plan
from samerun.sources import hash_seed

OUTPUT = "output.txt"
INJECTED = "SAMERUN_INJECT"  # names the folder below to samerun.pth, where PYTHONPATH does not lead to it
_INJECT = str(Path(__file__).parent / "inject")
_POLL_S = 0.05
_GRACE_S = 5.0  # from Ctrl-C to SIGTERM, and for what outlives the command
_SHORT_GRACE_S = 1.0

Word = Literal["finished", "failed", "interrupted", "timeout", "stopped"]


@dataclass(frozen=True)
class LaunchRequest:
    """A command, and how it is started and followed."""

    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)  # added to our environment
    timeout: float | None = None  # seconds
    tee: bool = False  # its output is shown as well, and it reads our standard input
    on_progress: Callable[[Progress], None] | None = None
    passes_signals: bool = False  # what we get but Ctrl-C goes on to the command, which then ends by itself


@dataclass(frozen=True)
class Outcome:
    """How a command ended.

    `exit_code` is negative for a signal, as in `subprocess`, and None where Ctrl-C and the like did not end
    the command and we did; `stopped` is by the plan's stop_after; `error` is a sentence for people.
    """

    exit_code: int | None
    outcome: Word
    duration_s: float
    error: str | None = None


def launch(request: LaunchRequest, plan: Plan, cwd: Path) -> Outcome:
    """Run a command in `cwd` under `plan`; its output goes to output.txt in the plan's run, which exists.

    No process of the command is left when this returns, also after Ctrl-C, SIGTERM or SIGHUP (outcome
    "interrupted"). A signal that was passed on gives that outcome too, however the command ended: it is
    not known to have done all that it would have done.
    Raises CommandNotFound, or UsageError when a variable of the user contradicts a control.
    """
    command = list(request.command)
    environ = build_child_environment(plan, cwd, request.env)
    if plan.hash_seed is not None and is_python(command, cwd, environ):
        environ |= hash_seed.derive(plan.hash_seed, ())
    check_command(command, cwd, environ)
    with (
        contextlib.ExitStack() as stack,
        Interrupts(passes_on=request.passes_signals) as interrupts,
        adopt_orphans(),
        watcher.seeing_to("mark", plan.to_json()) as matter,
    ):
        matter.also("run", plan.run)
        started = time.monotonic()
        given = None if request.tee else stack.enter_context(open_for_a_run())
        try:
            process = subprocess.Popen(
                build_command(command) if is_notebook(command) else command,
                cwd=cwd,
                env=environ,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if request.tee and is_stderr_apart() else subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise cannot_start(command, error) from None
        with process:
            _see_to(matter, psutil.Process(process.pid))
            tree = Tree(process, plan.to_json(), found=functools.partial(_see_to, matter))
            attempt = _Attempt(process, request, plan, tree, interrupts, started)
            pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
            output = Output(pipes, Path(plan.run, OUTPUT), tee=request.tee)
            try:
                attempt.wait()
            finally:
                attempt.end()
                output.close()
        attempt.following.forget()
    return attempt.make_outcome(output.lost)


def _see_to(matter: Matter, process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):  # it has ended
        matter.also("process", (process.pid, process.create_time()))


def build_child_environment(plan: Plan, cwd: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Our environment, `env`, what the controlled sources need at start-up, and what starts the recorder.

    Raises UsageError when a variable of the user contradicts a control.
    """
    environ = {**os.environ, **env}
    environ.pop(lineage.VARIABLE, None)  # the command begins a tree of its own
    if plan.control is not None:
        from samerun.controls import build_environment

        environ.update(build_environment(plan.control))
    others = [
        entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry not in ("", _INJECT)
    ]
    environ["PYTHONPATH"] = os.pathsep.join([_INJECT, *others])
    environ[INJECTED] = _INJECT
    environ["PWD"] = str(cwd)
    environ[set_variables.VARIABLE] = set_variables.describe_all(environ)
    environ[VARIABLE] = plan.to_json()
    return environ


class _Attempt:
    """One started command, from its first poll to the end of its last process."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        request: LaunchRequest,
        plan: Plan,
        tree: Tree,
        interrupts: Interrupts,
        started: float,
    ) -> None:
        self.following = Follower(Path(plan.run))
        self._process = process
        self._tree = tree
        self._stops = plan.stop_after is not None
        self._interrupts = interrupts
        self._on_progress = request.on_progress
        self._started = started
        self._timeout = request.timeout
        self._word: Word | None = None
        self._passed_on: signal.Signals | None = None
        self._ended_itself = False

    def wait(self) -> None:
        """Wait for the command to end, or for the reason to end it."""
        with _Ending(self._process) as ending:
            while self._word is None and not self._ended_itself:
                ended = ending.within(_POLL_S)
                self._pass_on()
                self._tell()
                self._word = self._reason()
                self._ended_itself = ended and self._word is None
                self._tree.follow()

    def end(self) -> None:
        """End what is left of the command, by the means that fit the reason."""
        seen = self._interrupts.count_all()
        if self._word == "stopped":
            # A handler of SIGTERM may save a checkpoint: the training was stopped, it must not go on to that.
            self._tree.end(signal.SIGKILL, _SHORT_GRACE_S, self._hurried(seen))
        elif self._ended_itself:
            self._let_go()
            self._tree.end(signal.SIGTERM, _SHORT_GRACE_S, self._hurried(seen))
        else:
            self._ended_itself = self._tree.end(signal.SIGINT, _GRACE_S, self._hurried(seen))
        self._process.wait()

    def make_outcome(self, lost: str | None) -> Outcome:
        """How the command ended; `lost` says why not all that it printed was kept."""
        word, code = self._word or self._own_word(), self._process.returncode
        errors = [] if word in ("finished", "stopped") else [self._explain(word, code)]
        if lost is not None:
            errors.append(f"what it printed was not kept whole: {lost}")
        if word == "interrupted" and not self._ended_itself:
            code = None
        return Outcome(code, word, time.monotonic() - self._started, "; ".join(errors) or None)

    def _own_word(self) -> Word:
        if self._passed_on is not None:
            return "interrupted"
        return "finished" if self._process.returncode == 0 else "failed"

    def _explain(self, word: Word, code: int) -> str:
        if word == "timeout":
            return f"it had not ended after {self._timeout:g} s (the timeout) and was ended"
        if word == "failed":
            return _describe_end(code)
        if self._word is None and self._passed_on is not None:
            return f"interrupted by {self._passed_on.name}, which was passed on to it: {_describe_end(code)}"
        name = "a signal" if self._interrupts.last is None else self._interrupts.last.name
        return f"interrupted by {'Ctrl-C' if name == 'SIGINT' else name}"

    def _hurried(self, seen: int) -> Callable[[], bool]:
        return lambda: self._interrupts.count_all() > seen

    def _pass_on(self) -> None:
        if self._process.returncode is not None:
            return  # what comes now did not reach it
        for number in self._interrupts.take():
            if number is signal.SIGTSTP:
                self._suspend()
            else:
                self._passed_on = number
                self._process.send_signal(number)

    def _suspend(self) -> None:
        """Stop with the command, as Ctrl-Z asks for, until somebody has us go on."""
        self._send_to_group(signal.SIGSTOP)  # it has a session of its own, where SIGTSTP does nothing
        os.kill(os.getpid(), signal.SIGSTOP)
        self._send_to_group(signal.SIGCONT)

    def _send_to_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _reason(self) -> Word | None:
        if self._interrupts.count:
            return "interrupted"
        if self._stops and self.following.all_stopped():
            return "stopped"
        if self._timeout is not None and time.monotonic() >= self._started + self._timeout:
            return "timeout"
        return None

    def _tell(self) -> None:
        if self._on_progress is not None:
            step, loss = self.following.latest()
            self._on_progress(Progress(step, loss, time.monotonic() - self._started))

    def _let_go(self) -> None:
        """Give what outlives the command (helpers that flush their files) the time to end by itself."""
        until = time.monotonic() + _GRACE_S
        while self._tree.alive() and not self._interrupts.count_all() and time.monotonic() < until:
            time.sleep(_POLL_S)


class _Ending:
    """Waits for a process to end: at once by its pidfd where there is one, by polling elsewhere."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._fd: int | None = None

    def __enter__(self) -> _Ending:
        if hasattr(os, "pidfd_open"):
            try:
                self._fd = os.pidfd_open(self._process.pid)
            except OSError:
                self._fd = None  # a kernel without it, or a sandbox that refuses it
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)

    def within(self, seconds: float) -> bool:
        """Whether the process ends within `seconds`."""
        if self._fd is not None:
            select.select([self._fd], [], [], seconds)
            return self._process.poll() is not None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def _describe_end(code: int) -> str:
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    why = " (often the system's memory ran out)" if name == "SIGKILL" else ""
    return f"it was ended by {name}{why}"
