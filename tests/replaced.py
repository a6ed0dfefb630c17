"""Everything that samerun replaces in a process, called in every form beside what it stands for.

Run as a script: `python replaced.py FOLDER PLAN`, which writes FOLDER/found.json. What is replaced is not
listed here: all modules and classes are looked through before and after the plan is started.
"""

from __future__ import annotations

import concurrent.futures
import inspect
import io
import json
import multiprocessing.pool
import multiprocessing.queues
import os
import random
import sys
import threading
import types
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
import torch.utils.data
from torch.utils.data import dataloader
from torch.utils.data._utils import fetch

from samerun import wrapping

PUT: list[Any] = []
_replace = wrapping.replace


def _noted(owner: Any, name: str, value: Any) -> Any:
    PUT.append(value)
    return _replace(owner, name, value)


wrapping.replace = _noted  # before others of ours take it from there

from samerun.launching import bootstrap  # noqa: E402
from samerun.runs.plan import Plan  # noqa: E402

MISSING = wrapping.MISSING
_SAMERUN = str(Path(wrapping.__file__).parent) + os.sep
_OURS = ("samerun", "replaced", "__main__")
_NEVER_CALLED = {"os.posix_spawn", "os.posix_spawnp"}  # what fails in them is a child


class Odd:
    """A value that nothing takes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Odd()"


def _loss() -> torch.Tensor:
    return (torch.ones(3, requires_grad=True) * 2).sum()


def _iterator() -> Any:
    return iter(torch.utils.data.DataLoader([1, 2, 3]))


def _of_classes() -> dict[str, Any]:
    """An instance for `self`, by the name of the class."""
    return {
        "Random": lambda: random.Random(3),
        "RandomState": lambda: np.random.RandomState(3),
        "Generator": lambda: np.random.default_rng(3),
        "Module": lambda: torch.nn.Identity(),
        "Optimizer": lambda: object.__new__(torch.optim.SGD),
        "GradScaler": lambda: torch.amp.GradScaler("cpu"),
        "DataLoader": lambda: torch.utils.data.DataLoader([1, 2, 3]),
        "_BaseDataLoaderIter": _iterator,
        "_MapDatasetFetcher": lambda: fetch._MapDatasetFetcher([1, 2], False, lambda x: x, False),
        "UntypedStorage": lambda: torch.UntypedStorage(4),
        "Thread": lambda: threading.Thread(target=lambda: None),
        "Future": concurrent.futures.Future,
        "RandomSampler": lambda: torch.utils.data.RandomSampler([1, 2, 3]),
    }


# What a parameter of this name is given; all that is not here gets an Odd.
_VALUES: dict[str, Any] = {
    "seed": lambda: 3,
    "a": lambda: 2,
    "b": lambda: 5,
    "n": lambda: 4,
    "k": lambda: 2,
    "p": lambda: 0.5,
    "numpy.random.bit_generator.randbits.k": lambda: 64,
    "size": lambda: 3,
    "low": lambda: 1,
    "high": lambda: 9,
    "start": lambda: 1,
    "stop": lambda: 9,
    "mu": lambda: 1.0,
    "sigma": lambda: 1.0,
    "alpha": lambda: 1.5,
    "beta": lambda: 1.5,
    "lambd": lambda: 1.0,
    "loc": lambda: 1.0,
    "scale": lambda: 2.0,
    "x": lambda: [3, 1, 2],
    "seq": lambda: [3, 1, 2],
    "population": lambda: [3, 1, 2],
    "path": lambda: ".",
    "tensors": _loss,
    "outputs": _loss,
    "obj": lambda: {"w": torch.ones(2)},
    "f": io.BytesIO,
    "dataset": lambda: [1, 2, 3],
    "params": lambda: [torch.nn.Parameter(torch.ones(2))],
    "defaults": lambda: {"lr": 0.1},
    "data": lambda: [1.0, 2.0],
    "tensor": lambda: torch.ones(3),
    "fs": lambda: [],
}
# The forms that the documentation gives for what has no signature.
_FORMS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "time.strftime": [(("%Y",), {})],
    "time.ctime": [((0,), {})],
    "numpy.empty": [(((2,),), {}), ((), {"shape": (2,), "dtype": "f4"}), ((2,), {"order": "F"})],
    "torch.from_numpy": [((np.ones(2),), {})],
    "torch.frombuffer": [((bytearray(8),), {"dtype": torch.float32})],
    "torch.as_tensor": [(([1, 2],), {}), ((), {"data": [1, 2], "dtype": torch.float64})],
    "torch.from_dlpack": [((torch.ones(2),), {})],
    "random.getrandbits": [((8,), {})],
    "numpy.random.rand": [((2, 3), {})],
    "numpy.random.randint": [((2, 9), {}), ((), {"low": 2, "high": 9, "size": 3, "dtype": "int8"})],
    "numpy.random.normal": [((0, 1, 3), {}), ((), {"loc": 0, "scale": 2, "size": 3})],
    "numpy.random.choice": [(([1, 2, 3],), {"size": 2, "replace": False})],
}


def attributes() -> dict[tuple[int, str], tuple[Any, Any]]:
    """Each attribute of each module and class: (its owner, its value)."""
    found = {}
    owners: dict[int, Any] = {id(m): m for m in list(sys.modules.values()) if isinstance(m, types.ModuleType)}
    for module in list(owners.values()):
        for value in list(vars(module).values()):
            if isinstance(value, type):
                owners.setdefault(id(value), value)
    for key, owner in owners.items():
        name = getattr(owner, "__module__", owner.__name__) if isinstance(owner, type) else owner.__name__
        if str(name).partition(".")[0] not in _OURS:
            found.update({(key, name): (owner, value) for name, value in list(vars(owner).items())})
    return found


def calls(name: str, owner: Any, original: Any) -> Any:
    """Calls of it: each gives new arguments."""
    if name in _NEVER_CALLED:
        return
    yield "nothing", lambda: ((), {})
    yield "a wrong keyword", lambda: ((), {"samerun": 1})
    yield "names of ours", lambda: ((), {"original": 1, "self": 2, "hook": 3, "args": 4, "call": 5})
    yield "too many", lambda: (tuple(Odd() for _ in range(40)), {})
    for number, (args, kwargs) in enumerate(_FORMS.get(name, ())):
        yield f"documented {number}", lambda args=args, kwargs=kwargs: (args, dict(kwargs))
    try:
        parameters = list(inspect.signature(original).parameters.values())
    except (ValueError, TypeError):
        return
    kinds = _of_classes()

    def value(parameter: inspect.Parameter, number: int) -> Any:
        if number == 0 and parameter.name == "self" and isinstance(owner, type):
            return kinds.get(owner.__name__, Odd)()
        return _VALUES.get(f"{name}.{parameter.name}", _VALUES.get(parameter.name, Odd))()

    plain = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    needed = [p for p in plain if p.default is p.empty]
    known = [p for p in plain if p in needed or p.name in _VALUES]
    if name.endswith("Module.__call__"):
        known = []
        yield "a module", lambda: ((torch.nn.Identity(), torch.ones(2)), {})
        yield "by name", lambda: ((torch.nn.Identity(),), {"input": torch.ones(2)})
    for said, chosen in (("needed", needed), ("known", known), ("all", plain)):
        for split in sorted({0, 1, len(chosen) // 2, len(chosen)}):
            yield f"{said}, {split} by position", partial(_arguments, chosen, split, value, parameters)


def _arguments(
    chosen: list[inspect.Parameter], split: int, value: Any, order: list[inspect.Parameter]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for number, parameter in enumerate(chosen):
        positional = parameter.kind is parameter.POSITIONAL_ONLY or (
            number < split and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        )
        given = value(parameter, order.index(parameter))
        if positional and len(args) == order.index(parameter):
            args.append(given)
        elif parameter.kind is not parameter.POSITIONAL_ONLY:
            kwargs[parameter.name] = given
    return tuple(args), kwargs


def outcome(function: Any, make: Any, watch: Any = None) -> Any:
    """What came of a call: the result, or the exception, as text; and what was warned of, by its place.

    `watch` is told of each function that is called meanwhile.
    """
    random.setstate(_RANDOM)
    np.random.set_state(_NUMPY)
    torch.set_rng_state(_TORCH)
    args, kwargs = make()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        sys.setprofile(watch)
        try:
            result = function(*args, **kwargs)
            sys.setprofile(None)
            result = _shown(result)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        finally:
            sys.setprofile(None)
    said = [f"{each.category.__name__} at {Path(each.filename).name}:{each.lineno}" for each in warned]
    return [result, said]


def _shown(result: Any) -> Any:
    kind = result.__class__.__name__
    if isinstance(result, torch.Tensor):
        return f"{kind} {result.dtype} {result.tolist()}"
    if isinstance(result, np.ndarray):
        return f"{kind} {result.dtype} {result.shape} {result.tolist() if result.size < 9 else ''}"
    if isinstance(result, (int, float, str, bytes, np.generic, type(None))):
        return f"{kind} {result!r}"
    if isinstance(result, (list, tuple, dict)):
        return f"{kind} {[_shown(each) for each in list(result)[:9]]}"
    return kind


_ATTEMPTS = 3  # what the system has now (free space, times) may change for the middle one of three calls


def find_seen(original: Any, seen: set[str]) -> Any:
    """What notes the lines of ours on which a warning from within the original would be laid."""
    code = getattr(getattr(original, "__func__", original), "__code__", None)

    def watch(frame: types.FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        at: types.FrameType | None = None
        if frame.f_code is code:
            at = frame.f_back
        elif wrapping.passes_for_its_caller(frame.f_code) and frame.f_locals["original"] == original:  # in C
            at = frame
        while at is not None and at.f_code.co_filename.endswith(wrapping._PASSED_OVER):
            at = at.f_back
        if at is not None and at.f_code.co_filename.startswith(_SAMERUN):
            seen.add(f"{at.f_code.co_filename.removeprefix(_SAMERUN)}:{at.f_lineno}")

    return watch


def differing(name: str, owner: Any, original: Any, ours: Any) -> list[str]:
    """The forms of call in which ours does not do as the original does."""
    seen: set[str] = set()
    watch = find_seen(original, seen)
    said = []
    for form, make in calls(name, owner, original):
        outcome(ours, make, watch)  # apart: some errors are worded otherwise where calls are watched
        for _ in range(_ATTEMPTS):
            first, got, again = (outcome(each, make) for each in (original, ours, original))
            if first != again or name.startswith(("psutil.", "os.times")):  # a clock, entropy; the load
                first, got = ([str(each[0]).partition(" ")[0], each[1]] for each in (first, got))
            if got == first:
                break
        else:
            said.append(f"{name} ({form}): {str(got)[:300]} where the original gives {str(first)[:300]}")
    return [*said, *(f"{name}: a warning would be laid on {place}" for place in sorted(seen))]


def looks(name: str, original: Any, ours: Any) -> list[str]:
    """In what ours does not look like the original."""

    def seen(look: Any, value: Any) -> Any:
        try:
            return look(value)
        except Exception as error:
            return type(error).__name__

    checks = {
        "signature": inspect.signature,
        "getfullargspec": inspect.getfullargspec,
        "name": lambda value: value.__name__,
        "qualified name": lambda value: value.__qualname__,
        "doc": lambda value: value.__doc__,
        "defaults": lambda value: (value.__defaults__, value.__kwdefaults__),
        "callable": callable,
        "isfunction": inspect.isfunction,
        "isbuiltin": inspect.isbuiltin,
        "ismethod": inspect.ismethod,
        "isclass": inspect.isclass,
    }
    return [
        f"{name}: {key} is {seen(look, ours)!r:.200}, not {seen(look, original)!r:.200}"
        for key, look in checks.items()
        if seen(look, original) != seen(look, ours)
    ]


def names_an_argument(ours: Any) -> bool:
    """Whether what stands in has a parameter of its own that a keyword of the caller's could meet."""
    if type(ours) is not types.FunctionType:
        return False
    code = ours.__code__
    return code.co_argcount > code.co_posonlyargcount or code.co_kwonlyargcount > 0


