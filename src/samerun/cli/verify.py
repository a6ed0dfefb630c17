"""`samerun verify`: does this training still give the bits that its lock holds?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import add_launch_options, add_steps_option
from samerun.cli.experiment import ExperimentVerb, request_of
from samerun.cli.output import add_output_options, check_targets, put_out
from samerun.errors import UsageError

if TYPE_CHECKING:
    from samerun.experiments.runner import Runner
    from samerun.experiments.verify.request import VerifyRequest
    from samerun.experiments.verify.result import VerifyResult
    from samerun.runs.store import Store


class Verify(ExperimentVerb):
    """Run the locked command once, and compare with samerun.lock.

    Exits with 0 for the same bits, and within the bounds unless --exact; 1 when it differs, 3 when it is not
    known, 4 when the lock is stale.
    """

    name = "verify"
    summary = "run a locked command again, and report whether it still gives the bits that samerun.lock holds"
    example = "samerun verify --steps 20"
    usage = "[options] [-- COMMAND]"
    takes_command = False
    may_take_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--static",
            action="store_true",
            help="run nothing: compare files, packages and variables alone, in under a second",
        )
        add_steps_option(parser)
        parser.add_argument(
            "--from-checkpoint",
            metavar="FILE",
            help="compare the steps after this checkpoint alone: COMMAND goes on from it; without COMMAND "
            "the locked one, which finds it by itself",
        )
        parser.add_argument(
            "--exact", action="store_true", help="exit with 1 when results are within the bounds only"
        )
        parser.add_argument(
            "--add", action="store_true", help="add this class of machine, and what it gives, to the lock"
        )
        parser.add_argument(
            "--leaves", metavar="FILE", help="what lock --leaves wrote: names the very step that differs"
        )
        parser.add_argument(
            "--no-confirm",
            dest="confirm",
            action="store_false",
            help="name what changed, and the likely cause, without the further runs that confirm it",
        )
        parser.add_argument(
            "--bisect",
            action="store_true",
            help="where it differs, find the first commit since the lock that moved a bit, in a clone",
        )
        add_launch_options(parser)
        add_output_options(parser, "junit")

    def run(self, options: argparse.Namespace) -> int:
        """As every experiment; nothing is run with --static."""
        if not options.static:
            return super().run(options)
        from samerun.experiments.verify.static import verify_static
        from samerun.runs.lock.file import FILE, read_lock

        _refuse_with_static(options)
        check_targets(options)
        path = Path(FILE)
        result = verify_static(read_lock(path), path, Path.cwd())
        put_out(lambda console: self.show(result, options, console), result.to_json, options)
        _write_junit(result, options)
        return self.exit_code(result)

    def request(self, options: argparse.Namespace) -> VerifyRequest:
        """The locked command. Raises UsageError without a lock, RunError for a damaged one."""
        from samerun.experiments.lock.portable_command import make_portable, resolve_command
        from samerun.experiments.verify.request import VerifyRequest
        from samerun.runs.lock.file import FILE, read_lock

        path = Path(FILE)
        lock = read_lock(path)
        if options.add and options.steps is not None:
            raise UsageError("--add needs whole runs; leave --steps out")
        if options.add and options.bisect:
            raise UsageError("--add and --bisect contradict each other; use one of them")
        checkpoint = _find_checkpoint(options)
        command = make_portable(options.command, Path.cwd())[0] if options.command else None
        options.command = options.command or resolve_command(lock)
        if checkpoint is None:
            options.steps = _limit_steps(options.steps, lock.steps, lock.limit)
        else:  # of the segment
            options.steps = options.steps or lock.limit
        leaves = None if options.leaves is None else Path(options.leaves)
        request = request_of(options, lock.make_control(), runs=1, confirm=options.confirm)
        return VerifyRequest(request, lock, path, command, leaves, options.exact, options.add, checkpoint)

    def experiment(self, request: VerifyRequest, options: argparse.Namespace, runner: Runner) -> VerifyResult:
        """Verify, or bisect."""
        if options.bisect:
            from samerun.experiments.verify.bisect import bisect

            return bisect(request, runner)
        from samerun.experiments.verify.verify import verify

        return verify(request, runner)

    def kept(self, request: VerifyRequest, runs: Mapping[str, str]) -> str:
        """Where the run is."""
        return super().kept(request.request, runs)

    def write_files(self, result: VerifyResult, options: argparse.Namespace, request: VerifyRequest) -> None:
        """Write the lock to which this class of machine was added, and --junit."""
        from samerun.runs.lock.file import write_lock

        _write_junit(result, options, request.request.store)
        if result.lock is not None:
            write_lock(result.lock, request.path)

    def exit_code(self, result: VerifyResult) -> int:
        """That of the answer."""
        if result.verdict == "within":
            return exit_codes.DIFFERS if result.exact else exit_codes.SAME
        return exit_codes.STALE if result.verdict == "stale" else exit_codes.OF_VERDICT[result.verdict]


def _refuse_with_static(options: argparse.Namespace) -> None:
    names = ("steps", "from_checkpoint", "add", "exact", "leaves", "bisect")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in (None, False)]
    if given:
        raise UsageError(f"--static runs nothing; leave {', '.join(given)} out")


def _find_checkpoint(options: argparse.Namespace) -> Path | None:
    """That of --from-checkpoint. Raises UsageError for one that is not there, or cannot be used so."""
    if options.from_checkpoint is None:
        return None
    if options.add or options.bisect:
        raise UsageError("--from-checkpoint compares a part of a run; leave --add and --bisect out")
    path = Path(options.from_checkpoint)
    if not path.exists():
        raise UsageError(f"--from-checkpoint {path}: there is no such file or folder")
    return path


def _write_junit(result: VerifyResult, options: argparse.Namespace, store: Store | None = None) -> None:
    """Write --junit; `store` has the run, where there is one."""
    if options.junit is None:
        return
    from samerun.experiments.lookup import Lookup
    from samerun.report.junit_lock import write_verify_junit

    write_verify_junit(result, None if store is None else Lookup(store), options.junit)


def _limit_steps(asked: int | None, locked: int, limit: int | None) -> int | None:
    """How many steps are run: all that the lock has where it is not fewer."""
    return limit if asked is None or asked >= locked else asked
