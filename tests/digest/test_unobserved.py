"""A digest changes nothing and nobody sees it, for both algorithms."""

from __future__ import annotations

import random
import weakref

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from samerun.digest import digest_value

T = torch.arange(12.0).reshape(3, 4)
# Made where they are used: a nested tensor has torch import its compiler, which takes a second.
TENSORS = {
    "plain": lambda: T.clone(),
    "transposed": lambda: T.t(),
    "parameter": lambda: torch.nn.Parameter(T.clone()),
    "transposed parameter": lambda: torch.nn.Parameter(T.clone()).t(),
    "conjugate": lambda: torch.complex(T, T).conj(),
    "sparse": lambda: T.to_sparse(),
    "jagged": lambda: torch.nested.nested_tensor([T, T[:2]], layout=torch.jagged),
    "half": lambda: T.half()[:, ::2],
}


@pytest.fixture(params=TENSORS)
def tensor(request) -> torch.Tensor:
    return TENSORS[request.param]()


def test_version_and_graph_are_untouched(digest, tensor):
    version, needs, graph = tensor._version, tensor.requires_grad, tensor.grad_fn
    digest(tensor)
    assert (tensor._version, tensor.requires_grad, tensor.grad_fn) == (version, needs, graph)


def test_random_generators_are_untouched(digest, tensor):
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tobytes()
    digest(tensor)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (random.getstate(), np.random.get_state()[1].tobytes()) == before[1:]


def test_no_mode_of_the_user_sees_it(digest, tensor):
    seen = []

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Function(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    expected = digest(tensor)
    with Dispatch(), Function():
        inside = digest(tensor)
        digest_value([tensor])
    assert inside == expected
    assert seen == []


def test_default_device_and_dtype_do_not_matter(digest, tensor):
    expected = digest(tensor)
    with torch.device("meta"):
        assert digest(tensor) == expected
    torch.set_default_dtype(torch.float64)
    try:
        assert digest(tensor) == expected
    finally:
        torch.set_default_dtype(torch.float32)


def test_works_in_every_autograd_mode(digest, tensor):
    expected = digest(tensor)
    for mode in (torch.no_grad(), torch.inference_mode(), torch.autocast("cpu"), torch.enable_grad()):
        with mode:
            assert digest(tensor) == expected


def test_works_beside_fake_tensors_and_deterministic_mode(digest, tensor):
    from torch._subclasses import FakeTensorMode

    expected = digest(tensor)
    with FakeTensorMode():
        assert digest(tensor) == expected
    torch.use_deterministic_algorithms(True)
    try:
        assert digest(tensor) == expected
    finally:
        torch.use_deterministic_algorithms(False)


def test_plain_tensors_inside_a_function_transform(digest):
    t = torch.arange(4.0)
    expected = digest(t)
    found = []
    torch.vmap(lambda x: (found.append(digest(t)), x)[1])(torch.ones(2))
    assert found == [expected]


def test_a_lazy_clone_stays_lazy():
    from samerun.digest import digest_tensor

    t = torch.arange(6.0).reshape(2, 3)
    clone = torch._lazy_clone(t)
    assert digest_tensor(clone) == digest_tensor(t)
    assert digest_tensor(clone.t()) == digest_tensor(t.t())
    assert torch._C._is_cow_tensor(clone)


def test_the_tensor_is_not_kept(digest):
    t = torch.zeros(1000)
    grid = t.reshape(10, 100).t()
    digest(t), digest(grid), digest_value([t, {"x": grid}])
    gone = [weakref.ref(t), weakref.ref(grid)]
    del t, grid
    assert [ref() for ref in gone] == [None, None]
