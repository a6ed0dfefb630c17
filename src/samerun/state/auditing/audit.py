"""What a checkpoint lacks for a resume that gives the bits of the run that was never stopped."""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samerun.errors import StateError, UsageError
from samerun.sources.torch_cuda import TorchCuda
from samerun.state import rank_files
from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.frameworks.framework import Finding, Framework
from samerun.state.auditing.report import Audit, Lack, needed


def audit(checkpoint: str | os.PathLike[str] | Mapping[str, Any]) -> Audit:
    """What a checkpoint of any framework lacks for an exact resume.

    Takes a path (a file of torch.save, pickle or safetensors; a folder of accelerate, transformers' Trainer,
    DeepSpeed or torch.distributed.checkpoint) or a dict, and reads outlines alone: no pickle is ever
    executed, and no tensor of a file is loaded. It says what is there, not whether it is right.

    Raises StateError for a path that is not there or is no checkpoint, UsageError for what is neither.
    """
    if isinstance(checkpoint, Mapping):
        return _judge("a dict", AuditedFiles(tree=dict(checkpoint)))
    if not isinstance(checkpoint, (str, os.PathLike)):
        raise UsageError(f"a checkpoint is a path or a dict, not a {type(checkpoint).__name__}; pass either")
    path = Path(checkpoint)
    sizes = {} if path.exists() else rank_files.find_sizes(path)
    if len(sizes) != 1:
        return _judge(str(path), AuditedFiles.at(path))
    ((world_size, present),) = sizes.items()
    first = rank_files.name_file(path, present[0], world_size)
    return _judge(str(first), AuditedFiles.at(first), _audit_ranks(path, world_size))


def _audit_ranks(path: Path, world_size: int) -> tuple[Lack, ...]:
    """What the files of several ranks lack as one checkpoint of samerun."""
    seen = {rank: rank_files.look(rank_files.name_file(path, rank, world_size)) for rank in range(world_size)}
    try:
        rank_files.choose_file(path, seen, 0, world_size)
    except StateError as error:
        return (Lack("ranks", str(error)),)
    return ()


def _judge(checkpoint: str, given: AuditedFiles, others: tuple[Lack, ...] = ()) -> Audit:
    framework = next((each for each in _find_frameworks() if each.recognises(given)), None)
    if framework is None:
        raise StateError(
            f"{checkpoint} is a folder of no framework known here (it holds "
            f"{', '.join(given.files[:6]) or 'nothing'}); pass one of its files"
        )
    finding = framework.find(given)
    has = tuple(part for part in needed() if part in finding.parts.has)
    lacks = tuple(
        _describe_lack(part, finding) for part in needed() if part not in has and _is_needed(part, finding)
    )
    return Audit(checkpoint, finding.framework, finding.version, has, (*lacks, *others), finding.notes)


def _is_needed(part: str, finding: Finding) -> bool:
    """Whether a training like this one may need it."""
    parts = finding.parts
    if part == "scheduler" and parts.scheduled is not None:
        return parts.scheduled  # what the optimizer says counts more than what the framework would do
    if part == TorchCuda.id and parts.places - {"cpu"}:
        return True
    if part in (TorchCuda.id, "scaler") and parts.on_cpu and parts.places == {"cpu"}:
        return False
    return part not in finding.unused


def _describe_lack(part: str, finding: Finding) -> Lack:
    only_if = finding.only_if.get(part, "")
    if part == "scheduler" and finding.parts.scheduled is None:
        only_if = "it uses one"
    if part == "scaler":
        only_if = "it trains with a GradScaler (fp16 autocast)"
    if part == TorchCuda.id and not finding.parts.places - {"cpu"}:
        only_if = "it trains on a GPU"
    return Lack(part, finding.why.get(part, needed()[part]), only_if)


@functools.cache
def _find_frameworks() -> list[Framework]:
    """Found by folder; in their order."""
    import samerun.state.auditing.frameworks as package

    found: list[Framework] = []
    for module in pkgutil.iter_modules(package.__path__):
        for value in vars(importlib.import_module(f"{package.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Framework) and value is not Framework:
                found.append(value())
    return sorted(found, key=lambda each: each.order)
