"""Installed for as long as asked, for unmodified programs, and gone afterwards without a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import samerun
from samerun import ops
from samerun.errors import UsageError
from samerun.ops import installation

from .computing import on_cpu


@pytest.fixture
def seen(monkeypatch):
    """What put_ is called with while samerun's is in place."""
    calls = []
    family = ops.implementations()["put_"]
    kernel = family.kernels["put_"]
    monkeypatch.setitem(family.kernels, "put_", lambda *args: calls.append(args) or kernel(*args))
    return calls


def put():
    return torch.zeros(4).put_(torch.tensor([1, 1]), torch.ones(2), accumulate=True)


@pytest.mark.parametrize("name", sorted(ops.implementations()))
def test_no_two_kernels_of_an_operation_have_one_place(name):
    """torch built for CUDA refused the second, and with it all that strict mode installs."""
    one = ops.implementations()[name]
    places = [
        place
        for overload, kernel in one.kernels.items()
        if installation.is_loaded(one)
        for place, _ in installation.list_variants(one.namespace, overload, kernel)
    ]
    assert len(places) == len(set(places))


def test_for_as_long_as_asked(seen):
    put()
    assert not seen
    with ops.installed():
        put()
        assert len(seen) == 1
        with ops.installed():
            put()
        put()
    assert len(seen) == 3
    put()
    assert len(seen) == 3


def test_again_and_again(seen):
    for count in range(1, 4):
        ops.install()
        put()
        ops.uninstall()
        put()
        assert len(seen) == count


def test_also_when_the_body_raises(seen):
    with pytest.raises(KeyError), ops.installed():
        raise KeyError
    put()
    assert not seen
    assert not ops.is_installed()


def test_uninstalling_what_is_not_installed_is_refused():
    with pytest.raises(UsageError, match="not installed"):
        ops.uninstall()


def test_nothing_is_left():
    import torch._prims_common as common
    import torch.compiler.config as config
    from torch._decomp import decompositions

    def all_that_is_touched():
        names = [
            f"aten::{name}{kind}"
            for one in ops.implementations().values()
            if one.namespace == "aten"
            for overload in one.kernels
            for name, kind in [(overload, "")]
        ]
        kernels = {
            (name, key): torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
            for name in names
            for key in ("CPU", "CUDA")
        }
        return (
            kernels,
            config.cache_key_tag,
            common.alert_not_deterministic,
            decompositions._upsample_linear_vec,
            decompositions._replication_pad,
            torch.library._impls.copy(),
            list(sys.meta_path),  # torchvision is waited for
        )

    before = all_that_is_touched()
    with installation.put_in(ops.implementations().values(), lambda _: ("CPU", "CUDA")):
        during = all_that_is_touched()
        assert all(a != b for a, b in zip(before, during, strict=True))
    assert all_that_is_touched() == before


def test_compiled_code_is_kept_apart_and_a_users_tag_is_kept():
    import torch.compiler.config as config

    with config.patch(cache_key_tag="mine"):
        with ops.installed():
            assert config.cache_key_tag.startswith("mine")
            assert config.cache_key_tag != "mine"
        assert config.cache_key_tag == "mine"


def replaced(name):
    return any(f"/{name}/" in entry for entry in torch.library._impls)


def test_strict_control_installs_and_only_that():
    refused = torch.tensor([1, 1]), torch.ones(2)
    for mode in ("seeded", "off"):
        with samerun.control(0, mode=mode):
            assert not ops.is_installed()
    with samerun.control(0, mode="warn"):
        assert not ops.is_installed()
        with pytest.warns(UserWarning, match="put_"):
            torch.zeros(4).put_(*refused)
        assert replaced("_index_put_impl_")  # of which torch says nothing
    assert not replaced("_index_put_impl_")
    with samerun.control(0, mode="strict"):
        assert ops.is_installed()
        assert torch.are_deterministic_algorithms_enabled()
        torch.zeros(4).put_(*refused)
    assert not ops.is_installed()


