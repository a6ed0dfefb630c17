"""Covers `base/rng.py`."""

import pickle
import random
import sys
import timeit

import pytest
from trainer import Trainer

from samerun.experiments.check.check import check
from samerun.experiments.request import Request
from samerun.runs.plan import Control
from samerun.sources import python_random
from samerun.sources.python_random import PythonRandom

from .differences import ONE, TWO, batch, operation, origin, row, side, weights

source = PythonRandom()


@pytest.fixture(autouse=True)
def as_before():
    state = random.getstate()
    yield
    random.setstate(state)


@pytest.fixture
def controlled():
    undo = source.control(Control(seed=1))
    yield
    undo()


def test_control_repeats_and_is_pinned():
    drawn = []
    for seed in (1, 1, 2):
        undo = source.control(Control(seed=seed))
        drawn.append([random.random(), random.gauss(0, 1)])
        undo()
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0][0] == 0.28048810496540855


def test_control_makes_seeding_without_a_seed_repeat():
    drawn = []
    for _ in range(2):
        undo = source.control(Control(seed=1))
        random.seed()
        drawn.append(random.random())
        random.seed(None)
        drawn.append(random.random())
        undo()
    assert drawn[:2] == drawn[2:]
    assert drawn[0] != drawn[1]


def test_the_users_own_seed_wins(controlled):
    random.seed(3)
    assert random.random() == random.Random(3).random()


def test_generators_of_the_users_own_are_left_alone(controlled):
    assert random.Random().random() != random.Random().random()
    assert random.Random("x").random() == random.Random("x").random()


def test_undo_restores_state_and_functions():
    before = random.getstate(), random.seed, random.Random.seed
    source.control(Control(seed=1))()
    assert (random.getstate(), random.seed, random.Random.seed) == before


def test_the_digest_follows_every_draw_and_nothing_else():
    random.seed(1)
    first = source.digest()
    assert source.digest() == first
    random.gauss(0, 1)  # draws two, keeps one
    second = source.digest()
    random.gauss(0, 1)  # uses the kept one: no word is drawn
    third = source.digest()
    assert len({first, second, third}) == 3
    random.seed(1)
    assert source.digest() == first


@pytest.mark.parametrize("draw", [lambda: None, random.random, lambda: random.gauss(0, 1)])
def test_the_digest_is_that_of_the_state_that_python_gives(draw, monkeypatch):
    random.seed(5)
    draw()
    in_place = source.digest()
    monkeypatch.setattr(python_random, "_find_offset", lambda: None)
    assert source.digest() == in_place


@pytest.mark.slow  # it reads the clock: a busy machine makes it fail
def test_the_digest_is_fast():
    assert min(timeit.repeat(source.digest, number=500, repeat=9)) / 500 < 40e-6  # measured: 2 µs


def test_capture_and_restore():
    random.gauss(0, 1)
    state = source.capture()
    drawn = random.gauss(0, 1), random.random()
    source.restore(state)
    assert (random.gauss(0, 1), random.random()) == drawn


def test_observing_notes_seeds_and_their_lines(observed):
    notes = observed(source)
    random.seed(3)
    random.seed(3)
    random.seed("x")
    random.seed()
    random.Random()
    random.Random(5)
    seeds = notes.of("seed", "random.seed")
    assert [note.value for note in seeds] == [3.0, 3.0, None]
    assert seeds[0].digest == seeds[1].digest != seeds[2].digest
    assert seeds[0].call_site.startswith("tests/sources/test_python_random.py:")
    assert [note.name for note in notes.of("unseeded")] == ["python-random", "os-entropy"]


def test_observing_changes_nothing(observed):
    random.seed(3)
    drawn = random.random()
    observed(source)
    random.seed(3)
    assert random.random() == drawn
    assert isinstance(random.Random(1), random.Random)
    assert pickle.loads(pickle.dumps(random.Random(1))).random() == random.Random(1).random()
    assert random.seed.__self__ is random._inst
    assert random.SystemRandom().random() != random.SystemRandom().random()


# --- recognise -------------------------------------------------------------------------------------


