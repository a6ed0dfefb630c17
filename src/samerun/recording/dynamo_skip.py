"""What torch.compile is to leave as it is: it is told once it is imported.

That import takes a second, and many processes (workers, launchers) never make it.
"""

from __future__ import annotations

import sys
from types import CodeType

NAME = "torch._dynamo"
_known: list[CodeType] = []


def skip(code: CodeType) -> None:
    """Have frames of this code run as they are; what they call is compiled as ever."""
    if NAME in sys.modules:
        sys.modules[NAME].eval_frame.skip_code(code)
    else:
        _known.append(code)


def skip_known() -> None:
    """The compiler was just imported."""
    for code in _known:
        sys.modules[NAME].eval_frame.skip_code(code)
    _known.clear()
