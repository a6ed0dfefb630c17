"""What a run needs to go on exactly: captured and restored, saved and loaded; what a checkpoint lacks."""

from __future__ import annotations

from samerun.torch_version import require_torch

require_torch("samerun.state")

from samerun.state.auditing import Audit, Lack, audit
from samerun.state.capturing import capture
from samerun.state.restoring import restore
from samerun.state.saving import load, save

__all__ = ["Audit", "Lack", "audit", "capture", "load", "restore", "save"]
