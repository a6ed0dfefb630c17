"""accelerate's save_state() (1.15.0 examined).

https://huggingface.co/docs/accelerate/usage_guides/checkpoint
"""

from __future__ import annotations

from samerun.state.auditing import parts
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework
from samerun.state.auditing.parts import Parts

_FILES = {
    "model": ("model*.safetensors", "pytorch_model*"),
    "optimizer": ("optimizer*.bin", "optimizer_*"),
    "scheduler": ("scheduler*.bin",),
    "scaler": ("scaler.pt",),
    "loader": ("dl_state_dict*.bin",),
}
_READ = ("optimizer*.bin", "random_states_*.pkl", "custom_checkpoint_*.pkl")
_SEEDABLE = (
    "the sampler's file brings back the order of epoch 0 (accelerate#3996), and which batches were used is "
    "left to skip_first_batches()"
)
_NO_LOADER = "accelerate saves it only with DataLoaderConfiguration(use_stateful_dataloader=True)"


class Accelerate(Framework):
    """A folder; a sampler's file does not bring back its epoch."""

    order = 2

    def recognises(self, given: AuditedFiles) -> bool:
        """By the names of its files."""
        return bool(
            given.matching("random_states_*.pkl")
            or (given.matching("optimizer*.bin") and given.matching(*_FILES["model"]))
        )

    def find(self, given: AuditedFiles) -> Finding:
        """By the names of the files; generators, and what was registered, by form."""
        found = Parts()
        for tree in given.read_all(given.matching(*_READ)):
            found.add(parts.find(tree))
        if not given.matching("custom_checkpoint_*.pkl"):
            found.has.discard("step")  # the one beside the generators counts gradient accumulation
        found.has |= {part for part, names in _FILES.items() if given.matching(*names)}
        ranks = len(given.matching("random_states_*.pkl"))
        return Finding(
            "accelerate",
            found,
            unused=frozenset({"scheduler", "scaler"}),
            why={
                "loader": _SEEDABLE if given.matching("sampler*.bin") else _NO_LOADER,
                "step": "accelerate saves none: pass an object that holds it to register_for_checkpointing()",
            },
            notes=(
                f"generators of {ranks} process{'' if ranks == 1 else 'es'}; load_state() raises nothing "
                "when one of these files is missing or cannot be read",
            ),
        )
