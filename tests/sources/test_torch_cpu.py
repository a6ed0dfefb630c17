"""Covers `base/torch_rng.py`."""

import timeit
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from samerun.runs.difference import Strength
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources
from samerun.sources.torch_cpu import TorchCpu

from .differences import ONE, TWO, batch, operation, origin, row, side, weights

source = TorchCpu()
DRAWN = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))


@pytest.fixture(autouse=True)
def as_before():
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


def test_control_repeats_and_is_pinned():
    drawn = []
    for seed in (1, 1, 2):
        undo = source.control(Control(seed=seed))
        drawn.append(torch.rand(1).item())
        undo()
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == 0.9506296515464783


def test_control_makes_torch_seed_repeat():
    drawn = []
    for _ in range(2):
        undo = source.control(Control(seed=1))
        drawn += [torch.seed(), torch.rand(1).item(), torch.random.seed()]
        undo()
    assert drawn[:3] == drawn[3:]
    assert drawn[0] != drawn[2]
    assert torch.seed() != torch.seed()


def test_control_makes_the_seeds_of_own_generators_repeat():
    kind, seeds = type(torch.Generator()), []
    for seed in (1, 1, 2):
        undo = source.control(Control(seed=seed))
        own, other = torch.Generator(), torch.Generator()
        seeds.append([own.seed(), own.seed(), other.seed()])
        assert own.initial_seed() == seeds[-1][1]
        assert torch.equal(
            torch.rand(3, generator=own), torch.rand(3, generator=torch.Generator().manual_seed(seeds[-1][1]))
        )
        assert type(own) is kind is torch.Generator
        undo()
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 6
    assert all(0 <= value < 2**53 for value in (*seeds[0], *seeds[2]))  # as torch's own
    assert torch.Generator().seed() != torch.Generator().seed()


def test_the_users_own_seed_wins():
    undo = source.control(Control(seed=1))
    torch.manual_seed(3)
    drawn = torch.rand(1)
    undo()
    assert torch.equal(drawn, torch.rand(1, generator=torch.Generator().manual_seed(3)))


def test_undo_restores_state_and_function():
    before = bytes(torch.get_rng_state()), torch.seed, torch.random.seed
    source.control(Control(seed=1))()
    assert (bytes(torch.get_rng_state()), torch.seed, torch.random.seed) == before


def test_the_digest_follows_every_draw_and_nothing_else():
    torch.manual_seed(1)
    first = source.digest()
    torch.ones(3).sum()
    assert source.digest() == first
    torch.rand(1)
    assert source.digest() != first
    torch.manual_seed(1)
    assert source.digest() == first


@pytest.mark.slow  # it reads the clock: a busy machine makes it fail
def test_the_digest_is_fast():
    assert min(timeit.repeat(source.digest, number=500, repeat=9)) / 500 < 12e-6  # measured: 3 µs


def test_capture_is_plain_and_restores():
    state = source.capture()
    assert all(type(one) is bytes for one in state)
    drawn = torch.rand(3)
    source.restore(state)
    assert torch.equal(torch.rand(3), drawn)


def test_a_seeding_is_noted_where_somebody_replaced_one_of_the_two_names(observed, monkeypatch):
    real = torch.random.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda seed: real(seed))
    notes = observed(source)
    torch.manual_seed(3)
    torch.random.manual_seed(seed=4)
    assert [note.value for note in notes.of("seed", "torch.manual_seed")] == [3.0, 4.0]


def test_observing_notes_seeds_and_their_lines(observed):
    notes = observed(source)
    torch.manual_seed(3)
    torch.random.manual_seed(seed=4)
    torch.seed()
    assert [note.value for note in notes.of("seed", "torch.manual_seed")] == [3.0, 4.0]
    assert notes.of("seed")[0].call_site.startswith("tests/sources/test_torch_cpu.py:")
    assert notes.of("unseeded", "torch-cpu")[0].call_site.startswith("tests/sources/test_torch_cpu.py:")


def test_observing_notes_a_look_at_the_seed_before_there_is_one(observed):
    notes = observed(source)
    assert torch.initial_seed() == torch.default_generator.initial_seed()
    torch.manual_seed(3)
    assert torch.random.initial_seed() == 3
    (note,) = notes.of("unseeded", "torch-cpu")
    assert (note.detail, note.call_site.partition(":")[0]) == ("looked at", "tests/sources/test_torch_cpu.py")


def test_recognises_a_draw_from_an_unequal_state():
    dropout = origin("aten::native_dropout", draws=True, generator_differs=True, phase="forward")
    found = source.recognise(operation(origin=dropout))
    assert (found.strength, found.call_site) == (1.0, "train.py:9")
    assert source.recognise(operation(origin=dropout, rng_first={"torch-cuda": 0})) is None
    assert source.recognise(operation(origin=origin(draws=True, generator_differs=False))) is None
    seeded = operation(origin=dropout, agreed=frozenset({"torch-cpu"}))
    assert source.recognise(seeded) is None  # something drew from it in between
    made = side(row("unseeded", "torch-cpu", call_site="train.py:7"))
    assert source.recognise(replace(seeded, a=made, drawn=frozenset({"torch-cpu"}))).call_site == "train.py:7"


