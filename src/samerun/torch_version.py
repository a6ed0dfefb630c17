"""The torch that is here: is there one, and is it new enough?

torch is no dependency of the distribution (docs/decisions/0022), so what needs it asks here first.
"""

from __future__ import annotations

import re
import sys

from samerun.errors import TorchNeeded

_OLDEST = (2, 6)
NEEDED = "torch 2.6 or newer"


def require_torch(needing: str) -> None:
    """Import torch for `needing`, a public name. Raises TorchNeeded where torch is missing or too old."""
    why = unusable()
    if why is not None:
        raise TorchNeeded(f"{needing} needs {NEEDED}: {why}")


def unusable() -> str | None:
    """Why samerun cannot use the torch of this Python, and what to do; None when it can. Imports torch."""
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: a library that torch loads is not there
        return absent(error)
    return outdated(torch)


def absent(error: BaseException | None = None) -> str:
    """Words for a torch that cannot be imported: by no finder (None), or because of `error`."""
    here = f"{sys.executable} (Python {sys.version.split()[0]})"
    if error is None or (isinstance(error, ModuleNotFoundError) and error.name == "torch"):
        return f"{here} has no torch. {_install()}"
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{here} cannot import torch ({reason}). {_install()}"


def outdated(torch: object) -> str | None:
    """Words for the module `torch` where it is too old; None where it is not, or does not say its version."""
    version = str(getattr(torch, "__version__", ""))
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) >= _OLDEST:
        return None
    return f"torch {version} in {sys.executable} is too old. {_install()}"


def _install() -> str:
    return f"Install {NEEDED} there: {sys.executable} -m pip install 'torch>={'.'.join(map(str, _OLDEST))}'"
