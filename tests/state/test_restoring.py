"""restore(): exact, or not at all.

Covers `rngs.py` and `in_place.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from samerun.data import DataLoader
from samerun.digest import digest_value
from samerun.errors import StateError
from samerun.sources.catalogue import find_sources
from samerun.state import capture, restore

from .training import Training


def test_a_new_training_goes_on_as_the_one_that_was_captured(training: Training) -> None:
    state = capture(**training.objects, epoch=3)
    expected = training.steps(5), training.digest()
    fresh = Training(seed=99)
    fresh.steps(1)
    assert restore(state, **fresh.objects) == {"epoch": 3}
    assert (fresh.steps(5), fresh.digest()) == expected


DRAWS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "python-random": lambda o: (random.random(), random.gauss(0, 1)),
    "numpy-global": lambda o: np.random.standard_normal(3).tolist(),
    "torch-cpu": lambda o: torch.randn(3).tolist(),
    "torch.Generator": lambda o: torch.randn(3, generator=o["torch_"]).tolist(),
    "random.Random": lambda o: (o["python"].random(), o["python"].gauss(0, 1)),
    "PCG64": lambda o: o["pcg"].standard_normal(3).tolist(),
    "MT19937": lambda o: o["mt"].integers(0, 2**32, 3, dtype=np.uint32).tolist(),
    "Philox": lambda o: o["philox"].random(3).tolist(),
    "SFC64": lambda o: o["sfc"].random(3).tolist(),
    "RandomState": lambda o: o["legacy"].standard_normal(1).tolist(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_every_generator_goes_on_where_it_was(name: str) -> None:
    generators = {
        "torch_": torch.Generator().manual_seed(1),
        "python": random.Random(1),
        "pcg": np.random.default_rng(1),
        "mt": np.random.Generator(np.random.MT19937(1)),
        "philox": np.random.Generator(np.random.Philox(1)),
        "sfc": np.random.Generator(np.random.SFC64(1)),
        "legacy": np.random.RandomState(1),
    }
    draw = DRAWS[name]
    draw(generators)  # half of a pair of normal variates is now kept by those that make two at a time
    state = capture(**generators)
    drawn = [draw(generators) for _ in range(3)]
    assert [draw(generators) for _ in range(3)] != drawn
    restore(state, **generators)
    assert [draw(generators) for _ in range(3)] == drawn


def test_generators_are_restored_last() -> None:
    """What draws while it is restored moves none of them."""

    class Draws(nn.Linear):
        def load_state_dict(self, *args, **kwargs):
            torch.rand(5), random.random(), np.random.rand()
            return super().load_state_dict(*args, **kwargs)

    model = Draws(2, 2)
    state = capture(model=model)
    drawn = [torch.rand(1).item(), random.random(), np.random.rand()]
    restore(state, model=model)
    assert [torch.rand(1).item(), random.random(), np.random.rand()] == drawn


# --- what is missing is named, and nothing is touched ------------------------------------------------


def _untouched(training: Training, state: dict[str, Any], objects: dict[str, Any], *says: str) -> None:
    """The state is refused with all of `says`, and the training, generators included, is as it was."""
    before = digest_value(capture(**training.objects))
    with pytest.raises(StateError) as error:
        restore(state, **objects)
    for text in says:
        assert text in str(error.value)
    assert digest_value(capture(**training.objects)) == before


@pytest.mark.parametrize("name", Training().objects)
def test_an_object_that_is_not_given_is_named(training: Training, name: str) -> None:
    state = capture(**training.objects)
    training.steps(1)
    objects = {other: thing for other, thing in training.objects.items() if other != name}
    _untouched(training, state, objects, f"{name}: the state has it", "not given")


@pytest.mark.parametrize("name", Training().objects)
def test_an_object_that_the_state_lacks_is_named(training: Training, name: str) -> None:
    objects = {other: thing for other, thing in training.objects.items() if other != name}
    state = capture(**objects)
    training.steps(1)
    _untouched(training, state, training.objects, f"{name}: given")


@pytest.mark.parametrize("source", ["python-random", "numpy-global", "torch-cpu"])
def test_a_generator_that_the_state_lacks_is_named(training: Training, source: str) -> None:
    state = capture(**training.objects)
    del state["rng"][source]
    training.steps(1)
    _untouched(training, state, training.objects, f"{source}: in use here")


def test_devices_that_this_process_lacks_are_named(training: Training) -> None:
    state = capture(**training.objects)
    state["rng"]["torch-cuda"] = [bytes(16)] * 3
    state["rng"]["quantum"] = 1
    here = torch.cuda.device_count()
    _untouched(
        training,
        state,
        training.objects,
        *(
            f"torch-cuda: the state has the generators of 3 cuda devices, and this process has {here}",
            "quantum",
        ),
    )


def test_everything_is_named_at_once(training: Training) -> None:
    state = capture(**training.objects)
    objects = {**training.objects, "model": nn.Linear(4, 8), "extra": nn.Linear(1, 1), "new": 1}
    del objects["scaler"], state["rng"]["python-random"]
    says = ["scaler:", "extra:", "new:", "python-random:", "model: the state has no 'weight', 'bias'"]
    says += ["which the module has not"]
    _untouched(training, state, objects, *says)


class NotStrict(nn.Linear):
    """Passes over what does not fit, as many subclasses do."""

    def load_state_dict(self, state, strict=True, assign=False):
        own = self.state_dict()
        fits = {key: value for key, value in state.items() if key in own and value.shape == own[key].shape}
        return super().load_state_dict(fits, strict=False)


@pytest.mark.parametrize("cls", [nn.Linear, NotStrict])
@pytest.mark.parametrize(
    ("saved", "says"),
    [
        (lambda: nn.Linear(3, 2, bias=False), "model: the state has no 'bias'"),
        (lambda: nn.Linear(4, 2), "model: 'weight' is float32[2, 4] in the state and float32[2, 3] here"),
        (
            lambda: nn.Linear(3, 2, dtype=torch.float64),
            "'weight' is float64[2, 3] in the state and float32[2, 3]",
        ),
        (lambda: nn.Sequential(nn.Linear(3, 2)), "'0.weight', '0.bias', which the module has not"),
    ],
    ids=["key", "shape", "dtype", "unexpected"],
)
def test_a_module_that_does_not_fit_is_refused(
    training: Training, cls: type[nn.Linear], saved: Callable[[], nn.Module], says: str
) -> None:
    state = capture(model=saved())
    model = cls(3, 2)
    before = digest_value(model.state_dict())
    _untouched(training, state, {"model": model}, says)
    assert digest_value(model.state_dict()) == before


@pytest.mark.parametrize(
    ("prefix", "says"), [("module.", "DistributedDataParallel"), ("_orig_mod.", "torch.compile")]
)
def test_a_wrapped_module_is_named_as_such(prefix: str, says: str) -> None:
    model = nn.Linear(2, 2)
    wrapped = nn.Module()
    wrapped.add_module(prefix[:-1], model)
    with pytest.raises(StateError, match=f"inside {says} only when saved"):
        restore(capture(model=wrapped), model=model)
    with pytest.raises(StateError, match=f"inside {says} only here"):
        restore(capture(model=model), model=wrapped)


def _parameters(*shapes: tuple[int, ...]) -> list[nn.Parameter]:
    return [nn.Parameter(torch.zeros(shape)) for shape in shapes]


ADAMW = [{"params": _parameters((2, 3), (2,))}, {"params": _parameters((4,))}]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: torch.optim.SGD(_parameters((1,))), "was a torch.optim.adamw.AdamW when saved"),
        (lambda: torch.optim.Adam(ADAMW), "is a torch.optim.adam.Adam here"),
        (
            lambda: torch.optim.AdamW(_parameters((2, 3), (2,), (4,))),
            "2 parameter groups in the state and 1 here",
        ),
        (
            lambda: torch.optim.AdamW([{"params": _parameters((2, 3))}, {"params": _parameters((4,))}]),
            "group 0 has 2 parameters in the state and 1 here",
        ),
        (
            lambda: torch.optim.AdamW([{"params": _parameters((2,), (2, 3))}, {"params": _parameters((4,))}]),
            "group 0: parameter 0 is float32[2, 3] in the state and float32[2] here",
        ),
    ],
    ids=["class", "sibling", "groups", "sizes", "order"],
)
def test_an_optimizer_that_does_not_fit_is_refused(
    training: Training, make: Callable[[], torch.optim.Optimizer], says: str
) -> None:
    state = capture(optimizer=torch.optim.AdamW(ADAMW))
    _untouched(training, state, {"optimizer": make()}, says)


def test_parameters_of_one_shape_in_another_order_are_refused() -> None:
    a, b = _parameters((2,), (2,))
    state = capture(optimizer=torch.optim.AdamW([("a", a), ("b", b)]))
    with pytest.raises(StateError, match="its parameters are"):
        restore(state, optimizer=torch.optim.AdamW([("b", b), ("a", a)]))


def test_a_scheduler_of_another_class_is_refused(training: Training) -> None:
    state = capture(scheduler=torch.optim.lr_scheduler.StepLR(training.optimizer, 3))
    other = torch.optim.lr_scheduler.ExponentialLR(training.optimizer, 0.1)
    _untouched(training, state, {"scheduler": other}, "StepLR when saved", "ExponentialLR here")


@pytest.mark.parametrize(
    ("saved", "here"),
    [
        (torch.Generator(), random.Random()),
        (random.Random(), np.random.default_rng()),
        (np.random.default_rng(), np.random.Generator(np.random.Philox())),
        (nn.Linear(1, 1), 3),
        (3, nn.Linear(1, 1)),
        (torch.zeros(2), torch.zeros(3)),
        (torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
        (np.zeros(2), np.zeros(3)),
        ([1], {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_thing_of_another_kind_is_refused(training: Training, saved: Any, here: Any) -> None:
    _untouched(training, capture(thing=saved), {"thing": here}, "thing:", "when saved", "here")


@pytest.mark.parametrize(
    "state",
    [{}, {"model": {}}, {"format": "samerun.state", "schema": 2}, None],
    ids=["empty", "other", "newer", "none"],
)
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(StateError, match=r"samerun\.state\.capture|schema 2"):
        restore(state)


def test_a_state_of_another_rank_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    state = capture()
    monkeypatch.setenv("RANK", "2")
    with pytest.raises(StateError, match="of rank 1 of 4, and this is rank 2 of 4"):
        restore(state)


# --- should it fail half way nevertheless --------------------------------------------------------------


class Fails:
    """Takes the first key, then raises; on being put back, it works."""

    def __init__(self) -> None:
        self.kept = {"a": torch.zeros(2), "b": torch.zeros(2)}
        self.fails: BaseException | None = None

    def state_dict(self):
        return self.kept

    def load_state_dict(self, state):
        self.kept["a"].copy_(state["a"])
        if self.fails is not None:
            error, self.fails = self.fails, None
            raise error
        self.kept["b"].copy_(state["b"])


@pytest.mark.parametrize(
    ("error", "raised"), [(KeyError("b"), StateError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_a_failure_half_way_puts_everything_back(
    training: Training, error: BaseException, raised: type[BaseException]
) -> None:
    fails, notes = Fails(), [1.0]
    objects = {**training.objects, "zz": fails, "notes": notes}
    state = capture(**objects)
    training.steps(2)
    notes.append(2.0)
    fails.kept["a"] += 1
    fails.fails = error
    before = digest_value(capture(**objects))
    with pytest.raises(raised) as info:
        restore(state, **objects)
    if raised is StateError:
        assert "all is as it was before" in str(info.value) and "KeyError" in str(info.value)
    assert digest_value(capture(**objects)) == before


def test_an_optimizer_that_had_no_state_has_none_again() -> None:
    model, fails = nn.Linear(2, 2), Fails()
    stepped = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    stepped.step()
    state = capture(optimizer=stepped, z=fails)
    fresh = torch.optim.AdamW(model.parameters())
    fails.fails = ValueError("no")
    with pytest.raises(StateError, match="all is as it was"):
        restore(state, optimizer=fresh, z=fails)
    assert not fresh.state


def test_what_could_not_be_put_back_is_said() -> None:
    class Stuck(Fails):
        def load_state_dict(self, state):
            raise RuntimeError("stuck")

    model, stuck = nn.Linear(1, 1), Stuck()
    state = capture(model=model, stuck=stuck)
    with pytest.raises(StateError, match=r"except stuck \(RuntimeError: stuck\): start this process anew"):
        restore(state, model=model, stuck=stuck)


def test_an_object_that_passes_over_a_part_is_found_out(training: Training) -> None:
    class Forgets(Fails):
        def load_state_dict(self, state):
            self.kept["a"].copy_(state["a"])

    forgets = Forgets()
    objects = {**training.objects, "forgets": forgets}
    state = capture(**objects)
    training.steps(1)
    forgets.kept["b"][1] += 2.0**-20  # one thing that restoring will not put right
    _untouched(training, state, objects, "forgets['b'] has other bits", "all is as it was before")


def test_a_generator_that_does_not_take_its_state_is_found_out(
    training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = capture(**training.objects)
    random.random()
    monkeypatch.setattr(type(find_sources()["python-random"]), "restore", lambda self, state: None)
    with pytest.raises(StateError, match="python-random"):
        restore(state, **training.objects)


# --- by kind ---------------------------------------------------------------------------------------------


def test_moments_keep_their_dtype() -> None:
    """torch casts them to the parameter's, which would lose bits."""
    parameter = nn.Parameter(torch.zeros(3, dtype=torch.bfloat16))
    optimizer = torch.optim.SGD([parameter], momentum=0.9)
    exact = torch.tensor([1 / 3, 1e-9, 7.0])
    optimizer.state[parameter]["momentum_buffer"] = exact
    state = capture(optimizer=optimizer)
    fresh = torch.optim.SGD([parameter], momentum=0.9)
    fresh.load_state_dict(optimizer.state_dict())
    assert fresh.state[parameter]["momentum_buffer"].dtype is torch.bfloat16  # what torch alone does
    restore(state, optimizer=fresh)
    assert digest_value(fresh.state[parameter]["momentum_buffer"]) == digest_value(exact)


