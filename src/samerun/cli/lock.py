"""`samerun lock`: keeps which bits a command gives, in a file of the project."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import (
    add_compatible_option,
    add_control_options,
    add_launch_options,
    add_steps_option,
    choose_control,
)
from samerun.cli.experiment import ExperimentVerb, request_of
from samerun.cli.output import add_output_options, check_file
from samerun.errors import UsageError

if TYPE_CHECKING:
    from samerun.experiments.lock.lock import LockRequest
    from samerun.experiments.lock.result import LockResult
    from samerun.experiments.runner import Runner
    from samerun.runs.lock.content import Lock as Locked
    from samerun.runs.plan import Control


class Lock(ExperimentVerb):
    """Record the command twice under control, and write samerun.lock where both give the same bits."""

    name = "lock"
    summary = "record which bits a command gives, and keep that in samerun.lock"
    example = "samerun lock -- python train.py --epochs 1"
    usage = "[options] [-- COMMAND]"
    takes_command = False
    may_take_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--update",
            action="store_true",
            help="replace the lock that is there, and report which digests moved; without COMMAND it is the "
            "locked one, controlled as it was",
        )
        parser.add_argument(
            "--leaves", metavar="FILE", help="write the digests of every step too, to compare single steps"
        )
        parser.add_argument(
            "--bounds",
            action="store_true",
            help="measure how far losses and metrics move with other threads and instruction sets, for "
            "machines where the bits cannot be equal",
        )
        parser.add_argument(
            "--statement",
            nargs="?",
            const="markdown",
            choices=("markdown", "latex"),
            help="run nothing: print a paragraph for a paper, and answers to checklists, from the lock",
        )
        parser.add_argument(
            "--ro-crate", metavar="DIR", help="run nothing: write the lock and the locked code as an RO-Crate"
        )
        parser.add_argument(
            "--in-toto", metavar="FILE", help="run nothing: write the lock as an in-toto statement, unsigned"
        )
        add_steps_option(parser)
        add_control_options(parser)
        add_compatible_option(parser)
        add_launch_options(parser)
        add_output_options(parser, "junit")

    def run(self, options: argparse.Namespace) -> int:
        """As every experiment; the lock that is there is exported where that is asked for."""
        if not (options.statement or options.ro_crate or options.in_toto):
            return super().run(options)
        made = (options.command, options.update, options.bounds, options.leaves, options.junit)
        if any(value not in (None, False, []) for value in made):
            raise UsageError(
                "--statement, --ro-crate and --in-toto run nothing; leave COMMAND and other options out"
            )
        from samerun.runs.lock.file import FILE, read_lock

        path = Path(FILE)
        _export(read_lock(path), path, options)
        return exit_codes.SAME

    def check_options(self, options: argparse.Namespace) -> None:
        """Refuse what would end without a lock after hours."""
        check_file(options.leaves, "--leaves")

    def request(self, options: argparse.Namespace) -> LockRequest:
        """The command, and the lock before. Raises UsageError for one that is there without --update."""
        from samerun.cli.settings.files import read_settings
        from samerun.experiments.lock.lock import LockRequest
        from samerun.experiments.lock.portable_command import make_portable
        from samerun.runs.lock.file import FILE, read_lock

        path = Path(FILE)
        leaves = None if options.leaves is None else Path(options.leaves)
        if path.exists() and not options.update:
            raise UsageError(
                f"{FILE} is there already. Compare with it: samerun verify; replace it: samerun lock --update"
            )
        before = read_lock(path) if options.update else None
        control = choose_control(options)
        if before is not None and not options.command:
            options.command = _take_command(before)
            control = _take_control(before, options)
            options.steps = options.steps or before.limit
        options.command = options.command or read_settings(Path.cwd()).find_command()
        if not options.command:
            raise UsageError(f"no command to lock; put it after --, for example: {self.example}")
        make_portable(options.command, Path.cwd())  # says at once what cannot be locked
        return LockRequest(request_of(options, control), path, before, leaves, options.bounds)

    def kept(self, request: LockRequest, runs: Mapping[str, str]) -> str:
        """Where the runs are."""
        return super().kept(request.request, runs)

    def experiment(self, request: LockRequest, options: argparse.Namespace, runner: Runner) -> LockResult:
        """Lock."""
        from samerun.experiments.lock.lock import lock

        return lock(request, runner)

    def write_files(self, result: LockResult, options: argparse.Namespace, request: LockRequest) -> None:
        """Write the lock, once it was shown what moved; --leaves and --junit."""
        from samerun.experiments.lock.leaves_file import write_leaves
        from samerun.runs.lock.file import write_lock

        if options.junit is not None:
            from samerun.experiments.lookup import Lookup
            from samerun.report.junit_lock import write_lock_junit

            write_lock_junit(result, Lookup(request.request.store), options.junit)
        if result.lock is None:
            return
        if request.leaves is not None and result.leaves is not None:
            write_leaves(result.leaves, request.leaves)
        write_lock(result.lock, request.path)


def _export(lock: Locked, path: Path, options: argparse.Namespace) -> None:
    """Write what was asked for. Raises UsageError where that cannot be."""
    if options.ro_crate:
        from samerun.report.exports.ro_crate import write_ro_crate

        write_ro_crate(lock, path, Path.cwd(), Path(options.ro_crate))
    if options.in_toto:
        from samerun.report.exports.in_toto import write_in_toto

        write_in_toto(lock, path, Path(options.in_toto))
    if options.statement:
        from samerun.report.exports.statement import write_statement

        print(write_statement(lock, options.statement))


def _take_control(lock: Locked, options: argparse.Namespace) -> Control:
    """As it was locked, but for what the options ask for."""
    from samerun.cli.controls import choose_sources

    control = lock.make_control()
    ids, fill = choose_sources(options.extra)
    return replace(
        control,
        mode=options.mode or control.mode,
        seed=control.seed if options.seed is None else options.seed,
        compatible=options.compatible or control.compatible,
        extra=tuple(dict.fromkeys((*ids, *control.extra))),
        fill=fill or control.fill,
    )


def _take_command(lock: Locked) -> list[str]:
    from samerun.experiments.lock.portable_command import resolve_command

    return list(resolve_command(lock))
