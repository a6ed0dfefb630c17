from __future__ import annotations

import json
import random
import struct

import numpy
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader as Stock

import samerun
from samerun.data import DataLoader
from samerun.errors import StateError, UsageError
from samerun.integrations import training_state
from samerun.integrations.training_state import NAMES, Position, capture_ranks, digest_step, restore_rank


def make() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return net, optimizer


def flip(tensor: torch.Tensor) -> None:
    with torch.no_grad():
        tensor.view(torch.int32).view(-1)[0] ^= 1


def test_one_changed_bit_of_anything_changes_the_digest() -> None:
    net, optimizer = make()
    first = digest_step([net], [optimizer])
    other, its = make()
    assert digest_step([other], [its]) == first and set(first) == set(NAMES)
    parameter = other[0].weight
    for tensor in (parameter, other[1].running_mean, its.state[parameter]["exp_avg_sq"]):
        flip(tensor)
        assert digest_step([other], [its]) != first
        flip(tensor)
    assert digest_step([other], [its]) == first


def test_digesting_moves_nothing() -> None:
    net, optimizer = make()
    before = samerun.digest_value([random.getstate(), numpy.random.get_state(), torch.get_rng_state()])
    versions = [each._version for each in net.parameters()]
    digest_step([net], [optimizer])
    assert [each._version for each in net.parameters()] == versions
    assert before == samerun.digest_value(
        [random.getstate(), numpy.random.get_state(), torch.get_rng_state()]
    )


@pytest.mark.parametrize("value", [0, 1, 40961, 65535])
def test_every_piece_comes_out_of_a_logger_as_it_went_in(value: int) -> None:
    assert struct.unpack("f", struct.pack("f", value))[0] == value  # TensorBoard
    assert float(f"{value:.6g}") == value  # Ultralytics
    assert float(f"{float(value):.4f}") == value and json.loads(json.dumps(float(value))) == value
    assert all(0 <= piece < 1 << 16 for piece in digest_step(*([each] for each in make())).values())


def draw() -> tuple[float, float, float]:
    return random.random(), float(numpy.random.rand()), float(torch.rand(()))


def test_generators_and_position_come_back() -> None:
    loader = DataLoader(torch.arange(12), 4, shuffle=True, seed=0)
    batches = iter(loader)
    next(batches)
    kept = capture_ranks([Position(loader, middle=True)])
    rest, drawn = [batch.tolist() for batch in batches], draw()
    again = DataLoader(torch.arange(12), 4, shuffle=True, seed=0)
    restore_rank(kept, [again])
    assert draw() == drawn
    assert [batch.tolist() for batch in again] == rest != [batch.tolist() for batch in again][1:]


@pytest.mark.parametrize("had", [1, 3])  # the framework's epoch may be shorter than the loader's
def test_at_the_end_of_an_epoch_the_next_one_comes(had: int) -> None:
    loader = DataLoader(torch.arange(12), 4, shuffle=True, seed=0)
    batches = iter(loader)
    for _ in range(had):
        next(batches)
    kept = capture_ranks([Position(loader)])
    again = DataLoader(torch.arange(12), 4, shuffle=True, seed=0)
    restore_rank(kept, [again])
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in loader]
    assert again.epoch == 2


def test_a_stock_loader_has_its_generator_kept_and_no_position() -> None:
    loader = Stock(torch.arange(12), 4, shuffle=True, generator=torch.Generator().manual_seed(3))
    list(loader)
    kept = capture_ranks([Position(loader)])
    order = [batch.tolist() for batch in loader]
    again = Stock(torch.arange(12), 4, shuffle=True, generator=torch.Generator().manual_seed(9))
    restore_rank(kept, [again])
    assert [batch.tolist() for batch in again] == order
    with pytest.raises(StateError, match=r"in the middle of an epoch.*samerun\.data\.DataLoader"):
        restore_rank(capture_ranks([Position(loader, middle=True)]), [again])
    with pytest.raises(StateError, match="give the training the loader that it had"):
        restore_rank(
            capture_ranks(
                [
                    Position(
                        DataLoader(torch.arange(12), 4),
                    )
                ]
            ),
            [again],
        )


def test_persistent_workers_of_a_stock_loader_are_refused() -> None:
    loader = Stock(torch.arange(12), 4, num_workers=1, persistent_workers=True)
    with pytest.raises(StateError, match=r"persistent workers of torch\.utils\.data"):
        restore_rank(capture_ranks([Position(loader)]), [loader])


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda kept: [], "is a list that is not samerun's"),
        (lambda kept: {**kept, "schema": 9}, "has schema 9"),
        (lambda kept: {**kept, "ranks": kept["ranks"] * 2}, "of 2 ranks, and there are 1 here"),
        (lambda kept: {**kept, "ranks": [{}]}, "nothing of rank 0"),
    ],
)
def test_what_is_not_its_own_is_refused(change, said: str) -> None:
    before = draw_state()
    with pytest.raises(StateError, match=said):
        restore_rank(change(capture_ranks([])), [])
    assert draw_state() == before


def draw_state() -> bytes:
    return samerun.digest_value([random.getstate(), torch.get_rng_state()])


def test_what_is_kept_loads_as_weights_only(tmp_path) -> None:
    loader = DataLoader(torch.arange(12), 4, shuffle=True, seed=0)
    torch.save(capture_ranks([Position(loader)]), tmp_path / "kept.pt")
    restore_rank(torch.load(tmp_path / "kept.pt", weights_only=True), [loader])


def test_a_mode_without_a_seed_is_an_error() -> None:
    training_state.seed_from_here(None, "strict")
    with pytest.raises(UsageError, match="without a seed controls nothing"):
        training_state.seed_from_here(None, "seeded")
