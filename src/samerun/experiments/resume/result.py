"""What a resume experiment found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samerun.experiments.check.result import CheckResult
from samerun.experiments.resume.advice import Lack


@dataclass(frozen=True)
class ResumeResult(CheckResult):
    """As for a check; `runs` are all that were recorded, `steps` those compared after the last resume."""

    roles: tuple[str, ...] = ()  # for each run, what was done with it, for people
    resume_with: tuple[str, ...] = ()
    kill_at: tuple[int, ...] = ()  # the steps before which it was killed
    resumed_at: tuple[int, ...] = ()  # for each of these, the step of the whole run that it went on from
    lacked: tuple[Lack, ...] = ()  # what the checkpoint lacked, that of the first difference first

    def to_json(self) -> dict[str, Any]:
        """The values of `--json`: as for a check, then those of a resume."""
        return {
            **super().to_json(),
            "roles": list(self.roles),
            "resume_with": list(self.resume_with),
            "kill_at": list(self.kill_at),
            "resumed_at": list(self.resumed_at),
            "lacked": [
                {"what": lack.what, "evidence": lack.evidence, "advice": lack.advice} for lack in self.lacked
            ],
        }
