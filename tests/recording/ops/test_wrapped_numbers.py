"""Numbers that stand in the place of tensors."""

from __future__ import annotations

import torch

from samerun.recording.ops.wrapped_numbers import convert_to_tensors


def test_a_number_for_a_tensor_becomes_one_of_its_kind() -> None:
    x = torch.ones(2)
    for number, kind in ((2, torch.int64), (2.0, torch.float64), (True, torch.bool), (2j, torch.complex128)):
        made = convert_to_tensors(torch.ops.aten.add.Tensor, (x, number))
        assert made is not None
        assert (made[0] is x, made[1].dtype, made[1].item()) == (True, kind, number)


def test_what_is_no_tensor_in_the_schema_is_left() -> None:
    x = torch.ones(2)
    assert convert_to_tensors(torch.ops.aten.add.Scalar, (x, 2)) is None
    assert convert_to_tensors(torch.ops.aten.add.Tensor, (x, x)) is None
    assert convert_to_tensors(len, (x,)) is None
