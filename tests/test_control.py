import asyncio
import functools
import os
import random
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import torch

import samerun
import samerun.layers
from samerun.controls import build_environment, isolate_rng, seed_everything, select_sources
from samerun.errors import TooLate, UsageError
from samerun.runs.plan import Control
from samerun.sources import nondeterministic_kernels

# The names that control() must find and leave alone.
SEEDED = {
    "hash-seed", "library-generators", "listing-order", "numpy-generator", "numpy-global", "os-entropy",
    "python-random",
    "torch-cpu", "torch-cuda", "torch-mps", "torch-xpu", "worker-arrival", "worker-seeds",
}  # fmt: skip
STRICT = SEEDED | {
    "foreign-kernels",
    "inductor",
    "triton-autotune",
    "attention-backend", "cudnn-benchmark", "cudnn-nondeterministic", "mkl-first-call",
    "nondeterministic-kernels",
}  # fmt: skip


def ids(control):
    return {source.id for source in select_sources(control)}


@pytest.fixture(autouse=True)
def as_before():
    before = (everything(), variables())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    samerun.layers.take_back()
    assert (everything(), variables()) == before


def variables():
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def everything():
    """All that a control touches, as a comparable value."""
    return (
        random.getstate(),
        str(np.random.get_state()),
        bytes(torch.get_rng_state()),
        list(torch.cuda._queued_calls),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
        torch.backends.cudnn.enabled,
        torch.backends.cuda.flash_sdp_enabled(),
        torch.backends.cuda.cudnn_sdp_enabled(),
        torch.get_float32_matmul_precision(),
        torch.get_num_threads(),
        os.listdir,
        os.scandir,
        os.urandom,
        os.getpid,
        random.Random.seed,
        np.random.seed,
        np.random.bit_generator.randbits,
        torch.seed,
        torch.utils.data.DataLoader.__init__,
        torch.utils.data._utils.fetch._MapDatasetFetcher.fetch,
    )


def draws():
    return random.random(), np.random.rand(), torch.rand(1).item(), np.random.default_rng().random()


# --- which sources ---------------------------------------------------------------------------------


def test_modes_select():
    assert ids(None) == ids(Control(mode="off")) == ids(Control(mode="off", extra=("clock",))) == set()
    assert ids(Control(mode="seeded")) == SEEDED
    assert ids(Control(mode="strict")) == ids(Control(mode="warn")) == STRICT


def test_extra_adds_and_only_narrows():
    assert ids(Control(extra=("clock", "os-entropy"))) == STRICT | {"clock", "os-entropy"}
    assert ids(Control(only=("tf32", "clock"))) == {"tf32", "clock"}
    assert ids(Control(only=())) == set()
    assert ids(Control(fill=True)) == STRICT | {"uninitialized-memory"}


def test_an_unknown_source_is_named_with_the_known_ones():
    with pytest.raises(UsageError, match=r"'numpy'.*numpy-global"):
        select_sources(Control(only=("numpy",)))


def test_a_source_without_a_control_says_what_helps():
    with pytest.raises(UsageError, match=r"memory-address has no control.*sort by a name"):
        select_sources(Control(extra=("memory-address",)))


# --- variables -------------------------------------------------------------------------------------