SCHEDULERS = torch.optim.lr_scheduler


@pytest.mark.parametrize(
    "make",
    [
        lambda o: SCHEDULERS.StepLR(o, 2),
        lambda o: SCHEDULERS.MultiStepLR(o, [2, 4]),
        lambda o: SCHEDULERS.LambdaLR(o, lambda epoch: 0.9**epoch),
        lambda o: SCHEDULERS.CosineAnnealingWarmRestarts(o, 3),
        lambda o: SCHEDULERS.CyclicLR(o, 0.1, 0.2, step_size_up=3, cycle_momentum=False),
        lambda o: SCHEDULERS.SequentialLR(
            o, [SCHEDULERS.ConstantLR(o, 0.1, 2), SCHEDULERS.ExponentialLR(o, 0.9)], [2]
        ),
        lambda o: SCHEDULERS.ChainedScheduler([SCHEDULERS.ConstantLR(o), SCHEDULERS.ExponentialLR(o, 0.9)]),
        pytest.param(
            lambda o: torch.optim.swa_utils.SWALR(o, 0.01, anneal_epochs=4),
            marks=pytest.mark.skipif(torch.__version__ < "2.7", reason="its state is no plain value there"),
        ),
    ],
    ids=["step", "multistep", "lambda", "restarts", "cyclic", "sequential", "chained", "swa"],
)
@pytest.mark.parametrize("tensor_lr", [False, True])
def test_learning_rates_go_on(make: Callable[[torch.optim.Optimizer], Any], tensor_lr: bool) -> None:
    def begun() -> dict[str, Any]:
        lr = torch.tensor(0.1) if tensor_lr else 0.1
        optimizer = torch.optim.SGD(_parameters((1,)), lr=lr)
        return {"scheduler": make(optimizer), "optimizer": optimizer}

    def rates(objects: dict[str, Any]) -> list[float]:
        found = []
        for _ in range(4):
            objects["optimizer"].step()
            objects["scheduler"].step()
            found.append(float(objects["optimizer"].param_groups[0]["lr"]))
        return found

    objects = begun()
    rates(objects)
    state = capture(**objects)
    expected = rates(objects)
    fresh = begun()
    restore(state, **fresh)
    assert rates(fresh) == expected
    assert rates(begun()) != expected


