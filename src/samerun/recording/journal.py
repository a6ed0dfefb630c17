"""Where evidence is written, from the start of the process on, whether torch comes or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samerun.runs.plan import Plan
from samerun.sources import _user_code

if TYPE_CHECKING:
    from samerun.recording.recorder import Recorder

_KEPT = 50_000  # notes kept in memory before a trace is open, and the most that one process writes


class Journal:
    """Keeps evidence in memory until the process has a trace, then writes it there.

    A process that never trains never writes anything.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.recorder: Recorder | None = None
        self.early: list[dict[str, Any]] = []
        self._count = 0
        self._busy = False

    def note(
        self,
        what: str,
        name: str,
        *,
        digest: bytes | None = None,
        inputs: int | None = None,
        value: float | None = None,
        detail: str | None = None,
        user_only: bool = False,
    ) -> None:
        """Write one evidence record, with the line of the user's code that led to it."""
        recorder = self.recorder
        if self._busy or self._count >= _KEPT or (recorder is not None and recorder.local.paused):
            return  # what the recorder itself does is no evidence
        self._busy = True
        try:
            frame = _user_code.user_frame(2)
            if frame is None and user_only:
                return
            self._count += 1
            row = dict(
                what=what,
                name=name,
                call_site=None if frame is None else _user_code.call_site(frame),
                digest=digest,
                inputs=inputs,
                value=value,
                detail=detail,
            )
            if recorder is None:
                self.early.append(row)
            else:
                recorder.evidence(row)
        except Exception as error:  # evidence must never hurt the training
            if recorder is not None:
                recorder.fail(error)
        finally:
            self._busy = False

    def from_user(self) -> bool:
        """Whether the observed call was made by the user's code."""
        return _user_code.user_frame(2) is not None

    def forget(self) -> None:
        """In a forked child: what the parent kept is the parent's to write."""
        self.early.clear()
        self._count = 0
        self._busy = False