def planted() -> None:
    """Two offenders, so that it is seen that this would find them."""
    before = torch.load

    def load(file: Any, *args: Any, **kwargs: Any) -> Any:
        return before(file, *args, **kwargs)

    load.__wrapped__ = before  # type: ignore[attr-defined]
    torch.load = load
    wrapping.replace(torch, "get_rng_state", lambda: before)


_RANDOM, _NUMPY, _TORCH = random.getstate(), np.random.get_state(), torch.get_rng_state()


def main(folder: Path, plan: Plan, compared: bool) -> None:
    """Start the plan here, look at all that was replaced, and write it down."""
    before = attributes()
    owners = {key for key, _ in before}
    bootstrap.start(plan)
    planted()
    found: list[str] = []
    names: list[str] = []
    for key, (owner, ours) in attributes().items():
        _, original = before.get(key, (owner, None))
        if ours is original or not (callable(original) or callable(ours) or isinstance(ours, classmethod)):
            continue
        if id(owner) not in owners:
            continue  # imported meanwhile, or a class that stands in for another
        if original is None:  # a class had it from a base
            above = getattr(owner, "__mro__", ())[1:]
            original = next((vars(each)[key[1]] for each in above if key[1] in vars(each)), None)
        if original is None:
            continue  # a submodule that was imported
        home = owner.__name__
        if isinstance(owner, type):
            home = f"{owner.__module__}.{home}"
        name = f"{home}.{key[1]}"
        names.append(name)
        if not any(ours is each for each in PUT):
            found.append(f"{name}: replaced past samerun.wrapping.replace")
        if isinstance(original, (classmethod, staticmethod, types.ClassMethodDescriptorType)):
            ours, original = ours.__get__(None, owner), original.__get__(None, owner)
        if names_an_argument(ours):
            found.append(f"{name}: names an argument")
        found += looks(name, original, ours)
        pairs = [(name, owner, original, ours)]
        if isinstance(ours, type):
            pairs = [
                (f"{name}.{method}", original, getattr(original, method), value)
                for method, value in vars(ours).items()
                if hasattr(value, "__samerun_release__")
            ]
        for each in pairs:
            if compared:
                found += differing(*each)
    (folder / "found.json").write_text(json.dumps({"found": sorted(set(found)), "names": sorted(set(names))}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _ = (dataloader, multiprocessing.pool, multiprocessing.queues, psutil)
    main(Path(sys.argv[1]), Plan.from_json(sys.argv[2]), sys.argv[3] == "compared")
