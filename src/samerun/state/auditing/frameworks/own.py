"""samerun.state: the names of what was given to capture() or save()."""

from __future__ import annotations

from typing import Any

from samerun.sources.torch_cuda import TorchCuda
from samerun.state.auditing import parts
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework
from samerun.state.auditing.parts import Parts
from samerun.state.form import FORMAT

_PARTS_OF_KINDS = {
    "module": "model",
    **{kind: kind for kind in ("optimizer", "scheduler", "scaler", "loader")},
}


class OwnCheckpoint(Framework):
    """What is not there was not given: schedulers and scalers that are lacking are not in use."""

    def recognises(self, given: AuditedFiles) -> bool:
        """By the format's name and what the format holds."""
        tree = given.tree
        held = ("about", "objects", "rng", "values")
        return (
            isinstance(tree, dict)
            and tree.get("format") == FORMAT
            and all(isinstance(tree.get(key), dict) for key in held)
        )

    def find(self, given: AuditedFiles) -> Finding:
        """By kinds; the generators by their sources."""
        state: dict[str, Any] = given.tree
        kinds = {about.get("kind") for about in state["about"].values() if isinstance(about, dict)}
        found = parts.find([state["objects"], state["values"]])
        has = {_PARTS_OF_KINDS[kind] for kind in kinds if kind in _PARTS_OF_KINDS} | {*state["rng"]}
        has |= found.has & {"step"}
        if "loader" in has:
            has.add("step")  # the epoch, and the batch in it
        why = {"loader": "it was not among the objects: pass the samerun.data.DataLoader to save() as well"}
        only_if = {"loader": "the batches come from a loader rather than from the generators alone"}
        return Finding(
            "samerun",
            Parts(has=has, scheduled=found.scheduled),
            unused=frozenset({"scaler", TorchCuda.id}),
            why=why,
            only_if=only_if,
        )
