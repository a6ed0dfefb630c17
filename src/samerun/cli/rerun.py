"""`samerun rerun`: a recorded run once more, with what its sources gave it."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli.base import add_timeout_option
from samerun.cli.controls import choose_replayed
from samerun.cli.experiment import ExperimentVerb
from samerun.cli.output import add_output_options
from samerun.cli.settings.store import open_store, store_to_record
from samerun.errors import UsageError

if TYPE_CHECKING:
    from samerun.experiments.rerun.rerun import RerunRequest
    from samerun.experiments.rerun.result import RerunResult
    from samerun.experiments.runner import Runner
    from samerun.runs.manifest import Manifest


class Rerun(ExperimentVerb):
    """Replay a recorded run, and compare bit for bit.

    Exits with 0 when it is that run again, 1 when it is not, 3 when it cannot be told.
    """

    name = "rerun"
    summary = (
        "run a recorded command again, given what its sources gave then, and report whether it is that run"
    )
    example = "samerun rerun last"
    usage = "[options] RUN [-- COMMAND]"
    takes_command = False
    may_take_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "recorded",
            metavar="RUN",
            help="an id, the start of one, a folder, last or last~1; its command runs in a copy of its "
            "working directory, so that nothing that the recorded run wrote there is overwritten; COMMAND, "
            "where given, runs in its place, in a copy of this directory",
        )
        parser.add_argument(
            "--only",
            action="append",
            default=None,
            metavar="SOURCE",
            help="replay this source alone (again for more)",
        )
        parser.add_argument(
            "--except",
            dest="without",
            action="append",
            default=[],
            metavar="SOURCE",
            help="replay all sources but this one (again for more)",
        )
        add_timeout_option(parser)
        add_output_options(parser)

    def request(self, options: argparse.Namespace) -> RerunRequest:
        """The recorded run and its command. Raises RunNotFound, and RunError for one that kept nothing."""
        from samerun.experiments.rerun.recorded import read_plan
        from samerun.experiments.rerun.rerun import RerunRequest
        from samerun.launching.command import check_command
        from samerun.runs.secrets_in_text import HIDDEN

        only = None if options.only is None else choose_replayed(options.only, "--only")
        without = choose_replayed(options.without, "--except")
        run = open_store().find(options.recorded)
        read_plan(run)
        command = tuple(options.command) or run.manifest.command
        if HIDDEN in shlex.join(command):
            raise UsageError(
                f"A secret of the command was not kept ({shlex.join(command)}). Name the command with it: "
                f"samerun rerun {options.recorded} -- COMMAND"
            )
        folder = Path.cwd() if options.command else _find_folder(run.manifest)
        check_command(command, folder, os.environ)
        return RerunRequest(
            run, command, folder, store_to_record(ignoring=True), only, without, options.timeout
        )

    def experiment(self, request: RerunRequest, options: argparse.Namespace, runner: Runner) -> RerunResult:
        """Run it again."""
        from samerun.experiments.rerun.rerun import rerun

        return rerun(request, runner)


def _find_folder(manifest: Manifest) -> Path:
    folder = Path(manifest.cwd)
    if not folder.is_dir():
        raise UsageError(
            f"The folder {manifest.cwd}, in which the run was made, is not there; go to where its code is "
            f"now, and name the command: samerun rerun RUN -- {shlex.join(manifest.command)}"
        )
    return folder