def test_plateau_goes_on() -> None:
    optimizer = torch.optim.SGD(_parameters((1,)), lr=0.1)
    scheduler = SCHEDULERS.ReduceLROnPlateau(optimizer, patience=1)
    for _ in range(2):
        scheduler.step(1.0)
    state = capture(scheduler=scheduler, optimizer=optimizer)
    other = torch.optim.SGD(_parameters((1,)), lr=0.1)
    fresh = SCHEDULERS.ReduceLROnPlateau(other, patience=1)
    restore(state, scheduler=fresh, optimizer=other)
    fresh.step(1.0)
    assert other.param_groups[0]["lr"] == pytest.approx(0.01)


def test_what_was_one_tensor_is_one_tensor_again() -> None:
    """Between two objects that take over what they are given."""

    class Holds:
        def __init__(self, held: torch.Tensor) -> None:
            self.held = held

        def state_dict(self):
            return {"held": self.held}

        def load_state_dict(self, state):
            self.held = state["held"]

    shared = torch.zeros(3)
    a, b, c = Holds(shared), Holds(shared), Holds(torch.zeros(3))
    state = capture(a=a, b=b, c=c)
    restore(state, a=a, b=b, c=c)
    a.held += 1
    assert (b.held.tolist(), c.held.tolist(), shared.tolist()) == ([1, 1, 1], [0, 0, 0], [0, 0, 0])