def test_strict_control_goes_without_on_a_torch_that_has_no_get_kernel(monkeypatch):
    monkeypatch.delattr(torch.library, "get_kernel")
    with samerun.control(0, only=["nondeterministic-kernels"]):
        assert not ops.is_installed()
        assert torch.are_deterministic_algorithms_enabled()
    assert not ops.reasons()
    with pytest.raises(UsageError, match="get_kernel"):
        ops.install()
    assert not ops.is_installed()


def test_the_environment_lists_what_is_replaced_and_why():
    from samerun.sources.catalogue import find_sources

    said = find_sources()["nondeterministic-kernels"].describe()
    assert said["strict replaces put_"] == ops.implementations()["put_"].why


def test_every_family_says_what_and_why():
    for one in ops.implementations().values():
        assert one.why and one.how and one.source and one.cost and one.devices
        assert set(one.devices) <= {"CPU", "CUDA"}


def test_the_page_lists_every_operation():
    page = (Path(__file__).parents[2] / "docs" / "ops.md").read_text(encoding="utf-8")
    listed = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert [cells[0].strip("| `") for cells in listed] == list(ops.implementations())
    for cells, one in zip(listed, ops.implementations().values(), strict=True):
        assert cells[1:4] == [", ".join(one.devices), one.why, one.how]


# --- where kernels are called from -----------------------------------------------------------------


def loss(x):
    return F.max_pool3d(F.avg_pool3d(x, 3, 1), 2, 1).square().sum()


INPUT = torch.randn(2, 3, 6, 6, 6, generator=torch.Generator().manual_seed(0))
POOLS = "avg_pool3d_backward", "max_pool3d_with_indices_backward"


def gradient(function, x=INPUT):
    x = x.detach().clone().requires_grad_()
    function(x).backward()
    return x.grad


@pytest.fixture
def called(monkeypatch):
    """The names of samerun's kernels that ran."""
    names = []
    for one in ops.implementations().values():
        for overload, kernel in list(one.kernels.items()):

            def noted(*args, _name=one.name, _kernel=kernel, **kwargs):
                names.append(_name)
                return _kernel(*args, **kwargs)

            monkeypatch.setitem(one.kernels, overload, noted)
    return names


INDUCTOR = pytest.param("inductor", marks=pytest.mark.slow)


@pytest.mark.parametrize("backend", ["aot_eager", INDUCTOR])
def test_compiled(backend, called):
    expected = gradient(loss)
    torch._dynamo.reset()
    with on_cpu(*POOLS):
        result = gradient(torch.compile(loss, backend=backend, fullgraph=True))
    torch._dynamo.reset()
    torch.testing.assert_close(result, expected)
    # inductor lowers avg_pool3d_backward itself, by gathering
    assert set(called) == set(POOLS if backend != "inductor" else POOLS[1:])


@pytest.mark.parametrize("backend", ["aot_eager", INDUCTOR])
def test_an_operation_that_is_refused_while_tracing_compiles(backend):
    def unpooled(x):
        values, places = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(values, places, 2)

    x = torch.randn(1, 1, 4, 4)
    expected = unpooled(x)
    with samerun.control(0, mode="strict"):
        torch._dynamo.reset()
        result = torch.compile(unpooled, backend=backend, fullgraph=True)(x)
        torch._dynamo.reset()
    assert torch.equal(result, expected)


