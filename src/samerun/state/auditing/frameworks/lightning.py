"""Lightning: https://lightning.ai/docs/pytorch/stable/common/checkpointing_basic.html (2.6.6 examined)."""

from __future__ import annotations

from samerun.sources.torch_cpu import TorchCpu
from samerun.state.auditing import parts
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework
from samerun.state.auditing.report import generators

_VERSION = "pytorch-lightning_version"
_NO_LOADER = (
    "Lightning counts batches, but begins the resumed epoch's order anew unless the loader has a state_dict()"
)


class Lightning(Framework):
    """Saves every part but the generators, and the loader's only when it has a state_dict()."""

    def recognises(self, given: AuditedFiles) -> bool:
        """By the version that it writes."""
        return isinstance(given.tree, dict) and _VERSION in given.tree

    def find(self, given: AuditedFiles) -> Finding:
        """By form: the generators, should a callback have saved them, too."""
        no_generators = "Lightning does not save the generators"
        return Finding(
            "lightning",
            parts.find(given.tree),
            version=str(given.tree[_VERSION]),
            unused=frozenset({"scheduler", "scaler"}),
            why={
                **dict.fromkeys(generators(), no_generators),
                TorchCpu.id: f"{no_generators}: a resumed epoch takes another order, or that of epoch 0",
                "loader": _NO_LOADER,
            },
        )
