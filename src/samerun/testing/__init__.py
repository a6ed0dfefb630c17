"""Asserts for your own tests: the same run twice, locked bits, a resume from every step, a seed that matters.

Each runs in this process, under `samerun.control(seed, …)`, and leaves the generators and settings as
they were. Each fails with an AssertionError that names the first difference.
"""

from __future__ import annotations

from samerun.torch_version import require_torch

require_torch("samerun.testing")

from samerun.testing.locked import assert_locked
from samerun.testing.resumes_everywhere import assert_resumes_everywhere
from samerun.testing.same_run import assert_same_run
from samerun.testing.seed_sensitive import assert_seed_sensitive

__all__ = ["assert_locked", "assert_resumes_everywhere", "assert_same_run", "assert_seed_sensitive"]