@pytest.mark.parametrize("name", ["median", "histc", "max_unpool2d"])
def test_what_torch_refuses_of_cuda_while_tracing(name):
    """By fake tensors: there need be no device."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    def compute():
        with FakeTensorMode():
            x = torch.empty(1, 1, 4, 4, device="cuda")
            if name == "median":
                return x.median(0).values
            if name == "histc":
                return x.histc(10)
            return F.max_unpool2d(x, torch.zeros(1, 1, 4, 4, device="cuda", dtype=torch.int64), 2)

    torch.use_deterministic_algorithms(True)
    try:
        if name != "max_unpool2d":  # whose refusal is in the decomposition
            with pytest.raises(RuntimeError, match="deterministic"):
                compute()
        with installation.put_in(ops.implementations().values(), lambda _: ("CUDA",)):
            compute()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("function", ["bilinear", "trilinear", "replicate"])
def test_torchs_detours_are_not_taken(function):
    """In deterministic mode, on CUDA, torch computes these by Python, with other bits in the forward pass."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(func._schema.name.removeprefix("aten::"))
            return func(*args, **kwargs or {})

    def names():
        with FakeTensorMode(), Names() as seen:
            if function == "replicate":
                F.pad(torch.empty(1, 1, 4, 4, device="cuda"), [1, 1, 1, 1], mode="replicate")
            else:
                shape = (1, 1, 4, 4) if function == "bilinear" else (1, 1, 4, 4, 4)
                F.interpolate(torch.empty(shape, device="cuda"), scale_factor=2, mode=function)
        return seen.names

    straight = {
        "bilinear": "upsample_bilinear2d",
        "trilinear": "upsample_trilinear3d",
        "replicate": "replication_pad2d",
    }[function]
    torch.use_deterministic_algorithms(True)
    try:
        assert straight not in names()
        with installation.put_in(ops.implementations().values(), lambda _: ("CUDA",)):
            assert straight in names()
        assert straight not in names()
    finally:
        torch.use_deterministic_algorithms(False)


def test_under_autocast_and_without_gradients(called):
    expected = gradient(loss)
    with on_cpu(*POOLS):
        with torch.autocast("cpu"):
            torch.testing.assert_close(gradient(loss), expected)
        with torch.no_grad(), ops.installed():
            assert put()[1] == 2
        with torch.inference_mode(), ops.installed():
            assert put()[1] == 2
    assert {"put_", *POOLS} <= set(called)


def test_under_functional_transforms(called):
    from torch.func import functional_call, grad, hessian, vmap

    expected = gradient(loss)
    with on_cpu(*POOLS):
        torch.testing.assert_close(grad(loss)(INPUT), expected)
        each = vmap(grad(loss))(INPUT.unsqueeze(1))
        torch.testing.assert_close(each.squeeze(1), expected)
        pool = nn.AvgPool3d(2, 1)
        small = torch.randn(1, 1, 2, 3, 2, dtype=torch.float64)
        torch.testing.assert_close(
            hessian(lambda x: functional_call(pool, {}, (x,)).square().sum())(small),
            torch.autograd.functional.hessian(lambda x: pool(x).square().sum(), small),
        )
    assert set(called) == set(POOLS)


def test_results_given_by_out(called):
    one = ops.implementations()["avg_pool3d_backward"]
    args = one.example(torch.device("cpu"))
    expected = torch.ops.aten.avg_pool3d_backward(*args)
    with on_cpu(one.name):
        given = torch.empty_like(expected)
        assert torch.ops.aten.avg_pool3d_backward.grad_input(*args, grad_input=given) is given
        torch.testing.assert_close(given, expected)
        with pytest.warns(UserWarning, match="was resized"):
            resized = torch.ops.aten.avg_pool3d_backward.grad_input(*args, grad_input=torch.empty(3))
        torch.testing.assert_close(resized, expected)
        with pytest.raises(RuntimeError, match="can't be cast"):
            wrong = torch.empty(0, dtype=torch.int64)
            torch.ops.aten.avg_pool3d_backward.grad_input(*args, grad_input=wrong)
    assert called == [one.name] * 4 or called == [one.name] * 3


def test_in_place(called):
    with on_cpu("scatter_reduce", "index_reduce", "cumprod"):
        x = torch.ones(3)
        assert x.scatter_reduce_(0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "prod") is x
        assert x.tolist() == [6, 1, 1]
        x.index_reduce_(0, torch.tensor([1, 1]), torch.tensor([2.0, 5.0]), "prod")
        assert x.tolist() == [6, 10, 1]
        assert x.cumprod_(0).tolist() == [6, 60, 60]
    assert set(called) == {"scatter_reduce", "index_reduce", "cumprod"}


