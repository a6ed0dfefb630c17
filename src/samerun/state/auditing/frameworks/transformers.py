"""The checkpoint folders of transformers' Trainer (5.23.0 examined).

https://huggingface.co/docs/transformers/trainer
"""

from __future__ import annotations

from samerun.state.auditing import parts
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework
from samerun.state.auditing.parts import Parts

_MODEL = ("model*.safetensors", "pytorch_model*", "adapter_model*", "global_step*/*model_states.pt")
_OPTIMIZER = ("optimizer.pt", "optimizer.bin", "optimizer_*", "global_step*/*optim_states.pt")
_READ = ("optimizer.pt", "scheduler.pt", "rng_state*.pth", "trainer_state.json")


class Transformers(Framework):
    """A folder checkpoint-N; it fetches the batches that were used again, and throws them away."""

    def recognises(self, given: AuditedFiles) -> bool:
        """By trainer_state.json."""
        return bool(given.matching("trainer_state.json"))

    def find(self, given: AuditedFiles) -> Finding:
        """By the names of the files; generators and counts by form."""
        found = Parts()
        for tree in given.read_all(given.matching(*_READ)):
            found.add(parts.find(tree))
        named = {
            "model": _MODEL,
            "optimizer": _OPTIMIZER,
            "scheduler": ("scheduler.pt",),
            "scaler": ("scaler.pt",),
        }
        found.has |= {part for part, names in named.items() if given.matching(*names)}
        return Finding(
            "transformers",
            found,
            unused=frozenset({"scheduler", "scaler"}),
            why={
                "loader": "the Trainer fetches the used batches again before it restores the generators "
                "(transformers#39215): what follows is drawn from other states"
            },
            only_if={"loader": "it is resumed within an epoch"},
        )
