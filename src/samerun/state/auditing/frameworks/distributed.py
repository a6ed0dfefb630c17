"""torch.distributed.checkpoint, as FSDP saves: https://pytorch.org/docs/stable/distributed.checkpoint.html."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.python_random import PythonRandom
from samerun.sources.torch_cpu import TorchCpu
from samerun.sources.torch_cuda import TorchCuda
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework
from samerun.state.auditing.parts import Parts
from samerun.tensor_files.pickles import Call

_NAMES = {
    # also by what is in them, under a name of the script's: o.state.0.weight.exp_avg, s.last_epoch
    "optimizer": r"optim|(^|\.)param_groups(\.|$)"
    r"|(^|\.)state\..*\.(step|exp_avg(_sq)?|max_exp_avg_sq|momentum_buffer|square_avg|sum)$",
    "scheduler": r"sched|(^|\.)(last_epoch|_?last_lr|base_lrs|_step_count)(\.|$)",
    "scaler": r"scaler",
    "loader": r"loader|sampler",
    PythonRandom.id: r"(rng|random).*python|python.*(rng|random)",
    NumpyGlobal.id: r"(rng|random).*(numpy|np)\b|(numpy|np).*(rng|random)",
    TorchCuda.id: r"(rng|random).*cuda|cuda.*(rng|random)",
    TorchCpu.id: r"rng|random_state",
    "step": r"(^|\.)(train_state|(global_)?step|epoch|iteration)$",
}


class Distributed(Framework):
    """A folder of shards with an index, .metadata; only the names in the index are looked at."""

    order = 3

    def recognises(self, given: AuditedFiles) -> bool:
        """By the names of its files."""
        return bool(given.matching(".metadata"))

    def find(self, given: AuditedFiles) -> Finding:
        """By the names that were saved."""
        has = {_part_of(name) for name in _list_names(given.read(".metadata"))}
        scheduled = True if "scheduler" in has else None
        return Finding("torch.distributed.checkpoint", Parts(has=has, scheduled=scheduled))


def _part_of(name: str) -> str:
    """The first whose pattern is in the name; a model's parameters have any other."""
    return next((part for part, pattern in _NAMES.items() if re.search(pattern, name.lower())), "model")


def _list_names(index: Any) -> Iterable[str]:
    """The names in `Metadata.state_dict_metadata`."""
    state = index.state if isinstance(index, Call) else None
    saved = state.get("state_dict_metadata") if isinstance(state, dict) else None
    return [name for name in saved if isinstance(name, str)] if isinstance(saved, dict) else []