def test_a_generator_of_the_scripts_own_is_fed_by_another_source():
    """What its seed was made of is the reason: not the default generator, unless nothing else is."""
    own = origin("aten::randn", draws=True, generator_differs=True, own_generator=True, phase="forward")
    found = source.recognise(operation(origin=own))
    assert found.strength == 0.4
    assert found.advice.startswith("generator.manual_seed(0)")  # seeding the default one does nothing for it
    seeded = source.recognise(operation(origin=own, agreed=frozenset({"torch-cpu"})))
    assert seeded == found  # whatever state the default one was in
    seeds = operation(origin=own, rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    assert find_sources()["python-random"].recognise(seeds).strength >= 0.4
    others = operation(
        origin=origin("aten::dropout", draws=True, generator_differs=True),
        rng_first={"python-random": 0},
        drawn=frozenset({"python-random"}),
    )
    assert find_sources()["python-random"].recognise(others) is None


def test_recognises_other_initial_weights_and_another_order_of_samples():
    assert source.recognise(weights(**DRAWN)).strength == 0.7
    assert source.recognise(batch(indices_equal=False, **DRAWN)).strength == 0.7
    assert source.recognise(weights(rng_first={"torch-cpu": 0})) is None
    assert source.recognise(operation(**DRAWN)) is None  # equal inputs, nothing drawn


def test_a_seed_of_the_systems_is_its_doing_where_the_states_were_equal_until_then():
    drawn = frozenset({"torch-cpu"})

    def recognised(row_step, rng_first):
        made = side(row("unseeded", "torch-cpu", call_site="train.py:9", step=row_step))
        found = source.recognise(batch(step=7, a=made, b=made, drawn=drawn, rng_first=rng_first))
        return found and (found.strength, found.call_site)

    assert recognised(7, {}) == recognised(7, {"torch-cpu": 8}) == (0.7, "train.py:9")
    assert recognised(7, {"torch-cpu": 0}) == (0.7, "train.py:5")  # they differed long before
    made = side(row("unseeded", "torch-cpu", call_site="train.py:9"))
    assert source.recognise(batch(a=made, b=made)) is None  # nothing drew from it


def test_steps_back_when_the_seed_itself_differs():
    a, b = (
        side(row("seed", "torch.manual_seed", call_site="train.py:2", digest=digest)) for digest in (ONE, TWO)
    )
    assert source.recognise(weights(a=a, b=b, **DRAWN)).strength == 0.4


def test_a_generator_that_took_its_seed_from_the_system_is_named_at_that_line(observed):
    source = find_sources()["torch-cpu"]
    notes = observed(source)
    generator = torch.Generator()
    generator.seed()  # noted
    with torch.random.fork_rng():
        torch.seed()
    (own,) = notes.of("unseeded", "torch.Generator.seed")
    assert own.call_site.rpartition(":")[2] == str(_line_of("generator.seed()  # noted"))
    assert len(notes.of("unseeded", "torch-cpu")) == 1
    a = side(row("unseeded", "torch.Generator.seed", call_site="train.py:33"))
    draws = origin("aten.randint.low_generator", draws=True, own_generator=True, generator_differs=True)
    found = source.recognise(operation(origin=draws, a=a))
    assert (found.strength, found.call_site) == (Strength.STRONG, "train.py:33")
    assert "manual_seed" in found.advice
    for other in (operation(origin=draws), operation(origin=origin(draws=True, generator_differs=True), a=a)):
        assert getattr(source.recognise(other), "call_site", None) != "train.py:33"


def _line_of(words: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == words)


@pytest.mark.parametrize(
    ("line", "made", "number"),
    [
        ("g = torch.Generator(); g.seed()", 1, "0"),
        ("g = torch.Generator(); g.seed()", 2, "number"),
        ("def noise(): g = torch.Generator(); g.seed()", 1, "number"),  # nobody says how often
    ],
)
def test_the_advice_for_a_generator_that_is_made_again_is_no_constant(tmp_path, line, made, number):
    """Followed, it would have frozen the noise of every batch."""
    (tmp_path / "train.py").write_text(f"import torch\n{line}\n")
    rows = [row("unseeded", "torch.Generator.seed", call_site="train.py:2")] * made
    known = {"cwd": str(tmp_path), "settings": {"code": {"train.py": ""}}, "command": ["python", "train.py"]}
    own = origin("aten::randn", draws=True, generator_differs=True, own_generator=True, phase="forward")
    at = side(*rows, **known)
    found = source.recognise(replace(operation(origin=own), a=at, b=at))
    assert found.advice.startswith(f"generator.manual_seed({number})")
