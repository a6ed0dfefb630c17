"""What the integrations share: the digest of a step as metrics, and what an exact resume needs of each rank.

A digest becomes three numbers of 16 bits, since loggers do not keep more: TensorBoard stores float32 (24
bits), Ultralytics writes six decimal digits (19 bits). Numbers below 65536 come out of all of them as they
went in.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

import torch

from samerun import ranks, state
from samerun.data.loader import DataLoader
from samerun.data.order import capture_held, check_held, restore_held, walk_holders
from samerun.digest import digest_value
from samerun.errors import StateError, UsageError
from samerun.ranks import exchange
from samerun.state import rngs

BETWEEN: Final = (
    "it was saved between two batches whose gradients are accumulated, and no checkpoint has those "
    "gradients; resume one that was saved after an optimizer step"
)
NAMES: Final = ("samerun/digest", "samerun/digest_2", "samerun/digest_3")
KEY: Final = "samerun"  # in a checkpoint that is a dict
_SCHEMA: Final = 1


def digest_step(modules: Iterable[torch.nn.Module], optimizers: Iterable[Any]) -> dict[str, int]:
    """The first 48 bits of the digest of what a step left behind, as metrics: numbers from 0 to 65535.

    Of every parameter and buffer, in the order of their names, and of the optimizers' states. Changes none of
    them, and moves no generator; waits for the device where they are on one.
    """
    named = [[*module.named_parameters(), *module.named_buffers()] for module in modules]
    states = [_list_state(optimizer) for optimizer in optimizers]
    digest = digest_value([named, states])
    return {name: int.from_bytes(digest[2 * i : 2 * i + 2], "big") for i, name in enumerate(NAMES)}


def _list_state(optimizer: Any) -> list[Any]:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return [optimizer.state.get(parameter) for parameter in parameters]


def capture_ranks(positions: Iterable[Position], *, lost: Iterable[str] = ()) -> dict[str, Any]:
    """The generators and the loaders' positions of every rank, as plain values; every rank must call this.

    `lost`: what the framework itself cannot go on from, in words.
    """
    return {"schema": _SCHEMA, "ranks": _gather(_capture_mine(list(positions), lost))}


def capture_alone(positions: Iterable[Position], *, lost: Iterable[str]) -> dict[str, Any]:
    """As `capture_ranks`, for a framework that saves on one rank without the others."""
    return {"schema": _SCHEMA, "ranks": [_capture_mine(list(positions), lost)]}


def _capture_mine(positions: list[Position], lost: Iterable[str]) -> dict[str, Any]:
    reasons = [*lost, *filter(None, (position.explain_lost() for position in positions))]
    return {"state": state.capture(**_name(positions)), "lost": reasons}


def restore_rank(saved: Any, loaders: Iterable[Any]) -> Mapping[str, Any]:
    """Put back what `capture_ranks` kept of this rank; returns the states of its generators.

    Raises StateError, with nothing changed, where the training could not go on exactly.
    """
    mine = _put_on_cpu(_find_mine(saved))
    if mine["lost"]:
        raise StateError(f"this checkpoint cannot be resumed exactly: {'; '.join(mine['lost'])}")
    state.restore(mine["state"], **_name([Position(loader, middle=True) for loader in loaders]))
    generators: Mapping[str, Any] = mine["state"]["rng"]
    return generators


def restore_generators(generators: Mapping[str, Any]) -> None:
    """Put the generators back once more, where a framework has drawn from them since `restore_rank`."""
    rngs.restore(generators)


def refuse_without_state(where: Any) -> NoReturn:
    """Raise StateError: a checkpoint that was made without the integration."""
    raise StateError(
        f"{where} holds nothing of samerun's, so that this training cannot be resumed exactly: it was made "
        "without this integration. Resume a checkpoint that was made with it, or resume without it"
    )


class Position:
    """Where a loader is, as an object with a state: of a samerun.data.DataLoader the batch, of others the
    generators of their samplers.

    `middle`: the training has had some batches of this pass over the loader, and not the last one; else a
    resume begins the next pass.
    """

    def __init__(self, loader: Any, *, middle: bool = False) -> None:
        self.loader = loader
        self._middle = middle

    def state_dict(self) -> dict[str, Any]:
        """The position of the next batch."""
        loader = self.loader
        if not isinstance(loader, DataLoader):
            return _capture_stock(loader)
        if not self._middle and loader.state_dict()["batch"]:
            loader = copy.copy(loader)  # the framework may have made the epoch shorter than the loader
            loader.set_epoch(loader.epoch + 1)
        return loader.state_dict()

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on from there with the next pass. Raises StateError where the loader is of another kind."""
        if isinstance(self.loader, DataLoader):
            self.loader.load_state_dict(saved)
        elif "batch" in saved:
            raise StateError(
                "the checkpoint was made with a samerun.data.DataLoader, and this loader is a "
                f"{type(self.loader).__name__}; give the training the loader that it had"
            )
        else:
            _restore_stock(self.loader, saved)

    def explain_lost(self) -> str:
        """Why a resume from here on cannot be exact, in words; "" when it can."""
        loader = self.loader
        if isinstance(loader, DataLoader):
            return ""
        kind = f"{type(loader).__module__}.{type(loader).__qualname__}"
        use = "use samerun.data.DataLoader, which takes the arguments of torch's"
        if self._middle:
            return (
                f"it was saved in the middle of an epoch, and {kind} has no position to go on from; {use}, "
                "or resume a checkpoint of the end of an epoch"
            )
        if getattr(loader, "persistent_workers", False) and getattr(loader, "num_workers", 0):
            return f"the generators in the persistent workers of {kind} are in no checkpoint; {use}"
        return ""


