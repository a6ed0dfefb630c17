"""Runs a command uncontrolled with every operation recorded, and exits as it does: at_tier_ops.py COMMAND."""

from __future__ import annotations

import sys
from pathlib import Path

from samerun.cli import exit_codes
from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Store

run = record(LaunchRequest(sys.argv[1:], tee=True), Plan(tier="ops"), Workspace(Path.cwd(), Store()))
sys.exit(exit_codes.read_exit_code(run.manifest.exit_code))
