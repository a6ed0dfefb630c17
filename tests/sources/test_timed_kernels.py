"""Sources that choose kernels by timing them.

Covers `triton_autotune.py`, `inductor.py`, `evidence/timed_choices.py` and `patching/imported.py`.
"""

from __future__ import annotations

import sys
import types

import pytest

from samerun.digest import digest_bytes
from samerun.runs.difference import Strength
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources
from samerun.sources.inductor import Inductor
from samerun.sources.triton_autotune import TritonAutotune

from .differences import operation, origin, row, side, weights


def chosen(name, config, key="(8192,)", process="rank0"):
    return row(
        "timed",
        name,
        digest=digest_bytes(config.encode()),
        inputs=int.from_bytes(digest_bytes(key.encode())[:8], "little"),
        detail=config,
        call_site="train.py:4",
        process=process,
    )


@pytest.mark.parametrize(
    ("source", "name", "op"),
    [
        ("triton-autotune", "triton.row_sum", "triton.row_sum"),
        ("inductor", "inductor.triton_red_fused_0", "inductor.forward"),
    ],
)
def test_another_choice_is_the_reason(source, name, op):
    known = find_sources()[source]
    a, b = side(chosen(name, "BLOCK: 16")), side(chosen(name, "BLOCK: 32"))
    found = known.recognise(operation(origin=origin(op), a=a, b=b))
    assert (found.strength, found.call_site) == (Strength.SEEN, "train.py:9")
    assert "BLOCK: 16 in one run, and BLOCK: 32 in the other" in found.text
    assert known.recognise(weights(a=a, b=b)).strength is Strength.STRONG
    assert known.recognise(operation(origin=origin(op), a=a, b=a)) is None
    assert known.recognise(operation(origin=origin(op, draws=True), a=a, b=b)) is None
    assert known.recognise(operation(origin=origin(op, inputs_equal=False), a=a, b=b)) is None
    other = find_sources()[{"inductor": "triton-autotune"}.get(source, "inductor")]
    assert other.recognise(operation(origin=origin(op), a=a, b=b)) is None


def test_choices_are_compared_for_the_same_arguments_and_by_process():
    known = find_sources()["triton-autotune"]
    a = side(chosen("triton.f", "1", "small"), chosen("triton.f", "2", "large"))
    assert known.recognise(weights(a=a, b=side(*reversed(a.evidence)))) is None
    other = side(chosen("triton.f", "3", "small", process="rank1"))
    assert known.recognise(weights(a=a, b=other)) is None
    assert known.recognise(weights(a=a, b=side(chosen("triton.f", "2", "large")))) is None
    assert known.recognise(weights(a=a, b=side(chosen("triton.f", "4", "large")))) is not None


class Autotuner:
    """As Triton's (3.7): what samerun stands in for, and what that works with."""

    def __init__(self, configs, seconds, fails=()):
        self.configs, self.seconds, self.fails = configs, seconds, fails
        self.cache, self.launched, self.read_from_disk = {}, [], 0
        self.base_fn = self.run
        self._do_bench = self.do_bench = lambda call, quantiles: (call(), [self.seconds[call.config]] * 3)[1]

    def _bench(self, *args, config, **meta):
        def call():
            self.launched.append(config)
            if config in self.fails:
                raise MemoryError

        call.config = config
        try:
            return self.do_bench(call, quantiles=(0.5, 0.2, 0.8))
        except MemoryError:
            return [float("inf")] * 3

    def check_disk_cache(self, tuning_key, configs, bench_fn):
        self.read_from_disk += 1
        self.cache[tuning_key] = configs[-1]
        return True

    def run(self, *args, **kwargs):
        if args not in self.cache:

            def benchmark():
                timings = {config: self._bench(*args, config=config) for config in self.configs}
                self.cache[args] = min(timings, key=timings.get)

            if kwargs.get("cached"):
                self.check_disk_cache(args, self.configs, benchmark)
            else:
                benchmark()
        return self.cache[args]


@pytest.fixture
def triton(monkeypatch):
    module = types.ModuleType("triton.runtime.autotuner")
    module.Autotuner = type("Autotuner", (Autotuner,), dict(vars(Autotuner)))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_the_first_that_can_be_launched_is_taken_and_nothing_is_timed(triton):
    source = TritonAutotune()
    undo = source.control(Control())
    tuner = triton.Autotuner("abcd", dict(a=4, b=3, c=2, d=1), fails="a")
    timer = tuner.do_bench
    assert [tuner.run(1), tuner.run(1), tuner.run(2)] == ["b", "b", "b"]
    assert tuner.launched == ["a", "b"] * 2
    assert tuner.run(3, cached=True) == "b" and tuner.read_from_disk == 0
    assert tuner.do_bench is timer
    undo()
    assert tuner.run(4) == "d" and tuner.run(5, cached=True) == "d" and tuner.read_from_disk == 1
    assert [tuner.run(1), source.control(Control()) is not None] == ["b", True]