def test_variables_are_set_when_missing(monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    variables = build_environment(Control(seed=1))
    assert variables["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert 0 <= int(variables["PYTHONHASHSEED"]) < 2**32
    assert variables == build_environment(Control(seed=1)) != build_environment(Control(seed=2))
    assert build_environment(Control(mode="off")) == build_environment(None) == {}


def test_a_users_own_valid_variables_are_kept(monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    kept = {"PYTHONHASHSEED": "7", "CUBLAS_WORKSPACE_CONFIG": ":16:8"}
    switches = {
        "TORCHINDUCTOR_DETERMINISTIC": "1",
        "FLASH_ATTENTION_DETERMINISTIC": "1",
        "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "0",
        "MAMBA_DETERMINISTIC": "1",
        "CAUSAL_CONV1D_DETERMINISTIC": "1",
    }
    assert build_environment(Control()) == kept | switches


@pytest.mark.parametrize(
    ("name", "value"),
    [("CUBLAS_WORKSPACE_CONFIG", ":0:0"), ("PYTHONHASHSEED", "-1"), ("PYTHONHASHSEED", "x")],
)
def test_a_users_own_invalid_variable_is_named(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=f"{name}='{value}'"):
        build_environment(Control())


# --- in this process -------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others():
    found = []
    for seed in (1, 1, 2):
        with samerun.control(seed=seed, mode="seeded"):
            found.append(draws())
    assert found[0] == found[1]
    assert all(a != b for a, b in zip(found[0], found[2], strict=True))


def test_the_generators_do_not_share_their_numbers():
    with samerun.control(seed=1, mode="seeded"):
        assert len(set(draws())) == 4


def test_everything_is_restored_after_an_exception():
    with (
        pytest.raises(ZeroDivisionError),
        samerun.control(seed=1, extra=("clock", "os-entropy", "process-id")),
    ):
        draws()
        assert torch.are_deterministic_algorithms_enabled()
        raise ZeroDivisionError


def test_a_control_that_fails_half_way_undoes_the_first_half(monkeypatch):
    monkeypatch.setattr(nondeterministic_kernels, "_is_cuda_on", lambda: True)
    monkeypatch.setattr(nondeterministic_kernels.NondeterministicKernels, "environment", lambda *_: {})
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with pytest.raises(TooLate, match="CUBLAS_WORKSPACE_CONFIG"), samerun.control(seed=1):
        pass


def test_an_undo_sees_the_variables_as_they_were(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    seen = []
    source = nondeterministic_kernels.NondeterministicKernels
    read = functools.partial(os.environ.get, "CUBLAS_WORKSPACE_CONFIG")
    monkeypatch.setattr(
        source, "control", lambda self, wanted: seen.append(read()) or (lambda: seen.append(read()))
    )
    with samerun.control(only=["nondeterministic-kernels"]):
        pass
    assert seen == [":4096:8", None]


def test_controls_nest():
    with samerun.control(seed=1):
        first = draws()
        with samerun.control(seed=2, mode="warn"):
            inner = draws()
            assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
        second = draws()
    with samerun.control(seed=1):
        assert draws() == first != inner
        assert draws()[:3] == second[:3]


def test_it_decorates_and_can_be_used_again():
    controlled = samerun.control(seed=1, only=["python-random"])

    @controlled
    def inner(depth):
        return (random.random(), *(inner(depth - 1) if depth else ()))

    one, two = inner(1)
    assert one == two == inner(0)[0]


def test_only_touches_nothing_else():
    before = torch.get_rng_state()
    with samerun.control(seed=1, only=("python-random",)):
        assert torch.equal(torch.get_rng_state(), before)
        assert not torch.are_deterministic_algorithms_enabled()


def test_strict_leaves_the_memory_fill_off_and_the_precision_alone():
    torch.set_float32_matmul_precision("high")
    try:
        with samerun.control():
            assert not torch.utils.deterministic.fill_uninitialized_memory
            assert torch.get_float32_matmul_precision() == "high"
        with samerun.control(fill=True):
            assert not torch.utils.deterministic.fill_uninitialized_memory
            assert not torch.empty(2).any()
        with samerun.control(fill="nan"):
            assert torch.utils.deterministic.fill_uninitialized_memory
            assert torch.empty(2).isnan().all()
        with pytest.raises(UsageError, match="fill is True"):
            samerun.control(fill="zero")
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    ("deterministic", "on", "warn_only"),
    [(None, True, False), (True, True, False), ("warn", True, True), (False, False, False)],
)
def test_deterministic_overrides_the_mode(deterministic, on, warn_only):
    seed_everything(1, deterministic=deterministic)
    assert torch.are_deterministic_algorithms_enabled() == on
    assert torch.is_deterministic_algorithms_warn_only_enabled() == warn_only


def test_disable_cudnn():
    with samerun.control():
        assert torch.backends.cudnn.enabled
        assert torch.backends.cudnn.deterministic
    with samerun.control(disable_cudnn=True):
        assert not torch.backends.cudnn.enabled


def test_seed_everything_returns_the_seed_and_repeats():
    assert seed_everything(5) == 5
    first = [*draws()[:3], torch.randperm(5).tolist()]
    assert seed_everything(np.int64(5)) == 5
    assert [*draws()[:3], torch.randperm(5).tolist()] == first
    seed_everything(6)
    assert [*draws()[:3], torch.randperm(5).tolist()] != first


@samerun.isolate_rng()
def test_compatible_gives_the_numbers_of_each_librarys_own_seed():
    def drawn():
        return random.random(), np.random.rand(3).tolist(), torch.rand(3).tolist(), torch.randperm(5).tolist()

    random.seed(42)
    np.random.seed(42)
    torch.manual_seed(42)
    wanted = drawn()
    seed_everything(42, compatible=True)
    assert drawn() == wanted
    with samerun.control(seed=42, compatible=True, mode="seeded"):
        assert drawn() == wanted
    seed_everything(42)
    mine = drawn()
    assert all(one != other for one, other in zip(mine, wanted, strict=True))
    with pytest.raises(UsageError, match="numpy takes no seed above"):
        seed_everything(2**32, compatible=True)


@samerun.isolate_rng()
def test_seed_everything_takes_more_sources_or_only_some():
    seed_everything(3, only=["python-random"])
    before = torch.rand(3), random.random()
    seed_everything(3, only=["python-random"])
    after = torch.rand(3), random.random()
    assert before[1] == after[1]
    assert not torch.equal(before[0], after[0])
    seed_everything(3, extra=["clock"])
    frozen = time.time()
    seed_everything(3)
    assert abs(time.time() - frozen) > 3600  # the clock is the machine's again
    with pytest.raises(UsageError, match="python-randm"):
        seed_everything(3, extra=["python-randm"])


def test_seed_everything_draws_and_logs_a_seed(caplog):
    with caplog.at_level("INFO", logger="samerun"):
        seed = seed_everything()
    assert f"seed {seed} " in caplog.text
    first = random.random()
    seed_everything(seed)
    assert random.random() == first


def test_ranks_do_not_draw_a_seed_each(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UsageError, match="rank 0 of 2 did not meet"):
        seed_everything()
    assert seed_everything(1) == 1


def test_workers_can_be_left_alone():
    init = torch.utils.data.DataLoader.__init__
    seed_everything(1, workers=False)
    assert torch.utils.data.DataLoader.__init__ is init
    seed_everything(1)
    assert torch.utils.data.DataLoader.__init__ is not init


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_bad_seeds_are_named(seed):
    with pytest.raises(UsageError, match=str(seed)):
        seed_everything(seed)
    with pytest.raises(UsageError, match=str(seed)):
        samerun.control(seed=seed)


def test_bad_requests_are_named():
    with pytest.raises(UsageError, match="'fast'"):
        seed_everything(1, mode="fast")
    with pytest.raises(UsageError, match="'yes'"):
        seed_everything(1, deterministic="yes")
    with pytest.raises(UsageError, match=r"only=\['tf32'\]"):
        samerun.control(only="tf32")


def test_cuda_is_not_initialised_by_seeding():
    """In a process of its own: torch itself initialises it in each step of Adam, where it can be had."""
    code = "import samerun, torch; samerun.seed_everything(1); print(torch.cuda.is_initialized())"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "False\n"


# --- isolate_rng -----------------------------------------------------------------------------------


@samerun.control(only=["python-random", "numpy-global"])
def test_isolate_rng_restores_after_an_exception_and_nests():
    np.random.randn()  # leaves a spare normal variate
    random.gauss(0, 1)
    before = everything()
    with pytest.raises(ZeroDivisionError), isolate_rng():
        draws()
        middle = everything()
        with isolate_rng():
            random.gauss(0, 1)
            np.random.randn()
            torch.manual_seed(3)
        assert everything()[:3] == middle[:3]
        raise ZeroDivisionError
    assert everything() == before


# --- what comes too late ---------------------------------------------------------------------------


def python(code, **variables):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"} | variables
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


def test_hash_seed_in_a_running_process_is_an_error_when_asked_for():
    done = python("import samerun\nwith samerun.control(only=['hash-seed']): pass")
    assert done.returncode == 1
    assert "TooLate" in done.stderr
    assert "start python with PYTHONHASHSEED=0" in done.stderr
    assert (
        python("import samerun\nwith samerun.control(only=['hash-seed']): pass", PYTHONHASHSEED="3").stderr
        == ""
    )


def test_hash_seed_set_from_inside_is_seen_to_be_too_late():
    code = "import os; os.environ['PYTHONHASHSEED'] = '0'\nimport samerun\n"
    assert "TooLate" in python(code + "with samerun.control(only=['hash-seed']): pass").stderr


@pytest.mark.slow
def test_seed_everything_warns_once_about_the_hash_seed():
    code = "import samerun\nsamerun.seed_everything(1)\nsamerun.seed_everything(1)"
    done = python(code)
    assert done.returncode == 0
    assert done.stderr.count("PYTHONHASHSEED was not set when this python started") == 1
    assert python(code, PYTHONHASHSEED="1").stderr == ""


def test_cublas_after_cuda_is_too_late(monkeypatch):
    monkeypatch.setattr(nondeterministic_kernels, "_is_cuda_on", lambda: True)
    source = nondeterministic_kernels.NondeterministicKernels()
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with pytest.raises(TooLate, match=":4096:8"):
        source.control(Control())
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    source.control(Control())()


# --- the public names ------------------------------------------------------------------------------


def test_importing_samerun_imports_neither_torch_nor_numpy():
    code = (
        "import sys, samerun, samerun.controls\nsamerun.control, samerun.seed_everything, samerun.stream\n"
        "samerun.rank(), samerun.UsageError\nprint({'torch', 'numpy'} & set(sys.modules))"
    )
    assert python(code).stdout.strip() == "set()"


def test_control_is_a_class_whatever_was_imported_before():
    code = (
        "import samerun, samerun.controls\nfrom samerun import control\n"
        "@control(seed=1)\ndef decorated(): return 1\n"
        "with samerun.control(seed=2) as inside: print(isinstance(control, type), decorated(), inside.seed)"
    )
    assert python(code).stdout.strip() == "True 1 2"


def test_public_names():
    for name in samerun.__all__:
        assert getattr(samerun, name) is not None
    assert set(dir(samerun)) == set(samerun.__all__) == {
        "DigestError", "RanksDisagree", "SamerunError", "StateError", "Stream", "TooLate", "UsageError",
        "__version__", "check_agree", "control", "digest_tensor", "digest_value", "isolate_rng", "rank",
        "rank_stream", "seed_everything", "stream", "stream_seed", "sync_seed", "world_size",
    }  # fmt: skip
    with pytest.raises(AttributeError, match="nothing"):
        samerun.nothing  # noqa: B018


def test_ranks(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (samerun.rank(), samerun.world_size()) == (0, 1)
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    assert (samerun.rank(), samerun.world_size()) == (3, 8)


# --- one over the other, and functions that do not run in one go -----------------------------------------


def test_controls_that_overlap_leave_everything_as_it_was():
    """As of two threads or coroutines: the first is left while the second is in force."""
    before = everything(), variables(), os.listdir
    one, two, three = (samerun.control(seed) for seed in (1, 2, 3))
    one.__enter__()
    two.__enter__()
    in_force = everything()
    one.__exit__(None, None, None)
    assert everything() == in_force  # the second is, until its own end
    three.__enter__()
    two.__exit__(None, None, None)
    assert torch.are_deterministic_algorithms_enabled()
    three.__exit__(None, None, None)
    assert (everything(), variables(), os.listdir) == before


def test_controls_in_many_threads_leave_everything_as_it_was():
    before = everything(), variables(), os.listdir
    barrier = threading.Barrier(4)

    def work(number):
        for seed in range(3):
            barrier.wait()
            with samerun.control(10 * number + seed):
                barrier.wait()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (everything(), variables(), os.listdir) == before


def test_seed_everything_inside_a_control_ends_with_it():
    before = everything(), variables(), os.listdir
    with samerun.control(1, mode="seeded"):
        inside = os.listdir
        seed_everything(2)
        assert torch.are_deterministic_algorithms_enabled()
        seed_everything(3, mode="off")
        assert os.listdir is inside and not torch.are_deterministic_algorithms_enabled()
        seed_everything(4)
        with samerun.control(5):
            seed_everything(6)
        assert torch.are_deterministic_algorithms_enabled()
    assert (everything(), variables(), os.listdir) == before


def test_an_outer_seed_everything_outlasts_a_control():
    before = everything(), variables(), os.listdir
    seed_everything(0)
    outer = everything(), os.listdir
    with samerun.control(1):
        seed_everything(2, mode="off")
    assert (everything(), os.listdir) == outer
    seed_everything(3, mode="off")
    assert (everything(), variables(), os.listdir) == before


class Asynchronous:
    async def __call__(self):
        await asyncio.sleep(0)
        return torch.are_deterministic_algorithms_enabled(), random.random()


@pytest.mark.parametrize("function", [Asynchronous().__call__, Asynchronous()])
def test_a_coroutine_function_is_controlled_as_long_as_it_runs(function):
    before = everything(), variables()
    controlled = samerun.control(4)(function)
    assert asyncio.iscoroutinefunction(controlled)
    first = asyncio.run(controlled())
    assert first[0] and first == asyncio.run(controlled())

    async def together():
        return await asyncio.gather(controlled(), controlled(), samerun.control(5)(function)())

    assert all(on for on, _ in asyncio.run(together()))
    assert (everything(), variables()) == before


def generator():
    yield random.random()


async def asynchronous_generator():
    yield random.random()


@pytest.mark.parametrize("function", [generator, asynchronous_generator, functools.partial(generator)])
def test_a_generator_function_cannot_be_controlled(function):
    with pytest.raises(UsageError, match="is a generator function"):
        samerun.control(4)(function)


# --- isolate_rng around steps ---------------------------------------------------------------------------


def drawing(received):
    try:
        while True:
            received.append((yield random.random(), np.random.rand(), torch.rand(1).item()))
    except ValueError:
        yield random.random()
        return "end"
    finally:
        random.random()


def test_a_generator_function_draws_for_itself_alone():
    with isolate_rng():
        random.seed(0)
        steps = drawing([])
        alone = [next(steps)[0] for _ in range(3)] + [steps.throw(ValueError())]
        steps.close()
        random.seed(0)
        expected = [random.random() for _ in range(4)]
        random.seed(0)
        received = []
        isolated = isolate_rng()(drawing)(received)
        inside, outside = [], []
        for number in range(3):
            values = next(isolated) if not number else isolated.send(number)
            inside.append(values[0])
            outside.append(random.random())
        inside.append(isolated.throw(ValueError()))
        assert (inside, outside) == (alone, expected[:3])
        assert received == [1, 2]
        state = random.getstate()
        with pytest.raises(StopIteration) as end:
            next(isolated)
        assert end.value.value == "end" and random.getstate() == state
        left = isolate_rng()(drawing)([])
        next(left)
        left.close()
        assert random.getstate() == state


def test_a_coroutine_function_draws_for_itself_alone():
    @isolate_rng()
    async def drawn():
        found = []
        for _ in range(3):
            found.append(random.random())
            await asyncio.sleep(0)
        return found

    async def together():
        random.seed(0)
        return await asyncio.gather(drawn(), drawn(), *(later() for _ in range(2)))

    async def later():
        await asyncio.sleep(0)
        return random.random()

    with isolate_rng():
        one, two, *others = asyncio.run(together())
        random.seed(0)
        numbers = [random.random() for _ in range(3)]
        assert one == two == numbers  # each goes on from where it began
        assert others == numbers[:2]  # and takes nothing from the rest


def test_isolating_an_asynchronous_generator_function_is_refused():
    with pytest.raises(UsageError, match="asynchronous generator"):
        isolate_rng()(asynchronous_generator)


def test_isolate_rng_takes_back_another_bit_generator():
    state = str(np.random.get_state())
    kinds = np.random.PCG64, np.random.MT19937, np.random.Philox
    for kind in kinds:
        with isolate_rng():
            np.random.set_bit_generator(kind(1))
            with isolate_rng():
                np.random.set_bit_generator(np.random.SFC64(2))
            assert np.random.get_state(legacy=False)["bit_generator"] == kind.__name__
        assert str(np.random.get_state()) == state
