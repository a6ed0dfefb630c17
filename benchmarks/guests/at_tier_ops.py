"""Runs a command uncontrolled with every operation recorded, and exits as it does: at_tier_ops.py COMMAND."""

from __future__ import annotations

import sys
from pathlib import Path

from samerun.cli import exit_codes
from samerun.launching.run import record
from samerun.runs.store import Store

run = record(sys.argv[1:], store=Store(), cwd=Path.cwd(), tier="ops", tee=True)
sys.exit(exit_codes.read_exit_code(run.manifest.exit_code))
