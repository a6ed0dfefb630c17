"""States of devices: what can be shown without one, and with one."""

from __future__ import annotations

import pytest
import torch

from samerun.errors import StateError
from samerun.state import capture, restore
from samerun.state.from_tree import TreeReader, find_device

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_tensors_of_a_device_that_is_not_here_come_back_on_another() -> None:
    assert find_device("cpu") == "cpu"
    assert find_device("hypercube:3") == "cpu"
    place = find_device("cuda:77")
    assert place == (f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cpu")
    tree = {"a": torch.ones(2), "b": [torch.zeros(2)]}
    given = TreeReader(tree).give(tree, ["cuda:77", "cpu"])
    assert str(given["a"].device) == place and str(given["b"][0].device) == "cpu"


def test_a_state_without_the_gpu_in_use_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from samerun.sources.torch_cuda import TorchCuda

    state = capture()
    state["rng"].pop("torch-cuda", None)
    generator = torch.Generator()
    monkeypatch.setattr(TorchCuda, "generators", lambda self: (generator,))
    with pytest.raises(StateError, match="torch-cuda: in use here"):
        restore(state)


@pytest.mark.gpu
@needs_cuda
def test_a_training_on_the_gpu_goes_on_exactly() -> None:
    def begun() -> dict[str, object]:
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        generator = torch.Generator("cuda").manual_seed(1)
        return {"model": model, "optimizer": optimizer, "generator": generator}

    def steps(objects) -> list[float]:
        losses = []
        for _ in range(3):
            noise = torch.rand(8, 4, device="cuda", generator=objects["generator"])
            loss = objects["model"](torch.randn(8, 4, device="cuda") + noise).square().mean()
            objects["optimizer"].zero_grad()
            loss.backward()
            objects["optimizer"].step()
            losses.append(loss.item())
        return losses

    objects = begun()
    steps(objects)
    value = torch.arange(3, device="cuda")
    state = capture(**objects, value=value)
    assert all(tensor.is_cpu for tensor in state["objects"]["model"].values())
    expected = steps(objects)
    fresh = begun()
    restored = restore(state, **fresh)["value"]
    assert steps(fresh) == expected
    assert restored.is_cuda and torch.equal(restored, value)
