"""Generators that a script holds itself, of any library: their states, read and written.

A state may come from a file that a stranger made. What libraries do not look at themselves is checked here
first: numpy and torch take a position beyond their words, and then read memory that is not theirs.
"""

from __future__ import annotations

import operator
import random
import struct
import sys
from collections.abc import Mapping
from typing import Any, Final

from samerun.errors import StateError
from samerun.mersenne import WORDS

_TORCH_CPU: Final = struct.Struct("<QiIQ")  # seed, left until new words are made, seeded, next word
_PHILOX_WORDS: Final = 4
_COUNT: Final = {"n_children_spawned": 0}
_MOST_SPAWNED: Final = 1 << 20


def read(generator: Any) -> Any:
    """The state of a generator; numpy's with arrays in it.

    Of a numpy Generator also its seed sequence, which counts the children that `spawn()` gave.
    """
    if isinstance(generator, random.Random):
        return generator.getstate()
    if _is_torch(generator):
        return generator.get_state()
    import numpy

    if isinstance(generator, numpy.random.RandomState):
        return generator.get_state(legacy=False)
    sequence = _seed_sequence(generator.bit_generator)
    return {**generator.bit_generator.state, **({} if sequence is None else {"seed_seq": sequence})}


def write(generator: Any, state: Any) -> None:
    """Put back what `read` gave, arrays perhaps as lists. Raises StateError for what no generator gives."""
    try:
        if isinstance(generator, random.Random):
            version, internal, gauss = state
            generator.setstate((version, tuple(internal), _number_or_none(gauss)))
        elif _is_torch(generator):
            _write_torch(generator, state)
        else:
            _check_numpy(state)
            _write_numpy(generator, state)
    except StateError:
        raise
    except Exception as error:  # each library's own kinds
        raise StateError(
            f"it is no state of a {type(generator).__name__} ({type(error).__name__}: {error})"
        ) from error


def _is_torch(generator: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever has its generator has imported it
    return torch is not None and isinstance(generator, torch.Generator)


def _write_torch(generator: Any, state: Any) -> None:
    if generator.device.type == "cpu":
        _, left, _, following = _TORCH_CPU.unpack_from(state.numpy().tobytes())
        if left < 1 or following + left - 1 > WORDS:
            raise ValueError(f"position {following} with {left} words left, of {WORDS}")
    generator.set_state(state)


def _write_numpy(generator: Any, state: Any) -> None:
    import numpy

    if isinstance(generator, numpy.random.RandomState):
        generator.set_state(dict(state))
        return
    bits = generator.bit_generator
    before = bits.state
    bits.state = {key: value for key, value in state.items() if key != "seed_seq"}
    try:
        if "seed_seq" in state:  # not in states of before it was kept
            _put_sequence(bits, state["seed_seq"])
    except BaseException:
        bits.state = before
        raise


def _check_numpy(state: Any) -> None:
    if not isinstance(state, Mapping):
        raise TypeError(f"a numpy state is a mapping, not {type(state).__name__}")
    inner = state["state"]
    if state["bit_generator"] == "MT19937":
        _check_within("position", inner["pos"], WORDS)
        if len(inner["key"]) != WORDS:
            raise ValueError(f"{len(inner['key'])} words instead of {WORDS}")
    elif state["bit_generator"] == "Philox":
        _check_within("position", state["buffer_pos"], _PHILOX_WORDS)
    if "gauss" in state:
        float(state["gauss"])
        _check_within("has_gauss", state["has_gauss"], 1)


def _check_within(what: str, value: Any, most: int) -> None:
    if not 0 <= operator.index(value) <= most:
        raise ValueError(f"{what} {value!r} is not one of 0 to {most}")


def _number_or_none(value: Any) -> float | None:
    if value is not None and not isinstance(value, float):
        raise TypeError(f"{value!r} is no number")
    return value


# --- what spawn() counts --------------------------------------------------------------------------------


def _seed_sequence(bits: Any) -> dict[str, Any] | None:
    """numpy's own, as plain values; None for one of another class, which only its class can make anew."""
    import numpy

    sequence = bits.seed_seq
    if type(sequence) is not numpy.random.SeedSequence:
        return None
    entropy = sequence.entropy
    return {
        "entropy": entropy if isinstance(entropy, int | None) else [int(each) for each in entropy],
        "spawn_key": [int(each) for each in sequence.spawn_key],
        "pool_size": int(sequence.pool_size),
        "n_children_spawned": int(sequence.n_children_spawned),
    }


def _put_sequence(bits: Any, wanted: Mapping[str, Any]) -> None:
    import numpy

    now = _seed_sequence(bits)
    if now == wanted:
        return
    _check_within("pool_size", wanted["pool_size"], 1 << 16)
    sequence = numpy.random.SeedSequence(
        wanted["entropy"],
        spawn_key=tuple(wanted["spawn_key"]),
        pool_size=wanted["pool_size"],
        n_children_spawned=wanted["n_children_spawned"],
    )
    replace_sequence(bits, sequence)


def replace_sequence(bits: Any, sequence: Any) -> None:
    """Give a bit generator another seed sequence.

    Before version 2 numpy has no way to: there the one that it has is moved on, when that is enough. Raises
    StateError when it is not, and children were spawned: the next ones would be others.
    """
    try:
        bits.__setstate__((bits.state, sequence))
    except (TypeError, ValueError):
        ahead = sequence.n_children_spawned - bits.seed_seq.n_children_spawned
        if bits.seed_seq.state | _COUNT == sequence.state | _COUNT and 0 <= ahead <= _MOST_SPAWNED:
            bits.seed_seq.spawn(ahead)
        elif sequence.n_children_spawned:
            raise StateError(
                "this numpy cannot put back which children its spawn() gives next; use numpy 2"
            ) from None
