"""The comparisons that the tests of this folder rest on can tell one bit."""

from __future__ import annotations

import torch

from .work import Augmented, bits, by_sample, draws


def flipped(batch: torch.Tensor) -> torch.Tensor:
    """A copy in which the last bit of the last draw is the other one."""
    other = batch.clone()
    other.view(torch.int64)[-1, -1] ^= 1
    return other


def test_one_bit_of_one_draw_is_seen() -> None:
    batch = torch.stack([Augmented()[index] for index in range(3)])
    assert bits([batch]) == bits([batch.clone()])
    assert bits([batch]) != bits([flipped(batch)])
    assert [a == b for a, b in zip(draws([batch]), draws([flipped(batch)]), strict=True)] == [
        True,
        True,
        False,
    ]
    one, other = by_sample([batch]), by_sample([flipped(batch)])
    assert one.keys() == other.keys() and one != other


def test_signs_of_zero_and_nans_are_compared_by_their_bits() -> None:
    assert bits([torch.tensor(0.0)]) != bits([torch.tensor(-0.0)])
    assert bits([torch.tensor(float("nan"))]) == bits([torch.tensor(float("nan"))])
