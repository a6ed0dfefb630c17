"""Everything a run needs to go on, put back: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import torch

from samerun import ranks
from samerun.errors import StateError
from samerun.state import kinds as things
from samerun.state import rngs, validate
from samerun.state.capturing import capture
from samerun.state.form import check_form
from samerun.state.from_tree import TreeReader
from samerun.state.to_tree import TreeWriter
from samerun.state.trees import disable_grad, find_differing
from samerun.streams import Stream

State = Mapping[str, Any]

_WRITTEN_IN_PLACE = (torch.Tensor, numpy.ndarray, list, dict, set)


def restore(state: State, /, **objects: Any) -> dict[str, Any]:
    """Put what `capture` gave back into the objects of the same names and the generators; return the plain
    values.

    Everything is checked before anything is touched: names, shapes, dtypes, parameter groups, generators,
    devices. Plain values need not be passed; a tensor, array, list, dict or set that is passed is written in
    place as well. Should an object fail while it is being restored, or hold something else afterwards, all
    are put back as they were. The state can be restored any number of times.

    Raises StateError that names everything that is missing, left over or does not fit.
    """
    restoration = Restoration(state, objects)
    restoration.check()
    return restoration.carry_out()


class Restoration:
    """One state on its way into the objects of this process: checked, carried out, and undone if need be."""

    def __init__(
        self,
        state: State,
        objects: Mapping[str, Any],
        *,
        generators: Mapping[str, Stream] | None = None,
        seeds: Mapping[str, int] | None = None,
    ) -> None:
        """`generators` (by name) and `seeds` (64 bits by RNG source): what is seeded, not restored."""
        self._state = state
        self._objects = objects
        self._generators = generators or {}
        self._seeds = seeds or {}
        self._order: list[tuple[str, str]] = []  # (name, kind)
        self._before: State = {}

    def check(self) -> None:
        """Raise StateError for everything that stands against it; touches nothing."""
        check_form(self._state)
        found = self._about_ranks() + self._about_names()
        found += rngs.list_problems(self._state["rng"], seeded=self._seeds)
        try:
            self._before = capture(**self._objects)
        except StateError as error:
            raise StateError(_describe_nothing([*found, str(error)])) from error
        found += self._about_content()
        if found:
            raise StateError(_describe_nothing(found))
        kinds = [(name, things.find_kind(thing, name)) for name, thing in self._objects.items()]
        self._order = sorted(kinds, key=lambda pair: things.KINDS.index(pair[1]))

    def carry_out(self) -> dict[str, Any]:
        """Restore, and return the plain values; after `check`."""
        try:
            values = self._put()
        except Exception as error:
            raise StateError(f"restoring failed ({type(error).__name__}: {error}){self.undo()}") from error
        except BaseException:
            self.undo()
            raise
        return values

    def undo(self) -> str:
        """Put everything back as it was before; returns how that went, as the end of a message."""
        failed = []
        giver = TreeReader(self._before["objects"], self._before["values"])
        with disable_grad():
            for name, kind in self._order:
                try:
                    _write(giver, self._before, name, kind, self._objects[name])
                except Exception as error:  # the object's own code
                    failed.append(f"{name} ({type(error).__name__}: {error})")
        rngs.restore(self._before["rng"])
        if failed:
            return f"; all is as it was before, except {', '.join(failed)}: start this process anew"
        return "; all is as it was before"

    def _put(self) -> dict[str, Any]:
        giver = TreeReader(self._state["objects"], self._state["values"])
        with disable_grad():
            for name, kind in self._order:
                if name in self._generators:
                    things.reseed(self._objects[name], self._generators[name])
                else:
                    _write(giver, self._state, name, kind, self._objects[name])
            self._verify()
            values = {}
            for name, tree in self._state["values"].items():
                mine = self._objects.get(name)
                values[name] = (
                    mine
                    if isinstance(mine, _WRITTEN_IN_PLACE)
                    else giver.give(tree, self._state["about"][name]["places"])
                )
        self._put_generators()
        return values

    def _put_generators(self) -> None:
        rngs.restore(self._state["rng"])
        _refuse(rngs.list_unrestored(self._state["rng"]))
        rngs.reseed(self._seeds)

    def _verify(self) -> None:
        """Raise StateError when an object does not hold what it was given: its code may pass over a part."""
        other = self._state["torch"] != str(torch.__version__)  # another version's objects may hold more
        found = []
        for name, kind in self._order:
            thing = self._objects[name]
            if name in self._generators or kind == "loader":
                continue  # a loader takes its position when it is next iterated
            if kind == "value" and not isinstance(thing, _WRITTEN_IN_PLACE):
                continue
            now, _ = TreeWriter(copies=False).take(things.read(thing, kind), name)
            more = other or kind == "generator"  # seed sequences are not in states of before they were kept
            found.append(find_differing(_get_tree(self._state, name), now, name, more=more))
        _refuse([one for one in found if one is not None])

    def _about_ranks(self) -> list[str]:
        here = ranks.rank(), ranks.world_size()
        saved = self._state["rank"], self._state["world_size"]
        if here == saved:
            return []
        return [f"the state is of rank {saved[0]} of {saved[1]}, and this is rank {here[0]} of {here[1]}"]

    def _about_names(self) -> list[str]:
        saved, values = self._state["objects"], self._state["values"]
        found = [
            f"{name}: the state has it ({self._state['about'][name]['type']}), and it was not given"
            for name in saved
            if name not in self._objects
        ]
        return found + [
            f"{name}: given, and the state has nothing of that name"
            for name in self._objects
            if name not in saved and name not in values
        ]

    def _about_content(self) -> list[str]:
        saved, now, found = self._state, self._before, []
        versions = saved["torch"], now["torch"]
        for name, about in now["about"].items():
            if name in saved["about"]:
                pair = (_get_tree(saved, name), saved["about"][name]), (_get_tree(now, name), about)
                found += validate.list_problems(name, *pair, same_torch=versions[0] == versions[1])
        return found


def _write(giver: TreeReader, state: State, name: str, kind: str, thing: Any) -> None:
    things.write(thing, kind, giver.give(_get_tree(state, name), state["about"][name]["places"]))


def _get_tree(state: State, name: str) -> Any:
    return state["objects"][name] if name in state["objects"] else state["values"][name]


def _refuse(found: list[str]) -> None:
    if found:
        raise StateError(f"what was restored is not what was saved: {'; '.join(found)}")


def _describe_nothing(found: list[str]) -> str:
    return f"nothing was restored: {'; '.join(found)}"
