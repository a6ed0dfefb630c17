"""What was done to this process, one layer over the other, taken back in the reverse order.

Each layer remembers what it found, so it can be undone only when those over it have been. One that ends
before them, in another thread or coroutine, waits: settings are the process's, and the last one entered is in
force.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack


class Layer:
    """One thing done. Without an end of its own it lasts until the one below it ends."""

    def __init__(self, stack: ExitStack, own_end: bool) -> None:
        self.stack = stack
        self.own_end = own_end
        self.ended = False


lock = threading.RLock()
_layers: list[Layer] = []  # the last one is in force


def put(stack: ExitStack, *, own_end: bool = True) -> Layer:
    """Lay what was done, and what closing the stack undoes, over the rest; call with the lock held."""
    _layers.append(Layer(stack, own_end))
    return _layers[-1]


def end(layer: Layer) -> None:
    """End a layer: undone, with what has no end of its own over it, once nothing else is over it."""
    with lock:
        layer.ended = True
        while _layers and _is_over(len(_layers) - 1):
            _layers.pop().stack.close()


def take_back() -> None:
    """Undo the topmost layer when it has no end of its own."""
    with lock:
        if _layers and not _layers[-1].own_end:
            _layers.pop().stack.close()


def _is_over(place: int) -> bool:
    while place >= 0 and not _layers[place].own_end:
        place -= 1
    return place >= 0 and _layers[place].ended
