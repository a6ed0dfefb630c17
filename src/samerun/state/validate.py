"""What stands against putting a state back, found before anything is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import torch

from samerun.digest.values import name_type
from samerun.state.trees import MARK, show

About = dict[str, Any]


def describe_thing(thing: Any, kind: str) -> About:
    """What a state says of a thing beside its state: plain values."""
    said: About = {"kind": kind, "type": name_type(type(thing))}
    if kind == "optimizer":
        said["parameters"] = [
            [show(parameter) for parameter in group["params"]] for group in thing.param_groups
        ]
    elif isinstance(thing, torch.Generator):
        said["type"] += f" ({thing.device.type})"
    elif isinstance(thing, numpy.random.Generator):
        said["type"] += f" ({type(thing.bit_generator).__name__})"
    return said


def list_problems(
    name: str, saved: tuple[Any, About], now: tuple[Any, About], *, same_torch: bool
) -> list[str]:
    """What of `saved` (a tree, and what is said of its thing) does not fit `now`, in words."""
    kind = now[1]["kind"]
    if saved[1]["kind"] != kind:
        was = "a plain value" if saved[1]["kind"] == "value" else f"{saved[1]['type']} ({saved[1]['kind']})"
        return [f"{name}: was {was} when saved, and is {now[1]['type']} ({kind}) here"]
    if kind == "value":
        return _check_value(name, saved[0], now[0])
    if kind == "module":
        return _check_module(name, saved[0], now[0])
    found = _check_type(name, kind, saved[1]["type"], now[1]["type"])
    if kind == "optimizer" and not found:
        found = _check_optimizer(name, saved, now, same_torch)
    return found


def _check_module(name: str, saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    found = []
    lacking = [key for key in now if key not in saved]
    extra = [key for key in saved if key not in now]
    if lacking:
        found.append(f"{name}: the state has no {_quote(lacking)}")
    if extra:
        found.append(
            f"{name}: the state has {_quote(extra)}, which the module has not{_prefix(extra, lacking)}"
        )
    for key, tensor in saved.items():
        other = now.get(key)
        if (
            isinstance(tensor, torch.Tensor)
            and isinstance(other, torch.Tensor)
            and show(tensor) != show(other)
        ):
            found.append(f"{name}: {key!r} is {show(tensor)} in the state and {show(other)} here")
    return found


def _check_optimizer(
    name: str, saved: tuple[Any, About], now: tuple[Any, About], same_torch: bool
) -> list[str]:
    groups, here = saved[1]["parameters"], now[1]["parameters"]
    if len(groups) != len(here):
        return [f"{name}: {len(groups)} parameter groups in the state and {len(here)} here"]
    found = []
    for index, (one, two) in enumerate(zip(groups, here, strict=True)):
        was, is_ = saved[0]["param_groups"][index], now[0]["param_groups"][index]
        where = f"{name}: group {index}"
        if len(one) != len(two):
            found.append(f"{where} has {len(one)} parameters in the state and {len(two)} here")
            continue
        options = was.keys() ^ is_.keys()
        if options and same_torch:  # another version's optimizer may have more options, and sets them itself
            found.append(
                f"{where}: only one of the state and the optimizer here has {_quote(sorted(options))}"
            )
        names = was.get("param_names"), is_.get("param_names")
        if None not in names and names[0] != names[1]:
            found.append(f"{where}: its parameters are {names[0]} in the state and {names[1]} here")
        found += [
            f"{where}: parameter {number} is {a} in the state and {b} here"
            for number, (a, b) in enumerate(zip(one, two, strict=True))
            if a != b
        ]
    return found


def _check_value(name: str, saved: Any, now: Any) -> list[str]:
    """Only what is written in place must fit; the rest is returned as it was saved."""
    if isinstance(now, torch.Tensor):
        fits = isinstance(saved, torch.Tensor) and show(saved) == show(now)
    elif isinstance(now, (list, dict)) and _form(now)[0] != "scalar":
        fits = _form(saved) == _form(now)
    else:
        fits = True
    return [] if fits else [f"{name}: was {_describe(saved)} when saved, and is {_describe(now)} here"]


def _form(tree: Any) -> tuple[Any, ...]:
    """What an array or a container written in place must have in common with what was saved."""
    if isinstance(tree, dict) and MARK in tree:
        return tree[MARK], tree.get("dtype"), tree.get("shape")
    return (type(tree),)


def _describe(tree: Any) -> str:
    if isinstance(tree, torch.Tensor):
        return show(tree)
    if isinstance(tree, dict) and MARK in tree:
        return " ".join(str(tree[key]) for key in (MARK, "dtype", "shape") if key in tree)
    return f"a {type(tree).__name__}"


def _check_type(name: str, kind: str, was: str, is_: str) -> list[str]:
    """Classes of one's own may be renamed; torch's and the generators' may not."""
    library = kind == "generator" or (was.startswith("torch.") and is_.startswith("torch."))
    if not library or was.rpartition(".")[2] == is_.rpartition(".")[2]:
        return []
    return [f"{name}: was a {was} when saved, and is a {is_} here"]


def _quote(keys: list[str]) -> str:
    return ", ".join(map(repr, keys))


def _prefix(extra: list[str], lacking: list[str]) -> str:
    """When all that differs is how the module is wrapped, say so."""
    for wrapper, prefix in (("DistributedDataParallel", "module."), ("torch.compile", "_orig_mod.")):
        for wrapped, plain, where in ((extra, lacking, "when saved"), (lacking, extra, "here")):
            if wrapped and sorted(wrapped) == sorted(prefix + key for key in plain):
                return f"; it is inside {wrapper} only {where}"
    return ""
