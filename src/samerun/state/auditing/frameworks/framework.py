"""The one interface of the frameworks whose checkpoints an audit knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from samerun.state.auditing.archives import AuditedFiles
from samerun.state.auditing.parts import Parts


@dataclass
class Finding:
    """What a framework's checkpoint holds, and what the framework is known to do or leave out."""

    framework: str
    parts: Parts
    version: str = ""  # when the checkpoint says so
    unused: frozenset[str] = (
        frozenset()
    )  # parts that the framework would have saved had the training used them
    why: dict[str, str] = field(default_factory=dict)  # for parts lacking: the framework's own reason
    only_if: dict[str, str] = field(default_factory=dict)  # for parts lacking: when they are needed at all
    notes: tuple[str, ...] = ()


class Framework(ABC):
    """One framework: a subclass in a file of its own, found by folder."""

    order: ClassVar[int] = 0  # the lowest that recognises a checkpoint takes it

    @abstractmethod
    def recognises(self, given: AuditedFiles) -> bool:
        """Whether a checkpoint is this framework's."""

    @abstractmethod
    def find(self, given: AuditedFiles) -> Finding:
        """What it holds."""
