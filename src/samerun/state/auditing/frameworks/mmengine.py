"""MMEngine's runner (0.10.7 examined): https://mmengine.readthedocs.io/en/latest/tutorials/runner.html."""

from __future__ import annotations

from samerun.state.auditing import parts
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework
from samerun.state.auditing.report import generators

_NO_LOADER = (
    "MMEngine does not save it: an interrupted epoch begins anew, or its used batches are fetched again"
)


class MMEngine(Framework):
    """Saves no generators and no position; a resume seeds as at the start."""

    def recognises(self, given: AuditedFiles) -> bool:
        """By the version among what it notes."""
        tree = given.tree
        return (
            isinstance(tree, dict)
            and isinstance(tree.get("meta"), dict)
            and "mmengine_version" in tree["meta"]
        )

    def find(self, given: AuditedFiles) -> Finding:
        """By form."""
        no_generators = "MMEngine does not save the generators: a resume begins with those of the start"
        return Finding(
            "mmengine",
            parts.find(given.tree),
            version=str(given.tree["meta"]["mmengine_version"]),
            unused=frozenset({"scheduler", "scaler"}),
            why={
                **dict.fromkeys(generators(), no_generators),
                "loader": _NO_LOADER,
            },
        )