def _capture_stock(loader: Any) -> dict[str, Any]:
    sampler, generator = _find_sampler(loader), getattr(loader, "generator", None)
    held, seeds = capture_held(sampler, generator), {}
    for path, holder in walk_holders(sampler):
        # accelerate's SeedableRandomSampler seeds its generator for each pass, from this and the epoch
        if isinstance(getattr(holder, "initial_seed", None), int):
            seeds[path] = holder.initial_seed
            held.pop(f"{path}.generator", None)
    passes = getattr(loader, "iteration", None)  # accelerate's loaders count them
    return {"held": held, "seeds": seeds, "passes": passes if isinstance(passes, int) else None}


def _restore_stock(loader: Any, saved: Mapping[str, Any]) -> None:
    sampler, generator = _find_sampler(loader), getattr(loader, "generator", None)
    here = _capture_stock(loader)
    if saved["seeds"].keys() != here["seeds"].keys() or saved["held"].keys() != here["held"].keys():
        check_held(saved["held"], sampler, generator)  # which says what does not fit
        raise StateError("the loader's sampler is not the one of the checkpoint; build it as it was")
    holders = dict(walk_holders(sampler))
    for path, seed in saved["seeds"].items():
        holders[path].initial_seed = seed
    restore_held(saved["held"], sampler, generator)
    if saved["passes"] is not None:
        loader.set_epoch(saved["passes"])


def _find_sampler(loader: Any) -> Any:
    batches = getattr(loader, "batch_sampler", None)
    return getattr(loader, "sampler", None) if batches is None else batches


def _name(positions: list[Position]) -> dict[str, Position]:
    return {f"loader_{number}": position for number, position in enumerate(positions)}


def _gather(mine: dict[str, Any]) -> list[Any]:
    if ranks.world_size() == 1:
        return [mine]
    file = io.BytesIO()
    torch.save(mine, file)
    every = exchange.gather("samerun.integrations", file.getvalue())
    return [torch.load(io.BytesIO(one), map_location="cpu", weights_only=True) for one in every]


def _find_mine(saved: Any) -> Mapping[str, Any]:
    if not isinstance(saved, Mapping) or not isinstance(saved.get("ranks"), list):
        raise StateError(
            f"the checkpoint's entry {KEY!r} is a {type(saved).__name__} that is not samerun's; resume a "
            "checkpoint that was made with this integration"
        )
    if saved.get("schema") != _SCHEMA:
        raise StateError(
            f"the checkpoint's entry {KEY!r} has schema {saved.get('schema')!r}, and this samerun knows "
            f"{_SCHEMA}; use the samerun that made it"
        )
    every, rank, size = saved["ranks"], ranks.rank(), ranks.world_size()
    if len(every) != size:
        raise StateError(
            f"the checkpoint has the generators of {len(every)} ranks, and there are {size} here; resume "
            f"with {len(every)}"
        )
    mine = every[rank]
    if not isinstance(mine, Mapping) or not isinstance(mine.get("lost"), list) or "state" not in mine:
        raise StateError(f"the checkpoint's entry {KEY!r} has nothing of rank {rank}; take an older one")
    return mine


def _put_on_cpu(tree: Any) -> Any:
    """A framework may load a whole checkpoint to its device, the generators' states too."""
    if isinstance(tree, torch.Tensor):
        return tree.cpu()
    if isinstance(tree, Mapping):
        return {key: _put_on_cpu(item) for key, item in tree.items()}
    return type(tree)(map(_put_on_cpu, tree)) if type(tree) in (list, tuple) else tree


def has_length(loader: Any) -> bool:
    """Whether a loader says how many batches it has; an iterable dataset often does not."""
    try:
        len(loader)
    except (TypeError, NotImplementedError):
        return False
    return True


def seed_from_here(seed: int | None, mode: Any) -> None:
    """`samerun.seed_everything(seed, mode=mode)` when there is a seed; nothing without one."""
    from samerun.controls import seed_everything

    if seed is None:
        if mode != "strict":
            raise UsageError(f"mode={mode!r} without a seed controls nothing; give a seed too")
        return
    seed_everything(seed, mode=mode)