def test_importing_it_does_not_import_the_compiler():
    code = (
        "import sys, torch; before = set(sys.modules)\n"
        "import samerun.ops; samerun.ops.install()\n"
        "print(sorted({m.split('.')[1] for m in set(sys.modules) - before if m.startswith('torch.')}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "_inductor" not in done.stdout
    assert "_dynamo" not in done.stdout


ones, zeros, full, at = torch.ones, torch.zeros, torch.full, torch.tensor


# --- torch's refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("put_", lambda: zeros(3).put_(at([5]), ones(1))),
        ("put_", lambda: zeros(3).put_(at([1, 2]), ones(1))),
        ("put_", lambda: zeros(3).put_(at([1]), ones(1).double())),
        ("put_", lambda: zeros(3).put_(at([1.0]), ones(1))),
        ("put_", lambda: zeros(1).expand(3).put_(at([1]), ones(1))),
        ("put_", lambda: zeros(0).put_(at([0]), ones(1))),
        ("_index_put_impl_", lambda: large(full((40_000,), 300))),
        ("_index_put_impl_", lambda: large(full((40_000,), -301))),
        ("_index_put_impl_", lambda: large(zeros(40_000, dtype=torch.int64), ones(3))),
        ("_index_put_impl_", lambda: large(zeros(40_000, dtype=torch.int64), ones(40_000).double())),
        ("_index_put_impl_", lambda: large(zeros(40_000))),
        ("max_unpool2d", lambda: F.max_unpool2d(ones(1, 2, 2), full((1, 2, 2), 99), 2)),
        ("max_unpool2d", lambda: F.max_unpool2d(ones(1, 2, 2), zeros(1, 2, 3).long(), 2)),
        ("max_unpool2d", lambda: F.max_unpool2d(ones(1, 2, 2), zeros(1, 2, 2), 2)),
        ("max_unpool2d", lambda: torch.ops.aten.max_unpool2d(ones(2, 2), zeros(2, 2).long(), [2, 2])),
        ("max_unpool3d", lambda: torch.ops.aten.max_unpool3d(
            ones(1, 2, 2, 2), zeros(1, 2, 2, 2).long(), [4, 4, 4], [0, 1, 1], [0, 0, 0])),
        ("nll_loss2d_forward", lambda: F.nll_loss(ones(1, 2, 3, 3), full((1, 3, 3), 7))),
        ("nll_loss2d_forward", lambda: F.nll_loss(ones(1, 2, 3, 3), zeros(1, 3, 4).long())),
        ("nll_loss2d_forward", lambda: F.nll_loss(ones(1, 2, 3, 3), zeros(1, 3, 3).long(), ones(3))),
        ("histc", lambda: ones(3).histc(0)),
        ("histc", lambda: ones(3).histc(3, 2, 1)),
        ("histc", lambda: at([1.0, float("inf")]).histc(3)),
        ("bincount", lambda: at([-1, 2]).bincount(ones(2))),
        ("bincount", lambda: at([1, 2]).bincount(ones(3))),
        ("bincount", lambda: at([1, 2]).bincount(ones(2), -1)),
        ("median", lambda: ones(0, 3).median(0)),
        ("median", lambda: ones(2, 3).median(2)),
        ("nanmedian", lambda: ones(0, 3).nanmedian(0)),
        ("scatter_reduce", lambda: ones(3).scatter_reduce(0, at([7]), ones(1), "prod")),
        ("scatter_reduce", lambda: ones(3).scatter_reduce(0, at([1, 1]), ones(1), "prod")),
        ("scatter_reduce", lambda: ones(3).scatter_reduce(1, at([1]), ones(1), "prod")),
        ("index_reduce", lambda: ones(3).index_reduce(0, at([7]), ones(1), "prod")),
        ("index_reduce", lambda: ones(3).index_reduce(0, at([1, 1]), ones(1), "prod")),
        ("index_reduce", lambda: ones(3).index_reduce(0, at([1]), ones(1), "median")),
        ("cumprod", lambda: ones(3).cumprod(1)),
    ],
)  # fmt: skip
def test_what_torch_refuses_is_refused_alike(name, call):
    with pytest.raises((RuntimeError, IndexError)) as native:
        call()
    with on_cpu(name), pytest.raises((RuntimeError, IndexError)) as ours:
        call()
    assert (ours.type, first_line(ours)) == (native.type, first_line(native))


def large(index, values=None):
    return torch.zeros(300).index_put_((index,), torch.ones(1) if values is None else values, accumulate=True)


def first_line(error):
    return str(error.value).splitlines()[0]