def test_a_scaler_that_is_off_is_not_passed_over() -> None:
    state = capture(scaler=torch.amp.GradScaler("cpu"))
    with pytest.raises(StateError, match="scaler"):
        restore(state, scaler=torch.amp.GradScaler("cpu", enabled=False))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_goes_on_at_its_position(workers: int) -> None:
    loader = DataLoader(list(range(40)), 4, shuffle=True, seed=3, num_workers=workers)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = capture(loader=loader)
    expected = [batch.tolist() for batch in iterator], [batch.tolist() for batch in loader]
    fresh = DataLoader(list(range(40)), 4, shuffle=True, seed=3, num_workers=workers)
    restore(state, loader=fresh)
    assert ([batch.tolist() for batch in fresh], [batch.tolist() for batch in fresh]) == expected
    assert len(expected[0]) == 7


def test_a_loader_of_other_data_is_refused_and_nothing_changed(training: Training) -> None:
    state = capture(**training.objects, loader=DataLoader(list(range(40)), 4, seed=3))
    training.steps(1)
    other = DataLoader(list(range(80)), 4, seed=3)
    _untouched(training, state, {**training.objects, "loader": other}, "batches", "all is as it was before")


# --- plain values ------------------------------------------------------------------------------------------


def test_values_are_returned_and_the_given_ones_written_in_place() -> None:
    tensor, array = torch.arange(3.0, requires_grad=True), np.arange(3)
    values = {"tensor": tensor, "array": array, "list": [1], "dict": {"a": 1}, "set": {1}, "epoch": 1}
    state = capture(**values, step=7)
    with torch.no_grad():
        tensor.add_(1)
    array += 1
    values["list"].append(2)
    values["dict"]["b"] = 2
    values["set"].add(2)
    returned = restore(state, **{**values, "epoch": 5})
    assert returned["tensor"] is tensor and tensor.tolist() == [0, 1, 2] and tensor.is_leaf
    assert returned["array"] is array and array.tolist() == [0, 1, 2]
    assert (values["list"], values["dict"], values["set"]) == ([1], {"a": 1}, {1})
    assert (returned["epoch"], returned["step"]) == (1, 7)


