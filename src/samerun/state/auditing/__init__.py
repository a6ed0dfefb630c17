"""Reading the checkpoints of any framework for what they lack; nothing in them is executed."""

from __future__ import annotations

from samerun.state.auditing.audit import audit
from samerun.state.auditing.report import Audit, Lack

__all__ = ["Audit", "Lack", "audit"]
