import copy
import pickle
import secrets

import numpy as np
import pytest

from samerun.explaining.cause import make_cause
from samerun.runs.difference import Strength
from samerun.runs.plan import Control
from samerun.sources.numpy_generator import NumpyGenerator
from samerun.sources.os_entropy import OsEntropy

from .differences import ONE, TWO, batch, operation, origin, row, side

source = NumpyGenerator()
MAKERS = [
    lambda: np.random.default_rng().random(),
    lambda: np.random.RandomState().rand(),
    lambda: np.random.SeedSequence().entropy,
    lambda: np.random.PCG64().random_raw(),
    lambda: np.random.Generator(np.random.MT19937()).random(),
]


@pytest.mark.parametrize("make", MAKERS)
def test_control_repeats_by_line_and_order(make):
    drawn = []
    for seed in (1, 1, 2):
        undo = source.control(Control(seed=seed))
        drawn.append([make(), make()])
        undo()
    assert drawn[0] == drawn[1]
    assert len({*drawn[0], *drawn[2]}) == 4
    assert make() != make()


def test_lines_do_not_share_their_numbers():
    undo = source.control(Control(seed=1))
    one = np.random.default_rng().random()
    two = np.random.default_rng().random()
    undo()
    assert one != two


def test_a_seed_is_left_alone():
    undo = source.control(Control(seed=1))
    drawn = np.random.default_rng(3).random()
    undo()
    assert drawn == np.random.default_rng(3).random()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_a_copy_is_not_made_without_a_seed(observed, copied):
    """NumPy makes it so, and gives it the state of the other: `datasets` copies one in each epoch."""
    notes = observed(source)
    rng = np.random.default_rng(0)
    again = copied(rng)
    assert again.random() == rng.random()
    assert not notes.of("unseeded")
    copied(np.random.default_rng())
    assert len(notes.of("unseeded", "numpy-generator")) == 1


def test_observing_notes_each_one_made_without_a_seed(observed):
    notes = observed(source)
    for make in MAKERS:
        make()
    np.random.default_rng(0)
    unseeded = notes.of("unseeded", "numpy-generator")
    assert len(unseeded) == len(MAKERS)
    assert unseeded[0].call_site.startswith("tests/sources/test_numpy_generator.py:")


def test_recognises_one_made_before_the_difference():
    made = side(row("unseeded", "numpy-generator", call_site="data.py:4"))
    found = source.recognise(batch(a=made, b=made))
    assert (found.strength, found.call_site) == (0.7, "data.py:4")
    rng = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    assert source.recognise(batch(a=made, b=made, **rng)).strength == 0.4
    assert source.recognise(batch()) is None
    assert source.recognise(operation(a=made, b=made)) is None


@pytest.mark.parametrize(
    ("processes", "by_task"),
    [
        (["rank0.helper-a", "rank0.helper-b", "rank0.helper-a"], True),
        (["rank0.helper-a", "rank0.helper-b"], False),  # one each: a process for each part of the work
        (["rank0.worker0", "rank0.worker1", "rank0.worker0"], False),
        (["rank0", "rank0"], False),
    ],
)
def test_no_control_reaches_one_made_for_each_task_of_a_pool(processes, by_task):
    made = side(
        *(row("unseeded", "numpy-generator", call_site="data.py:4", process=each) for each in processes)
    )
    found = source.recognise(batch(a=made, b=made))
    assert (found.call_site, found.beyond_control) == ("data.py:4", by_task)
    assert ("number of its task" in (found.advice or "")) == by_task


def test_one_that_seeds_the_generator_which_is_drawn_from_is_recognised():
    made = row("unseeded", "numpy-generator", call_site="data.py:4")
    drawn = origin("aten::rand", draws=True, generator_differs=True)
    seeded = [
        side(made, row("seed", "torch.Generator.manual_seed", call_site="a.py:9", digest=d))
        for d in (ONE, TWO)
    ]
    assert source.recognise(operation(origin=drawn, a=seeded[0], b=seeded[1])).call_site == "data.py:4"
    found = source.recognise(operation(origin=drawn, a=seeded[0], b=seeded[0]))
    assert found.strength == Strength.POSSIBLE  # what is drawn from may be the reason, and not how much


def test_one_that_chose_how_much_is_drawn_is_recognised():
    """As Optuna's sampler chooses the width of a layer."""
    made = side(row("unseeded", "numpy-generator", call_site="train.py:4"))
    drawn = origin("aten::uniform_", draws=True, generator_differs=False)
    found = source.recognise(operation(origin=drawn, a=made, b=made))
    assert (found.strength, found.call_site) == (Strength.STRONG, "train.py:4")


def test_one_that_the_global_generator_takes_its_seed_from_is_not_its_doing():
    both = [row("unseeded", id_, call_site="data.py:4") for id_ in ("numpy-generator", "numpy-global")]
    assert source.recognise(batch(a=side(*both), b=side(*both))) is None
    more = side(*both, row("unseeded", "numpy-generator", call_site="data.py:6"))
    assert source.recognise(batch(a=more, b=more)).call_site == "data.py:6"


def test_a_seeded_random_state_is_not_unseeded(observed):
    notes = observed(source)
    np.random.RandomState(3)
    np.random.RandomState([1, 2])
    np.random.RandomState(np.random.MT19937(3))
    np.random.seed(3)
    assert type(np.random.RandomState(3)._bit_generator) is np.random.MT19937
    assert not notes.of("unseeded")
    np.random.RandomState()
    np.random.RandomState(np.random.MT19937())
    assert len(notes.of("unseeded", "numpy-generator")) == 2


def test_the_entropy_that_numpy_reads_to_seed_itself_is_not_the_scripts(observed):
    observed(OsEntropy())
    notes = observed(source)
    np.random.default_rng()
    np.random.RandomState(3)
    assert notes.of("entropy") == []
    secrets.randbits(128)
    assert len(notes.of("entropy")) == 1


@pytest.mark.parametrize(
    ("processes", "line", "advice"),
    [
        (["rank0"], "rng = np.random.default_rng()", source.advice),
        (["rank0"] * 2, "rng = np.random.default_rng()", "default_rng(torch.randint"),
        (["rank0.worker0"], "rng = np.random.default_rng()", "default_rng(torch.randint"),
        (["rank0"], "rng = np.random.RandomState()", "rng = np.random.RandomState(0)"),
        (["rank0"], "for _ in a: rng = np.random.RandomState()", "np.random.RandomState(torch.randint"),
        (["rank0"], "def f(): return np.random.default_rng()", "default_rng(torch.randint"),
        (["rank0"], "state, _ = env.reset()", "env.reset(seed=0)"),
        (["rank0.a.1", "rank0.b.1"], "state, _ = env.reset()", "env.reset(seed=number)"),
    ],
)
def test_a_line_that_runs_again_is_not_advised_a_constant(tmp_path, processes, line, advice):
    (tmp_path / "train.py").write_text(f"{line}\n")
    rows = [row("unseeded", source.id, call_site="train.py:1", process=process) for process in processes]
    ran = side(*rows, settings={"code": {"train.py": ""}}, cwd=str(tmp_path))
    found = source.recognise(batch(a=ran, b=side()))
    assert advice in make_cause(found).advice
