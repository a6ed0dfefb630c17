from __future__ import annotations

import copy
import functools
import inspect
import pickle
import time
import types
import warnings
from pathlib import Path

import pytest
import torch

from samerun import wrapping
from samerun.wrapping import MISSING, Parameter


def passing(original, args, kwargs):
    return original(*args, **kwargs)


@pytest.fixture
def each_time():
    """Let torch say again what it says once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.fixture
def wrapped():
    """Wrap an attribute for the time of a test."""
    undos = []
    yield lambda *asked: undos.append(wrapping.wrap_attribute(*asked))
    for undo in reversed(undos):
        undo()


class Base:
    def method(self, a, b=2, *, c=3):
        return a, b, c

    @staticmethod
    def static(a):
        return a

    @classmethod
    def of_class(cls, a):
        return cls, a


def warns():
    warnings.warn("look", UserWarning, stacklevel=2)


@pytest.mark.parametrize(
    "call", [lambda: Base().method(1, c=5), lambda: Base.static(a=4), lambda: Base.of_class(4)]
)
def test_a_hook_sees_each_call_and_the_result_is_the_originals(wrapped, call):
    plain, seen = call(), []

    def hook(original, args, kwargs):
        seen.append((args, kwargs))
        return original(*args, **kwargs)

    for name in ("method", "static", "of_class"):
        wrapped(Base, name, hook)
    assert call() == plain
    assert len(seen) == 1


def test_keywords_may_have_any_name(wrapped):
    def takes(**kwargs):
        return kwargs

    names = {"self": 1, "original": 2, "hook": 3, "args": 4, "kwargs": 5, "function": 6}
    assert wrapping.wrap(takes, passing)(**names) == names
    assert wrapping.wrap(dict, passing)(**names) == names


def test_a_parameter_is_found_and_changed_where_it_was_given():
    second = Parameter("b", 1)
    assert second.of((1, 2), {}) == second.of((1,), {"b": 2}) == 2
    assert second.of((1,), {}) is MISSING
    assert second.put((1, 2, 3), {}, 9) == ((1, 9, 3), {})
    assert second.put((1,), {"b": 2}, 9) == second.put((1,), {}, 9) == ((1,), {"b": 9})


def test_a_wrapped_builtin_stands_for_it(wrapped):
    plain = time.time
    wrapped(time, "time", passing)
    ours = time.time
    assert ours is not plain
    assert ours == plain and hash(ours) == hash(plain)
    assert isinstance(ours, types.BuiltinFunctionType)
    assert pickle.loads(pickle.dumps(ours)) is copy.deepcopy(ours) is ours
    assert type("Holds", (), {"now": ours})().now() > 0  # not bound


def test_two_layers_are_undone_in_any_order():
    plain, said = Base.method, []
    undos = [
        wrapping.wrap_attribute(
            Base, "method", lambda original, args, kwargs, n=n: said.append(n) or original(*args)
        )
        for n in (1, 2)
    ]
    kept = Base.method
    assert Base().method(1) == (1, 2, 3)
    assert said == [2, 1]
    undos[0]()
    Base().method(1)
    assert said == [2, 1, 2]
    undos[1]()
    kept(Base(), 1)
    assert said == [2, 1, 2]
    undos[0]()
    assert inspect.signature(Base.method) == inspect.signature(plain)


def test_a_method_that_a_class_has_from_its_base_is_given_back():
    class Child(Base):
        pass

    undo = wrapping.wrap_attribute(Child, "method", passing)
    assert "method" in vars(Child)
    undo()
    assert "method" not in vars(Child)


def passing_within(original, args, kwargs):
    def make():
        return (lambda: original(*args, **kwargs))()

    return make()


@pytest.mark.parametrize("hook", [passing, passing_within])
def test_warnings_stay_on_the_line_that_called(each_time, hook):
    import numpy as np

    closed = np.zeros(2)
    closed.flags.writeable = False

    def lines():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            warns_()
            from_numpy(closed)
        return [(Path(each.filename).name, each.lineno) for each in found]

    warns_, from_numpy = warns, torch.from_numpy
    plain = lines()
    warns_, from_numpy = (
        wrapping.wrap(wrapping.wrap(each, hook), hook) for each in (warns, torch.from_numpy)
    )
    assert lines() == plain
    assert [name for name, _ in plain] == [Path(__file__).name] * 2


def test_a_method_of_a_class_in_c_is_replaced_and_put_back():
    plain = torch._C.Generator.seed
    undo = wrapping.wrap_attribute(torch._C.Generator, "seed", lambda *_: 7)
    try:
        assert torch.Generator().seed() == 7
    finally:
        undo()
    assert torch._C.Generator.seed is plain
    assert torch.Generator().seed() != 7


def test_a_class_that_stands_in_for_another_counts_as_it():
    Stand = wrapping.stand_in(torch.Generator, {"more": lambda self: 1})
    assert isinstance(torch.Generator(), Stand)
    assert isinstance(Stand(), torch.Generator)
    assert issubclass(torch.Generator, Stand)
    assert inspect.signature(wrapping.stand_in(Base, {})) == inspect.signature(Base)

    class Mine(Stand):
        pass

    assert not isinstance(torch.Generator(), Mine)
    assert isinstance(Mine(), Stand) and Mine().more() == 1


def test_torchscript_knows_the_operation_that_a_wrapper_stands_for(wrapped):
    wrapped(torch.autograd, "grad", passing)
    wrapped(torch, "as_tensor", passing)

    def scripted(x: torch.Tensor):
        return torch.autograd.grad([x.sum()], [x]), torch.as_tensor(3)

    torch.jit.script(scripted)


def test_the_wrapper_of_a_decorated_function_shows_both_signatures_as_it_does() -> None:
    def decorated(inner):
        @functools.wraps(inner)
        def passes_on(*args, **kwargs):
            return inner(*args, **kwargs)

        return passes_on

    @decorated
    def receive(tensor, src=None):
        return tensor

    ours = wrapping.wrap(receive, lambda original, args, kwargs: original(*args, **kwargs))
    assert list(inspect.signature(ours).parameters) == ["tensor", "src"]
    assert inspect.getfullargspec(ours) == inspect.getfullargspec(receive)
    assert inspect.getfullargspec(ours).varargs == "args"
