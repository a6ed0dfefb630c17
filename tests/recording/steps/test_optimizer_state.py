"""The tensors that an optimizer keeps, found and found again."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from samerun.recording.steps.optimizer_state import State, are_tensors, find
from samerun.recording.trace.tensor_digests import Tensors


def trained() -> tuple[torch.optim.Optimizer, list[torch.Tensor]]:
    parameters: list[torch.Tensor] = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))]
    optimizer = torch.optim.AdamW(parameters)
    sum(parameter.sum() for parameter in parameters).backward()  # type: ignore[union-attr]
    optimizer.step()
    return optimizer, parameters


def test_tensors_and_numbers_in_the_order_of_the_parameters() -> None:
    optimizer, parameters = trained()
    optimizer.state[parameters[0]]["count"] = 3
    found = find(optimizer.state, parameters, ["a", "b"])
    assert found.names == [f"{name}.{key}" for name in "ab" for key in ("step", "exp_avg", "exp_avg_sq")]
    assert found.tensors[1] is optimizer.state[parameters[0]]["exp_avg"]
    assert found.numbers == [("count", 3)]
    assert find({}, parameters, ["a", "b"]).tensors == []


def test_the_same_places_are_read_again_until_something_comes_or_goes() -> None:
    optimizer, parameters = trained()
    found = find(optimizer.state, parameters, ["a", "b"])
    state = State(["a", "b"], found.names, optimizer.state, found)
    optimizer.state[parameters[0]]["exp_avg"] = replaced = torch.zeros(2)
    again = state.values(optimizer.state)
    assert again is not None
    assert (len(again), again[1] is replaced) == (6, True)
    optimizer.state[parameters[0]]["more"] = torch.ones(1)
    assert state.values(optimizer.state) is None


def test_what_holds_numbers_too_is_found_anew_each_time() -> None:
    optimizer, parameters = trained()
    optimizer.state[parameters[1]]["count"] = 3
    found = find(optimizer.state, parameters, ["a", "b"])
    assert State(["a", "b"], found.names, optimizer.state, found).values(optimizer.state) is None


def test_parameters_may_keep_other_things_than_each_other() -> None:
    optimizer, parameters = trained()
    del optimizer.state[parameters[0]]["exp_avg_sq"]
    found = find(optimizer.state, parameters, ["a", "b"])
    again = State(["a", "b"], found.names, optimizer.state, found).values(optimizer.state)
    assert again is not None
    assert list(map(id, again)) == list(map(id, found.tensors))


def test_a_tensor_under_another_key_is_not_taken_for_the_one_that_was_there() -> None:
    optimizer, parameters = trained()
    found = find(optimizer.state, parameters, ["a", "b"])
    state = State(["a", "b"], found.names, optimizer.state, found)
    kept = optimizer.state[parameters[1]]
    kept["other"] = kept.pop("exp_avg")
    assert state.values(optimizer.state) is None


def test_a_number_in_the_place_of_a_tensor_is_not_taken_for_one() -> None:
    optimizer, parameters = trained()
    found = find(optimizer.state, parameters, ["a", "b"])
    state = State(["a", "b"], found.names, optimizer.state, found)
    tensors = Tensors()
    tensors.group("optimizer", found.tensors)
    values = state.values(optimizer.state)
    assert values is not None
    assert tensors.alike("optimizer", values) == tensors.group("optimizer", found.tensors)
    optimizer.state[parameters[1]]["exp_avg"] = 0.5
    values = state.values(optimizer.state)
    assert values is not None
    assert tensors.alike("optimizer", values) is None
    assert not are_tensors(values)


SWITCHING = """
import torch

class Switching(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                self.updates = getattr(self, "updates", 0) + 1
                state["rate"] = torch.ones(1) if self.updates <= 8 else 0.5
                p.data.sub_(p.grad * float(state["rate"]) * 0.1)

net = torch.nn.Linear(2, 1)
optimizer = Switching(net.parameters())
for _ in range(6):
    optimizer.zero_grad()
    net(torch.ones(3, 2)).sum().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_state_whose_tensors_become_numbers_is_recorded_to_the_end(trainer: Any) -> None:
    trainer.script(SWITCHING)
    run = trainer.record("train.py")
    rows = trainer.rows(run, "optimizer")
    assert [row.step for row in rows] == list(range(6))
    names = [row.detail for row in trainer.rows(run, "names") if row.name == "optimizer:Switching"]
    assert [json.loads(detail)[0].rpartition(".")[2] for detail in names] == ["rate", "numbers"]
