"""What the peers are, and how a test says which fault of which peer it shows."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

# The versions that the table is about; the extra `peers` of pyproject.toml installs the same.
PINS = {
    "lightning": "2.6.6",
    "accelerate": "1.15.0",
    "transformers": "5.23.0",
    "mmengine": "0.10.7",
    "monai": "1.6.1",
    "pytorch-ignite": "0.5.5",
    "torchdata": "0.11.0",
    "grain": "0.2.18",
}


def fault(peer: str, shows: str, *, samerun: str) -> Any:
    """Mark a test class as a row of the table.

    Its `test_peer` passes as long as the peer has the fault; its `test_samerun` shows what samerun does with
    the same work.
    """
    assert peer in PINS
    return pytest.mark.fault(peer=peer, shows=shows, samerun=samerun)


def absent(peer: str) -> str | None:
    """Why the fault of a peer cannot be shown here; None when it can."""
    try:
        found = version(peer)
    except PackageNotFoundError:
        return f"{peer} is not installed; `make peers` installs {peer}=={PINS[peer]}"
    if found != PINS[peer]:
        return f"the table is about {peer} {PINS[peer]}, and {found} is installed"
    return None
