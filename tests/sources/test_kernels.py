"""The sources that set flags of torch: what they set, put back, describe and recognise.

Covers `attention_backend.py`, `base/setting.py`, `cudnn_benchmark.py`, `cudnn_nondeterministic.py`,
`evidence/op_families.py`, `evidence/settings_diff.py`, `mkl_first_call.py`, `nondeterministic_kernels.py`,
`patching/deterministic.py`, `tf32.py`, `threads.py` and `uninitialized_memory.py`.
"""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from samerun import ops
from samerun.runs.difference import Difference
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources
from samerun.sources.uninitialized_memory import UninitializedMemory

from .differences import batch, operation, origin, side
from .mending import Program

needs_ops = pytest.mark.skipif(not ops.available(), reason="samerun.ops needs torch 2.11")
CUDA = {"torch-cuda": {"initial_seeds": [1]}}
FLAGGED = [
    "attention-backend",
    "cudnn-benchmark",
    "cudnn-nondeterministic",
    "nondeterministic-kernels",
    "tf32",
    "threads",
    "uninitialized-memory",
]


@pytest.fixture(autouse=True)
def workspace(monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


@pytest.mark.parametrize("id_", FLAGGED)
def test_flags_are_put_back(id_):
    source = find_sources()[id_]
    before = source.describe()
    undo = source.control(Control(disable_cudnn=True, mode="warn"))
    undo()
    assert source.describe() == before


@pytest.mark.parametrize("id_", FLAGGED)
def test_flags_are_set_and_put_back_where_the_helpers_of_torch_for_tests_have_frozen_them(id_, monkeypatch):
    within = torch.backends.flags_frozen.__globals__
    monkeypatch.setitem(within, "__allow_nonbracketed_mutation_flag", False)
    test_flags_are_put_back(id_)
    assert torch.backends.flags_frozen()


@pytest.mark.parametrize("id_", [id_ for id_ in FLAGGED if id_ != "threads"])
def test_flags_are_set(id_):
    source = find_sources()[id_]
    control = Control(mode="warn", disable_cudnn=True, fill="nan")
    undo = source.control(control)
    try:
        said = source.describe()
        assert {name: said[name] for name in source.repeatable(control)} == source.repeatable(control)
    finally:
        undo()


def test_nondeterministic_kernels_in_each_mode():
    source = find_sources()["nondeterministic-kernels"]
    for mode, warn_only in (("strict", False), ("warn", True)):
        undo = source.control(Control(mode=mode))
        said = source.describe()
        undo()
        assert (said["deterministic"], said["warn_only"], said["fill"]) == (True, warn_only, False)


def test_the_compiler_is_told_when_it_is_imported_later():
    code = (
        "import sys, samerun, torch\n"
        "with samerun.control(only=['nondeterministic-kernels']):\n"
        "    print('torch._inductor.config' in sys.modules)\n"
        "    import torch._inductor.config as config\n"
        "    print(getattr(config, 'deterministic', True))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr


@needs_ops
def test_strict_has_an_implementation_of_what_torch_refuses():
    def refused():
        return torch.zeros(4).put_(torch.tensor([1, 1]), torch.ones(2)).tolist()

    undo = find_sources()["nondeterministic-kernels"].control(Control())
    try:
        assert refused() == [0, 1, 0, 0]
    finally:
        undo()
    undo = find_sources()["nondeterministic-kernels"].control(Control(mode="warn"))
    try:
        with pytest.warns(UserWarning, match="does not have a deterministic implementation"):
            refused()
    finally:
        undo()


@needs_ops
def test_attention_keeps_its_fused_kernels_only_where_something_makes_them_repeat(monkeypatch):
    source = find_sources()["attention-backend"]
    assert source.repeatable(Control()) == {"cudnn": False}
    assert source.repeatable(Control(mode="warn")) == {"cudnn": False}
    monkeypatch.delattr(torch.library, "get_kernel")  # samerun.ops cannot be installed
    assert source.repeatable(Control()) == {"cudnn": False}
    assert source.repeatable(Control(mode="warn"))["flash"] is False
    assert source.repeatable(Control(only=("attention-backend",)))["mem_efficient"] is False


def test_memory_is_filled_with_nan_on_request_even_without_deterministic_algorithms():
    undo = find_sources()["uninitialized-memory"].control(Control(fill="nan"))
    try:
        assert torch.empty(3).isnan().all()
        assert (torch.empty(3, dtype=torch.int64) == torch.iinfo(torch.int64).max).all()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        undo()
    assert not torch.are_deterministic_algorithms_enabled()


def test_the_warm_up_draws_no_random_numbers():
    before = torch.get_rng_state()
    assert find_sources()["mkl-first-call"].control(Control()) is None
    assert torch.equal(torch.get_rng_state(), before)


def test_threads_are_held_at_one():
    source = find_sources()["threads"]
    undo = source.control(Control())
    now = torch.get_num_threads()
    undo()
    assert now == 1
    assert source.environment(Control()) == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def test_precision_is_described_even_when_set_by_the_newer_names():
    if not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        return  # torch < 2.9 has only the older names
    code = (
        "import torch; torch.backends.cuda.matmul.fp32_precision = 'tf32'\n"
        "from samerun.sources.tf32 import Tf32\nprint(Tf32().describe()['matmul'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "tf32", done.stderr


# --- recognise -------------------------------------------------------------------------------------


def strengths(difference):
    found = {id_: source.recognise(difference) for id_, source in find_sources().items()}
    return {id_: evidence.strength for id_, evidence in found.items() if evidence is not None}


def test_equal_inputs_and_other_outputs_are_a_kernel():
    assert strengths(operation()) == {"nondeterministic-kernels": 1.0}
    found = find_sources()["nondeterministic-kernels"].recognise(operation())
    assert found.call_site == "train.py:9"
    assert "aten::index_put_" in found.text


def test_less_sure_when_deterministic_algorithms_were_on():
    def said(warn_only):
        return side(settings={"nondeterministic-kernels": {"deterministic": True, "warn_only": warn_only}})

    assert strengths(operation(a=said(False), b=said(False))) == {"nondeterministic-kernels": 0.4}
    assert strengths(operation(a=said(True), b=said(True))) == {"nondeterministic-kernels": 1.0}


@pytest.mark.parametrize(
    ("id_", "key"),
    [("threads", "intra"), ("tf32", "matmul"), ("hardware", "processor"), ("packages", "torch")],
)
def test_a_setting_that_differs_comes_before_kernels(id_, key):
    a, b = (side(settings={id_: {key: value}}) for value in ("1", "2"))
    assert strengths(operation(a=a, b=b)) == {id_: 0.7, "nondeterministic-kernels": 0.4}


def test_unequal_inputs_are_not():
    assert strengths(operation(origin=origin(inputs_equal=False))) == {}
    assert "nondeterministic-kernels" not in strengths(operation(origin=origin(draws=True)))
    assert strengths(batch()) == {"hash-seed": 0.4}


def test_uninitialised_memory_comes_before_kernels():
    found = strengths(operation(origin=origin("aten::add", reads_uninitialized=True)))
    assert found == {"uninitialized-memory": 1.0}
    made = origin("aten::add", reads_uninitialized=True, made_at="model.py:7")
    assert UninitializedMemory().recognise(operation(origin=made)).call_site == "model.py:7"


def test_parameters_that_no_generator_explains_may_be_memory():
    made = Difference(step=0, phase="setup", what="parameters")
    assert strengths(made)["uninitialized-memory"] == 0.2  # six runs must agree: nothing read it unwritten
    drawn = replace(made, drawn=frozenset({"torch-cpu"}), rng_first={"torch-cpu": 0})
    assert "uninitialized-memory" not in strengths(drawn)
    assert "uninitialized-memory" not in strengths(replace(made, phase="optimizer"))


@pytest.mark.parametrize("op", ["aten::exp", "aten::sqrt_", "aten::_foreach_sqrt.default", "tanh", "log1p"])
def test_the_first_vector_mathematics_of_a_process(op):
    found = strengths(operation(origin=origin(op, first_of_process=True)))
    assert found == {"mkl-first-call": 1.0, "nondeterministic-kernels": 0.7}
    later = strengths(operation(origin=origin(op)))
    assert later == {"nondeterministic-kernels": 1.0}


@pytest.mark.parametrize("op", ["aten::mm", "aten::index_put_", "aten::expand"])
def test_the_first_operation_of_another_kind(op):
    assert strengths(operation(origin=origin(op, first_of_process=True))) == {"nondeterministic-kernels": 1.0}


def on_cuda(**settings):
    said = side(settings=CUDA | settings)
    return operation(origin=origin("aten::convolution_backward"), a=said, b=said)


def test_convolutions_on_cuda():
    off = {"cudnn-benchmark": {"benchmark": False}, "cudnn-nondeterministic": {"deterministic": False}}
    assert strengths(on_cuda(**off)) == {"cudnn-nondeterministic": 1.0, "nondeterministic-kernels": 0.7}
    timed = off | {"cudnn-benchmark": {"benchmark": True}}
    assert strengths(on_cuda(**timed))["cudnn-benchmark"] == 1.0
    assert strengths(on_cuda(**timed))["cudnn-nondeterministic"] == 0.7
    on = off | {"cudnn-nondeterministic": {"deterministic": True}}
    assert "cudnn-nondeterministic" not in strengths(on_cuda(**on))
    assert "cudnn-nondeterministic" not in strengths(operation(origin=origin("aten::convolution_backward")))


@pytest.mark.parametrize(
    ("op", "recognised"),
    [
        ("aten::_scaled_dot_product_flash_attention_backward", True),
        ("aten::_scaled_dot_product_efficient_attention_backward", True),
        ("aten::_scaled_dot_product_cudnn_attention_backward.default", True),
        ("aten::_scaled_dot_product_flash_attention", False),
        ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", False),
    ],
)
def test_attention_backward(op, recognised):
    assert ("attention-backend" in strengths(operation(origin=origin(op)))) == recognised


@pytest.mark.parametrize(("id_", "key"), [("threads", "intra"), ("tf32", "matmul")])
def test_settings_that_differ(id_, key):
    a, b = (side(settings={id_: {key: value}}) for value in (1, 2))
    found = find_sources()[id_].recognise(operation(a=a, b=b))
    assert (found.strength, found.text) == (0.7, f"{key}: 1 and 2")
    assert find_sources()[id_].recognise(operation(a=a, b=a)) is None


PADDED = """
import torch

def collate(samples):
    canvas = torch.empty(len(samples), 3, 8, 8)
    noise = torch.empty(3).normal_()
    for canvas_of, sample in zip(canvas, samples):
        canvas_of[:, :4] = sample
    return canvas
"""


def test_memory_that_workers_make_may_be_what_their_batches_hold(tmp_path):
    """Operations of workers are not recorded: a batch that is padded with what the memory held."""
    program = Program(tmp_path, PADDED)
    found = replace(program.difference(), phase="data", what="batch", in_workers=True, same_samples=True)
    said = UninitializedMemory().recognise(found)
    assert (said.strength, said.call_site) == (0.35, program.at("canvas = "))
    for other in (dict(in_workers=False), dict(same_samples=False), dict(what="loss")):
        assert UninitializedMemory().recognise(replace(found, **other)) is None
    line = "    canvas = torch.empty(len(samples), 3, 8, 8)"
    mended = program.mended("uninitialized-memory", site=said.call_site)
    assert mended == f"-{line}\n+{line.replace('empty', 'zeros')}"
