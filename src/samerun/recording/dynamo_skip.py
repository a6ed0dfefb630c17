"""What torch.compile is to leave as it is: it is told once it is imported.

That import takes a second, and many processes (workers, launchers) never make it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

NAME = "torch._dynamo"
_known: list[CodeType] = []


def skip(code: CodeType) -> None:
    """Have frames of this code run as they are; what they call is compiled as ever."""
    if NAME in sys.modules:
        sys.modules[NAME].eval_frame.skip_code(code)
    else:
        _known.append(code)


def keep_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which torch.compile neither compiles nor looks into, in code that itself is skipped.

    Torch's own decorator imports the compiler at the first call, for a training that may have no use for it.
    """
    import torch

    disabled: Callable[..., Any] = torch._compile._disable_dynamo(function)

    def call(*arguments: Any, **keywords: Any) -> Any:
        return (disabled if NAME in sys.modules else function)(*arguments, **keywords)

    skip(call.__code__)
    return call


def skip_known() -> None:
    """The compiler was just imported."""
    for code in _known:
        sys.modules[NAME].eval_frame.skip_code(code)
    _known.clear()
