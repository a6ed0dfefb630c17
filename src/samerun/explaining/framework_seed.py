"""The advice for an unseeded generator in the words of the framework that the user's code trains with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from samerun.editing.edit import NoEdit
from samerun.editing.names import collect_bound, walk_imports
from samerun.editing.source_file import File
from samerun.editing.user_program import Code
from samerun.explaining.cause import Cause
from samerun.explaining.patch import read_code
from samerun.runs.difference import Difference
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources

# Each seeds python, NumPy and torch; the first that the code imports is the one.
_CALLS: Final = {
    "lightning": "lightning.seed_everything(0, workers=True)",
    "pytorch_lightning": "pytorch_lightning.seed_everything(0, workers=True)",
    "transformers": "transformers.set_seed(0)",
    "accelerate": "accelerate.utils.set_seed(0)",
    "ignite": "ignite.utils.manual_seed(0)",
}
_NOTES: Final = {
    "transformers": "before the model is made: TrainingArguments(seed=0) seeds when the Trainer is made",
}
_RUNNER: Final = "Runner(…, randomness=dict(seed=0))  # seeds what is made with the Runner or after it"
_SEEDING: Final = frozenset({"random.seed", "numpy.random.seed", "torch.manual_seed"})


def advise_in_framework(difference: Difference, causes: Iterable[Cause], folder: Path) -> tuple[Cause, ...]:
    """The causes; where one is an unseeded global generator, its advice begins with the framework's form.

    The general one stays: it is what a patch writes.
    """
    listed = tuple(causes)
    if not any(map(_is_unseeded, listed)):
        return listed
    form = _find_form(read_code(difference, folder))
    if form is None:
        return listed
    return tuple(
        replace(cause, advice=f"{form}\nor: {cause.advice}") if _is_unseeded(cause) else cause
        for cause in listed
    )


def _is_unseeded(cause: Cause) -> bool:
    """Whether all that is to be done is to seed a generator that has no seed."""
    source = find_sources().get(cause.source)
    return isinstance(source, Rng) and source.mended_by in _SEEDING and cause.advice == source.advice


def _find_form(code: Code) -> str | None:
    try:
        files = code.files
    except (NoEdit, OSError, ValueError):
        return None
    for package in (*_CALLS, "mmengine"):
        for file in files:
            bound = _bind(file)
            if any(name.partition(".")[0] == package for name in bound.values()):
                if package == "mmengine":
                    return None if any("randomness" in each.text for each in files) else _RUNNER
                return _spell(package, bound)
    return None


def _bind(file: File) -> dict[str, str]:
    """What each name at the top of a file is imported from."""
    return collect_bound(walk_imports(file.tree.body)) if file.tree else {}


def _spell(package: str, bound: dict[str, str]) -> str:
    """The call as this file would write it, with an import where it has none."""
    call = _CALLS[package]
    module, _, function = call.partition("(")[0].rpartition(".")
    short = next((name for name, of in bound.items() if of in (module, f"{module}.pytorch")), None)
    if short is None:
        line = f"from {module} import {function}; {call.removeprefix(module + '.')}"
    else:
        line = short + call.removeprefix(module)
    note = _NOTES.get(package)
    return line if note is None else f"{line}  # {note}"
