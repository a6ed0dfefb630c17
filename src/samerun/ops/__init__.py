"""Repeatable implementations of the operations of torch that have none, or a slow one.

`install()` puts them in the place of torch's own in this process, `uninstall()` puts those back, and
`with installed():` does both; `samerun.control(mode="strict")` installs them too. `implementations()` is
the list, with the reason for each.
"""

from samerun.torch_version import require_torch

require_torch("samerun.ops")

from samerun.ops.catalogue import implementations
from samerun.ops.implementation import Implementation
from samerun.ops.installation import (
    available,
    install,
    install_silent,
    installed,
    is_installed,
    reasons,
    uninstall,
)

__all__ = [
    "Implementation",
    "available",
    "implementations",
    "install",
    "install_silent",
    "installed",
    "is_installed",
    "reasons",
    "uninstall",
]
