"""Every error samerun raises on purpose.

SamerunError
├── UsageError            the request itself is wrong (exit code 2)
│   ├── CommandNotFound   the command to run does not exist or cannot be executed
│   └── TooLate           a setting can no longer take effect in this process
├── DigestError           a value that has no bytes to digest (a meta or fake tensor, …)
├── RunError              something about runs on disk
│   ├── RunNotFound       no run of that name in the store
│   ├── SchemaError       a manifest or trace of a version this samerun does not know
│   └── TraceError        a trace that cannot be read (truncated before its first batch, corrupt, …)
├── TensorFileError       a checkpoint or a file of tensors that is damaged, or that names code
├── TorchNeeded           torch is missing, or older than samerun works with (also an ImportError)
├── FrameworkNeeded       the framework of an integration is not installed (also an ImportError)
├── StateError            a state that cannot be captured or restored whole
└── RanksDisagree         ranks that must have the same have not

A message says what happened, the value seen, and what to do next.
"""

from __future__ import annotations

import sys

_RAISED_BY_US = (
    frozenset({"samerun", "torch", "numpy", "pyarrow", "xxhash", "triton"}) | sys.stdlib_module_names
)


class SamerunError(Exception):
    """Base of every error samerun raises on purpose."""


class UsageError(SamerunError):
    """The request itself is wrong; the command line exits with 2."""


class CommandNotFound(UsageError):
    """The command to run does not exist or cannot be executed."""


class TooLate(UsageError):
    """A setting can no longer take effect in this process."""


class DigestError(SamerunError):
    """A value that has no bytes to digest, such as a meta tensor."""


class RunError(SamerunError):
    """Something about runs on disk."""


class RunNotFound(RunError):
    """No run of that name in the store."""


class SchemaError(RunError):
    """A manifest or a trace of a version that this samerun does not know."""


class TraceError(RunError):
    """A trace that cannot be read."""


class TensorFileError(SamerunError):
    """A checkpoint or a file of tensors that is damaged, or that names code."""


class TorchNeeded(SamerunError, ImportError):
    """torch is missing, or older than samerun works with."""


class FrameworkNeeded(SamerunError, ImportError):
    """The framework that a module of samerun.integrations is for is not installed."""


class StateError(SamerunError):
    """A state that cannot be captured or restored whole."""


class RanksDisagree(SamerunError):
    """Ranks that must have the same value, or make the same calls, do not."""
