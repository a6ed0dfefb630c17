"""DeepSpeed, by the names of its files.

https://deepspeed.readthedocs.io/en/latest/model-checkpointing.html
"""

from __future__ import annotations

from samerun.state.auditing import parts
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework
from samerun.state.auditing.parts import Parts
from samerun.state.auditing.report import generators

_MODEL = ("*model_states.pt", "*/*model_states.pt")
_OPTIMIZER = ("*optim_states.pt", "*/*optim_states.pt")


class DeepSpeed(Framework):
    """A folder global_stepN, or the folder that holds it."""

    order = 1

    def recognises(self, given: AuditedFiles) -> bool:
        """By the names of its files."""
        return bool(given.matching(*_MODEL))

    def find(self, given: AuditedFiles) -> Finding:
        """Model and optimizer by the names of the files; the rest from the first file of the model."""
        models = given.matching(*_MODEL)
        first = given.read(models[0])
        held = first if isinstance(first, dict) else {}
        found = Parts() if not held else parts.find({key: held[key] for key in held if key != "module"})
        found.has.add("model")
        if given.matching(*_OPTIMIZER) or held.get("optimizer"):
            found.has.add("optimizer")
        found.scheduled = bool(held.get("lr_scheduler"))
        no_generators = "DeepSpeed does not save the generators: pass their states in client_state"
        return Finding(
            "deepspeed",
            found,
            version=str(held.get("ds_version", "")),
            unused=frozenset({"scheduler"}),
            why={
                **dict.fromkeys(generators(), no_generators),
                "scaler": "none was found in the model's file; with ZeRO it may be in the optimizer's",
            },
        )
