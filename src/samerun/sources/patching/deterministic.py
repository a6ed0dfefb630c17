"""torch's deterministic algorithms, switched without importing its compiler."""

from __future__ import annotations

import sys
from typing import Any

FILL = "torch.utils.deterministic.fill_uninitialized_memory"
VARIABLE = "TORCHINDUCTOR_DETERMINISTIC"  # what the compiler reads when it is imported


def switch(mode: bool, warn_only: bool) -> None:
    """As `torch.use_deterministic_algorithms`, which takes a second to import the compiler just to tell it.

    A compiler that is imported later learns it from the environment variable.
    """
    import torch

    torch._C._set_deterministic_algorithms(mode, warn_only=warn_only)
    compiler: Any = sys.modules.get("torch._inductor.config")
    if compiler is not None and hasattr(compiler, "deterministic"):  # torch ≥ 2.9
        compiler.deterministic = mode


def get_memory_module() -> Any:
    """The module whose flag `fill_uninitialized_memory` is a property, which type checkers do not see."""
    import torch

    return torch.utils.deterministic
