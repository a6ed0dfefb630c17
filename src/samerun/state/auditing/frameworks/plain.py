"""A dict of a script's own, saved with torch.save: whatever it holds is told by its form."""

from __future__ import annotations

from samerun.state.auditing import parts
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework


class Plain(Framework):
    """Any file, when no other framework recognises it."""

    order = 9

    def recognises(self, given: AuditedFiles) -> bool:
        """Anything but a folder."""
        return not given.files

    def find(self, given: AuditedFiles) -> Finding:
        """By form alone."""
        return Finding("plain", parts.find(given.tree))
