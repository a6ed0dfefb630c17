"""What is drawn from a generator that the script seeds afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samerun.runs.difference import Strength
from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.python_random import PythonRandom

from ..differences import ONE, TWO, batch, origin, row, side

source = NumpyGlobal()
START = {"a": b"3" * 16, "b": b"4" * 16}


def found(drew_at_start: bool = True, seeds: tuple[bytes, bytes] = (ONE, ONE), **columns):
    sides = {}
    for name, drawn, seed in (("a", ONE, seeds[0]), ("b", TWO, seeds[1])):
        state = START[name] if drew_at_start else b"5" * 16
        sides[name] = side(
            row("rng", source.id, digest=START[name]),
            row("seed", "np.random.seed", call_site="train.py:9", digest=seed),
            row(
                "draw",
                source.id,
                call_site="augment.py:4",
                digest=drawn,
                inputs=int.from_bytes(state[:8], "little"),
            ),
        )
    return source.recognise(batch(**sides, **columns))


def test_what_was_drawn_as_a_module_was_imported_is_the_line_though_the_states_agree_by_then() -> None:
    evidence = found()
    assert evidence is not None
    assert (evidence.strength, evidence.call_site) == (Strength.STRONG, "augment.py:4")
    assert "before it was seeded" in evidence.text


def test_a_draw_after_the_seeding_is_no_such_thing() -> None:
    assert found(drew_at_start=False) is None


@pytest.mark.parametrize(("at_start", "site"), [(True, "augment.py:4"), (False, "train.py:9")])
def test_a_seed_that_the_generator_itself_gave_is_followed_back_to_that_draw(at_start, site) -> None:
    differs = dict(seeds=(ONE, TWO), rng_first={source.id: 0}, drawn=frozenset({source.id}))
    evidence = found(at_start, **differs)
    assert evidence is not None and evidence.call_site == site


@pytest.mark.parametrize(("seeds", "site"), [((ONE, TWO), "augment.py:4"), ((ONE, ONE), None)])
def test_it_may_have_given_the_seed_of_another_generator(seeds, site) -> None:
    drew = origin(
        "aten::uniform_", draws=True, inputs_equal=True, generator_differs=True, generator="torch-cpu"
    )
    evidence = found(seeds=seeds, origin=drew)
    assert (evidence and evidence.call_site) == site


@pytest.mark.parametrize(
    ("process", "advice"),
    [
        ("rank0", "np.random.seed(0)  # once, as the script begins, in the place of train.py:7"),
        ("rank0.0a1b.1", "np.random.seed(number)  # at train.py:7: another number in each process"),
    ],
)
def test_a_seed_of_the_system_s_is_not_replaced_by_a_constant_that_it_would_draw_again(
    process, advice
) -> None:
    """The line may run for each member, or perturbation."""
    taken = side(row("unseeded", source.id, call_site="train.py:7", process=process))
    evidence = source.recognise(batch(a=taken, b=side(), drawn=frozenset({source.id})))
    assert evidence is not None and evidence.advice == advice.replace("np", "numpy")


def test_ranks_are_advised_to_draw_apart() -> None:
    evidence = source.recognise(drawn_on(variables={"SLURM_PROCID"}))
    assert evidence is not None
    assert evidence.advice == 'numpy.random.seed(int(os.environ["SLURM_PROCID"]))  # another one on each rank'
    alone = source.recognise(drawn_on(variables=set()))
    assert alone is not None and alone.advice is None


def test_tasks_of_a_pool_are_advised_to_seed_by_what_they_are_given() -> None:
    evidence = source.recognise(replace(drawn_on(variables=set()), process="rank0.LokyProcess-1"))
    assert evidence is not None and "in the task, by what it is given" in (evidence.advice or "")


def drawn_on(variables):
    sides = (side(row("draw", source.id, call_site="train.py:4", digest=digest)) for digest in (ONE, TWO))
    a, b = (replace(each, variables=dict.fromkeys(variables, "")) for each in sides)
    return batch(a=a, b=b, rng_first={source.id: 0}, drawn=frozenset({source.id}))


@pytest.mark.parametrize(
    ("process", "kind", "advised"),
    [
        ("rank0.Process-1", PythonRandom, "with another number for each"),
        ("rank0.Process-1", NumpyGlobal, None),
        ("rank0", PythonRandom, None),
    ],
)
def test_what_a_process_draws_that_makes_the_data(process, kind, advised) -> None:
    """Its line may be a library's, which starts the process and runs in it."""
    draws = [
        row("draw", kind.id, call_site="aug/noise.py:37", digest=each, process=process) for each in (ONE, TWO)
    ]
    evidence = kind().recognise(batch(a=side(draws[0]), b=side(draws[1]), process=process, phase="setup"))
    if process == "rank0":
        assert evidence is None
    else:
        assert evidence is not None
        assert (evidence.strength, evidence.call_site) == (Strength.STRONG, "aug/noise.py:37")
        assert (evidence.advice is None) if advised is None else (advised in str(evidence.advice))


def test_a_generator_that_was_in_the_same_state_has_a_seed_and_is_no_reason() -> None:
    """Something else decides how often it is drawn from: another thread, another branch."""
    parted = dict(rng_first={source.id: 0}, drawn=frozenset({source.id}))
    drawn = dict(call_site="augment.py:4", inputs=7)
    at = batch(
        a=side(row("draw", source.id, digest=ONE, **drawn)),
        b=side(row("draw", source.id, digest=TWO, **drawn)),
    )
    assert source.recognise(replace(at, **parted)).strength == Strength.SEEN
    agreed = replace(at, agreed=frozenset({source.id}), **parted)
    assert source.recognise(agreed) is None
    assert (
        source.recognise(replace(agreed, process="rank0.worker1")) is not None
    )  # the state of another process
    reseeded = row("unseeded", source.id, call_site="train.py:7")
    evidence = source.recognise(replace(agreed, a=side(reseeded, *at.a.evidence)))
    assert evidence is not None and evidence.call_site == "train.py:7"