def test_returned_values_are_the_callers_own() -> None:
    state = capture(history=[1], tensor=torch.zeros(2))
    for _ in range(2):
        values = restore(state)
        assert values["history"] == [1] and values["tensor"].tolist() == [0, 0]
        values["history"].append(2)
        values["tensor"] += 1


@pytest.mark.parametrize("kind", [list, dict, tuple])
def test_a_functional_training_goes_on_from_the_tensors_that_its_optimizer_has(kind: type) -> None:
    """Leaf tensors in a plain container: new ones would be trained by nobody."""

    def build(seed: int) -> tuple[Any, torch.optim.Optimizer]:
        torch.manual_seed(seed)
        leaves = [torch.randn(3, requires_grad=True), torch.nn.Parameter(torch.randn(3))]
        params: Any = {str(n): leaf for n, leaf in enumerate(leaves)} if kind is dict else [kind(leaves)]
        return params, torch.optim.Adam(leaves, lr=0.1)

    def train(params: Any, optimizer: torch.optim.Optimizer) -> list[float]:
        losses = []
        for _ in range(4):
            held = list(params.values()) if kind is dict else list(params[0])
            loss = torch.stack([leaf.square().sum() for leaf in held]).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    params, optimizer = build(0)
    train(params, optimizer)
    state = capture(params=params, optimizer=optimizer)
    straight = train(params, optimizer)
    params, optimizer = build(1)
    returned = restore(state, params=params, optimizer=optimizer)
    assert train(params, optimizer) == straight
    assert returned["params"] is params


def test_what_does_not_fit_is_replaced_and_what_does_is_written_in_place() -> None:
    shared, wide, frozen = torch.zeros(2), torch.zeros(1).expand(2), np.zeros(2)
    frozen.flags.writeable = False
    inner: dict[str, Any] = {"long": torch.zeros(3), "kept": torch.zeros(2), "deep": [torch.zeros(1)]}
    kept, deep, tensor = inner["kept"], inner["deep"], inner["deep"][0]
    values: dict[str, Any] = {"one": shared, "two": shared, "wide": wide, "frozen": frozen, "inner": inner}
    wanted: dict[str, Any] = {
        **{"one": torch.tensor([1.0, 2.0]), "two": torch.tensor([3.0, 4.0])},
        **{"wide": torch.tensor([5.0, 6.0]), "frozen": np.array([7.0, 8.0])},
        "inner": {"long": torch.ones(2), "kept": torch.ones(2), "deep": [torch.ones(1), 2]},
    }
    restore(capture(values=wanted), values=values)
    assert digest_value(values) == digest_value(wanted)
    assert values["one"] is shared and values["inner"] is inner
    assert inner["kept"] is kept and inner["deep"] is deep and deep[0] is tensor
