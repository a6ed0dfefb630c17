"""Where in the program an operation is: the module that runs, and the line of the user's code."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

from samerun import callsite
from samerun.recording.step_cursor import StepCursor

# by a name of their own: each is asked for at every operation
_node: Callable[[], Any] = torch._C._current_autograd_node  # typed as never None, and is in the forward
_number = torch._C._autograd._get_sequence_nr

_Found = tuple[str | None, str | None]  # module and line


class Places:
    """Finds places; an operation of a backward pass is where its forward ran."""

    def __init__(self, cursor: StepCursor, path: Callable[[], str | None]) -> None:
        self._cursor = cursor
        self._path = path
        self._sites: dict[tuple[CodeType, int], str] = {}
        self._made: dict[int, _Found] = {}  # autograd node → where its forward ran
        self._kept_from = 0
        self._written: dict[type, bool] = {}

    def forget(self) -> None:
        """At the end of a step: what was made before the last one.

        Where steps are made by hand, one ends as the next backward pass begins, whose nodes are made by then.
        """
        self._made = {number: place for number, place in self._made.items() if number >= self._kept_from}
        self._kept_from = _number()

    def find(self) -> _Found:
        """The module that is running, and the line of the user's code."""
        node = _node()
        if node is not None:
            made = self._made.get(node._sequence_nr(), (None, None))
            if self._is_written(node):
                return made[0], self._find_line() or made[1]
            return made
        place = self._path(), self._cursor.site or self._find_line()
        # An operation's autograd node is made just before it is dispatched, and took the last number. That of
        # a torch.autograd.Function, of C++ too, is made before its forward, in which gradients are off.
        self._made.setdefault(_number() - 1, place)
        return place

    def _is_written(self, node: Any) -> bool:
        """Whether its backward pass is the user's Python, which has lines of its own."""
        kind = type(node)
        written = self._written.get(kind)
        if written is None:
            backward = getattr(getattr(kind, "_forward_cls", None), "backward", None)
            code = getattr(backward, "__code__", None)
            written = self._written[kind] = code is not None and callsite.is_user_file(code.co_filename)
        return written

    def find_site(self) -> str | None:
        """The line of the user's code alone."""
        _, site = self.find()
        return site

    def remember_node(self, module: str | None, site: str | None) -> None:
        """The autograd node that was made last ran its forward here, where gradients are off inside."""
        if _node() is None:
            self._made.setdefault(_number() - 1, (module, site))

    def find_line_inside(self) -> str | None:
        """The user's line that runs now, where the line of the record is that of an optimizer's step."""
        frame = None if self._cursor.site is None else callsite.find_user_frame(2)
        return None if frame is None else callsite.call_site(frame)

    def _find_line(self) -> str | None:
        frame = callsite.find_user_frame(5)
        if frame is None:
            return None
        key = frame.f_code, frame.f_lasti  # cheaper than the number of the line
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = callsite.call_site(frame)
        return site
