"""Can the memory of a tensor be less than its shape says? Only once a storage was made smaller.

To ask each storage for its size makes an object for each: half of what it costs to digest ten thousand fresh
gradients. So whoever digests them again and again has the one thing noted that makes storages smaller,
`UntypedStorage.resize_`. What torch itself frees is no memory at all then, and has the address 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from samerun.wrapping import Undo, wrap_attribute


class Room:
    """Whether storages must be asked for their size: always, where nobody notes what becomes of them."""

    def __init__(self) -> None:
        self.must_be_asked = True

    def watch(self) -> Undo:
        """Note the first storage that is made smaller, or larger, from here on."""

        def resized(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            self.must_be_asked = True
            return original(*args, **kwargs)

        undo = wrap_attribute(torch.UntypedStorage, "resize_", resized)
        self.must_be_asked = False

        def end() -> None:
            self.must_be_asked = True
            undo()

        return end


room = Room()
