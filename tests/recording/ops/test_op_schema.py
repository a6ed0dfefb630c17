"""Covers `op_schema.py`: what is known of an operation by its schema and its name."""

import pytest
import torch

from samerun.recording.ops.op_schema import learn

aten = torch.ops.aten
COMPUTING = [
    aten.mul_.Tensor, aten.nan_to_num_.default, aten.floor_.default, aten.logical_not_.default,
    aten.eq_.Scalar, aten.cumsum_.default, aten._foreach_div_.Scalar, aten.index_add_.default,
    aten.tril_.default,
]  # fmt: skip
OVERWRITING = [
    aten.copy_.default, aten.zero_.default, aten.fill_.Scalar, aten.normal_.default, aten.uniform_.default,
    aten.random_.default, aten.bernoulli_.float, aten._foreach_copy_.default,
]  # fmt: skip
IN_PART = [aten.index_put_.default, aten.scatter_.src, aten.masked_fill_.Scalar]
LOOKED_AT = [aten.transpose_.default, aten.unsqueeze_.default, aten.resize_.default, aten.set_.source_Tensor]
OTHERS = [aten.mul.Tensor, aten.nan_to_num.out, aten.embedding.default]


@pytest.mark.parametrize("operation", [*COMPUTING, *OVERWRITING, *IN_PART, *LOOKED_AT, *OTHERS], ids=str)
def test_what_computes_with_what_its_tensor_held_before(operation):
    assert learn(operation).computes is (operation in COMPUTING)


@pytest.mark.parametrize("operation", COMPUTING, ids=str)
def test_it_does(operation):
    """Two tensors that hold other values do so after it."""
    more = {"nan_to_num_": (), "floor_": (), "logical_not_": (), "cumsum_": (0,), "tril_": ()}
    name = operation._schema.name.removeprefix("aten::")
    one, other = torch.full((3, 3), 0.0), torch.full((3, 3), 4.0)
    for tensor in (one, other):
        if name.startswith("_foreach"):
            operation([tensor], 2.0)
        elif name == "index_add_":
            operation(tensor, 0, torch.tensor([0]), torch.ones(1, 3))
        else:
            operation(tensor, *more.get(name, (torch.tensor(3.0) if name == "mul_" else 0.0,)))
    assert not torch.equal(one, other)