def test_what_fails_in_every_configuration_fails_as_ever(triton):
    undo = TritonAutotune().control(Control())
    tuner = triton.Autotuner("ab", dict(a=2, b=1), fails="ab")
    assert tuner.run(1) == "a" and tuner.launched == ["a", "b"]
    undo()


def test_each_choice_is_noted_once(triton, notes):
    undo = TritonAutotune().observe(notes)
    tuner = triton.Autotuner("ab", dict(a=2, b=1))
    assert [tuner.run(1), tuner.run(1), tuner.run(2)] == ["b", "b", "b"]
    assert [(note.name, note.detail) for note in notes.of("timed")] == [("triton.run", "b")] * 2
    assert len({note.inputs for note in notes.of("timed")}) == 2
    undo()
    tuner.run(3)
    assert len(notes.of("timed")) == 2


def test_triton_is_not_imported_for_it(monkeypatch, notes):
    monkeypatch.delitem(sys.modules, "triton.runtime.autotuner", raising=False)
    source = TritonAutotune()
    source.control(Control())()
    source.observe(notes)()
    assert "triton.runtime.autotuner" not in sys.modules


class Launcher:
    def __init__(self, config):
        self.config = config


class CachingAutotuner:
    """As the compiler's: the last configuration is the fastest."""

    def __init__(self, kind, *configs):
        self.heuristic_type = types.SimpleNamespace(name=kind)
        self.fn = types.SimpleNamespace(__name__="kernel_0")
        self.launchers = [Launcher(config) for config in configs]

    def precompile(self):
        pass

    def benchmark_all_configs(self):
        return {launcher: -float(number) for number, launcher in enumerate(self.launchers)}

    def autotune_to_one_config(self):
        timings = self.benchmark_all_configs()
        self.launchers = [min(timings, key=timings.get)]


@pytest.fixture
def heuristics(monkeypatch):
    module = types.ModuleType("torch._inductor.runtime.triton_heuristics")
    module.CachingAutotuner = type("CachingAutotuner", (CachingAutotuner,), dict(vars(CachingAutotuner)))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_kernels_of_the_programs_own_that_are_compiled_take_the_first(heuristics):
    undo = Inductor().control(Control())
    own, torchs = (heuristics.CachingAutotuner(kind, "a", "b") for kind in ("USER_AUTOTUNE", "REDUCTION"))
    own.autotune_to_one_config(), torchs.autotune_to_one_config()
    assert [own.launchers[0].config, torchs.launchers[0].config] == ["a", "b"]
    undo()
    again = heuristics.CachingAutotuner("USER_AUTOTUNE", "a", "b")
    again.autotune_to_one_config()
    assert again.launchers[0].config == "b"


def test_what_is_compiled_is_noted_by_its_configuration(heuristics, notes):
    undo = Inductor().observe(notes)
    several = heuristics.CachingAutotuner("REDUCTION", "a", "b")
    several.precompile()  # nothing is chosen yet
    several.autotune_to_one_config()
    heuristics.CachingAutotuner("REDUCTION", "kept on disk").precompile()
    assert [note.detail for note in notes.of("timed")] == ["b", "kept on disk"]
    undo()


def test_the_compilers_deterministic_mode_is_asked_for_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.delenv("TORCHINDUCTOR_DETERMINISTIC", raising=False)
    assert Inductor().environment(Control()) == {"TORCHINDUCTOR_DETERMINISTIC": "1"}
    monkeypatch.setenv("TORCHINDUCTOR_DETERMINISTIC", "0")
    assert Inductor().environment(Control()) == {"TORCHINDUCTOR_DETERMINISTIC": "0"}


def test_a_module_that_is_not_whole_yet_is_left_for_its_own_import(monkeypatch, notes):
    """A callback comes for each module that is imported, and another may be half there."""
    name = "torch._inductor.select_algorithm"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    source = Inductor()
    source.observe(notes)
    half = sys.modules[name]
    half.AlgorithmSelectorCache = type(
        "AlgorithmSelectorCache", (), {"log_results": staticmethod(lambda name, nodes, timings, *rest: None)}
    )
    source.observe(notes)
    half.AlgorithmSelectorCache.log_results("mm", [], {"triton_mm_3": 2.0, "mm": 1.0}, 0.1, 0.1)
    assert [(note.name, note.detail) for note in notes.of("timed")] == [("inductor.mm", "mm")]