def test_recognises_an_unseeded_state_that_was_drawn_from():
    found = source.recognise(batch(rng_first={"python-random": 0}, drawn=frozenset({"python-random"})))
    assert found.strength == 0.7
    assert "step 0" in found.text


def test_never_blames_a_generator_that_nobody_draws_from():
    assert source.recognise(batch(rng_first={"python-random": 0}, drawn=frozenset({"torch-cpu"}))) is None


def test_never_blames_an_equal_state_or_one_that_differs_later():
    drawn = frozenset({"python-random"})
    assert source.recognise(batch(drawn=drawn)) is None
    assert source.recognise(batch(rng_first={"python-random": 1}, drawn=drawn)) is None


def test_the_first_differing_draw_is_seen_directly():
    def drew(digest, name="python-random"):
        return side(row("draw", name, call_site="data.py:8", digest=digest))

    given = dict(rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    found = source.recognise(batch(a=drew(ONE), b=drew(TWO), **given))
    assert (found.strength, found.call_site) == (1.0, "data.py:8")
    other = source.recognise(batch(a=drew(ONE, "torch-cpu"), b=drew(TWO, "torch-cpu"), **given))
    assert other.strength == 0.7


@pytest.mark.parametrize(
    ("line", "drawn", "plain"),
    [
        ("x = random.random()", 4, True),
        ("x = random.random()", 3, True),
        ("x = random.random()", 2, False),  # it did nothing for a while: something else may be the reason
        ("if random.random() < 0.5:", 2, True),
    ],
)
def test_a_draw_that_did_nothing_for_a_while_explains_a_difference_where_it_branches(
    line, drawn, plain, tmp_path
):
    (tmp_path / "train.py").write_text(f"import random\n{line}\n")

    def drew(digest):
        draw = row("draw", "python-random", step=drawn, call_site="train.py:2", digest=digest)
        return side(draw, cwd=str(tmp_path))

    given = dict(step=4, rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    parted = batch(a=drew(ONE), b=drew(TWO), **given)
    assert source.is_plain_in(parted) == plain
    assert not source.is_plain_in(batch(a=drew(ONE), b=drew(ONE), **given))
    assert not source.is_plain_in(batch(a=drew(ONE), b=drew(TWO), in_workers=True, **given))


def test_steps_back_when_the_seed_itself_differs():
    def seeded(digest):
        return side(row("seed", "random.seed", call_site="train.py:2", digest=digest))

    given = dict(rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    assert source.recognise(batch(a=seeded(ONE), b=seeded(TWO), **given)).strength == 0.4
    assert source.recognise(batch(a=seeded(ONE), b=seeded(ONE), **given)).strength == 0.7


def test_an_operation_is_not_its_doing():
    given = dict(rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    assert source.recognise(operation(**given)) is None
    dropout = origin("aten::native_dropout", draws=True, generator_differs=True)
    assert source.recognise(operation(origin=dropout, **given)) is None
    assert source.recognise(weights(**given)).strength == 0.7


# A library starts a process, which draws from what python seeds anew in each fork.
LIBRARY = """
import multiprocessing, random
import torch

def produce(queue, count):
    for _ in range(count):
        queue.put([random.uniform(0, 1) for _ in range(4)])

class Augmenter:
    def __init__(self, count):
        self.count = count
    def __iter__(self):
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=produce, args=(queue, self.count), daemon=True)
        process.start()
        for _ in range(self.count):
            yield torch.tensor(queue.get())
        process.join()
"""
USES_IT = """
import random, sys
sys.path.insert(0, "site-packages")
import torch
from augmenter import Augmenter

random.seed(0)
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in Augmenter(3):
    model(x).sum().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_what_a_library_draws_in_a_process_of_its_own_is_found_there(trainer: Trainer) -> None:
    trainer.script(USES_IT)
    (trainer.folder / "site-packages").mkdir()
    (trainer.folder / "site-packages" / "augmenter.py").write_text(LIBRARY)
    result = check(Request((sys.executable, "train.py"), trainer.folder, trainer.store))
    (cause,) = result.causes
    assert (cause.source, cause.confirmed) == ("python-random", True)
    assert cause.call_site == "augmenter.py:7" and "in that process" in cause.advice
