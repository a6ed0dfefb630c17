"""A checkpoint of another number of ranks: what of it can be exact, what cannot, and what each rank gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torch.nn.parallel import DistributedDataParallel

from samerun.digest import digest_value
from samerun.errors import StateError
from samerun.state import rngs
from samerun.state.restoring import Restoration
from samerun.state.trees import Places
from samerun.streams import Stream, stream

_Digests = dict[str, bytes]


@dataclass(frozen=True)
class Checkpoint:
    """Rank 0's state, and where those of the other ranks differ from it."""

    state: Mapping[str, Any]
    save: str  # 32 hexadecimal digits
    world_size: int
    per_rank: Mapping[str, tuple[str, ...]]  # the names that differ; of a module, which of its entries
    shared_sources: frozenset[str]  # the RNG sources that were the same on all of several ranks

    @classmethod
    def of(cls, states: Iterable[Mapping[str, Any]], save: str) -> Checkpoint:
        """Of the states of all ranks, in order, which are looked at one at a time."""
        first: Mapping[str, Any] = {}
        things: list[dict[str, _Digests]] = []
        sources: list[_Digests] = []
        for state in states:
            first = first or state
            things.append({name: _list_entries(state, name) for name in state["about"]})
            sources.append({id_: digest_value(rng) for id_, rng in state["rng"].items()})
        names = dict.fromkeys(name for of in things for name in of)
        per_rank = {name: _list_differing([of.get(name, {}) for of in things]) for name in names}
        per_rank = {name: keys for name, keys in per_rank.items() if keys}
        shared = sources[0].keys() - _list_differing(sources) if len(sources) > 1 else ()
        return cls(first, save, len(sources), per_rank, frozenset(shared))

    def refusal(self, world_size: int) -> str:
        """Why it is not restored as if nothing had changed, and what can be."""
        about = self.state["about"]
        exact = [name for name in about if name not in self.per_rank]
        loaders = [name for name in exact if about[name]["kind"] == "loader"]
        text = f"it was saved by {_count_ranks(self.world_size)}, and here {_are(world_size)}. "
        text += f"Exact for any number of ranks: {', '.join(exact) or 'nothing'}"
        if loaders:
            text += f" ({', '.join(loaders)}: while the ranks' batches together are as large as before)"
        text += f". Not: the random streams of each rank ({', '.join(self._streams())})"
        if self.per_rank:
            text += f", and {', '.join(self.per_rank)}, which differed from rank to rank"
        return text + (
            ". load(..., other_world=True) restores what can be exact and gives each rank new streams, "
            "derived from this checkpoint"
        )

    def restoration(self, objects: Mapping[str, Any], rank: int, world_size: int) -> Restoration:
        """What can be exact, on its way into the objects of a rank, with new streams for the rest.

        Raises StateError naming the objects that differed from rank to rank.
        """
        streams = self._generators(objects, rank, world_size)
        lost = [
            name for name in self.per_rank if not (name in streams or self._follows_rank_0(name, objects))
        ]
        given = [
            f"{name} differed from rank to rank ({_list_few(self.per_rank[name])}): leave it "
            "out of load() and "
            "make it anew"
            for name in lost
            if name in objects
        ]
        if given:
            raise StateError(f"nothing was restored: {'; '.join(given)}")
        kept = {name: about for name, about in self.state["about"].items() if name not in lost}
        shared = {id_: self.state["rng"][id_] for id_ in self.shared_sources}
        shared = {id_: state for id_, state in shared.items() if not rngs.explain_misfit(id_, state)}
        seeded = {
            id_ for id_ in (*rngs.list_sources(), *self.state["rng"]) if rngs.is_known(id_)
        } - shared.keys()
        seeds = {id_: self._stream(id_, rank, world_size).seed64 for id_ in sorted(seeded)}
        state = {
            **self.state,
            "rank": rank,
            "world_size": world_size,
            "rng": shared,
            "objects": {name: tree for name, tree in self.state["objects"].items() if name in kept},
            "values": {name: tree for name, tree in self.state["values"].items() if name in kept},
            "about": {
                name: {**about, "places": _drop_index(about["places"])} for name, about in kept.items()
            },
        }
        return Restoration(state, objects, generators=streams, seeds=seeds)

    def _streams(self) -> list[str]:
        generators = [name for name in self.per_rank if self.state["about"][name]["kind"] == "generator"]
        return [id_ for id_ in self.state["rng"] if id_ not in self.shared_sources] + generators

    def _generators(self, objects: Mapping[str, Any], rank: int, world_size: int) -> dict[str, Stream]:
        """New streams for the generators, given by name, that differed from rank to rank."""
        about = self.state["about"]
        names = (name for name in objects if name in self.per_rank and name in about)
        return {
            name: self._stream(name, rank, world_size) for name in names if about[name]["kind"] == "generator"
        }

    def _stream(self, name: str, rank: int, world_size: int) -> Stream:
        return stream(int(self.save, 16), "other-world", name, world_size, rank)

    def _follows_rank_0(self, name: str, objects: Mapping[str, Any]) -> bool:
        """Whether all that differed are buffers which every forward takes from rank 0."""
        model = objects.get(name)
        if not isinstance(model, DistributedDataParallel) or not model.broadcast_buffers:
            return False
        return {*self.per_rank[name]} <= {key for key, _ in model.named_buffers()}


def _list_entries(state: Mapping[str, Any], name: str) -> _Digests:
    """The digests of a thing's state: of a module by key, of all else of the whole."""
    tree = state["objects"].get(name, state["values"].get(name))
    if state["about"][name]["kind"] == "module":
        return {key: digest_value(entry) for key, entry in tree.items()}
    return {"its state": digest_value(tree)}


def _list_differing(each: list[_Digests]) -> tuple[str, ...]:
    """The keys whose digest is not the same in each."""
    keys = dict.fromkeys(key for one in each for key in one)
    return tuple(key for key in keys if any(one.get(key) != each[0].get(key) for one in each))


def _drop_index(places: Places) -> Places:
    """Rank 0's devices as any rank's: its current one of the type."""
    if isinstance(places, str):
        return places.partition(":")[0]
    return [place.partition(":")[0] for place in places]


def _count_ranks(number: int) -> str:
    return f"{number} rank{'' if number == 1 else 's'}"


def _are(number: int) -> str:
    return f"{'is' if number == 1 else 'are'} {number}"


def _list_few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
