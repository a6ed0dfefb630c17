"""The first changed line, with the change in sight."""

from __future__ import annotations

from samerun.experiments.verify.changed_line import describe_first_change

LONG = 'parser.add_argument("--episodes", type=int, default=30); '


def test_a_short_line_is_shown_whole() -> None:
    said = describe_first_change("train.py", "a = 1\nlr = 0.1\n", "a = 1\nlr = 0.2\n")
    assert said == "train.py:2: lr = 0.1 → lr = 0.2"
    assert describe_first_change("train.py", "a = 1\n", "a = 1\n") is None


def test_of_a_long_line_the_part_that_changed_is_shown() -> None:
    before, after = (f"{LONG * 3}lr = {rate}  # {LONG * 3}" for rate in (0.1, 0.2))
    said = describe_first_change("train.py", before, after)
    assert said is not None and len(said) < 250
    one, other = said.removeprefix("train.py:1: ").split(" → ")
    assert "lr = 0.1 " in one and "lr = 0.2 " in other and one[0] == one[-1] == "…"
