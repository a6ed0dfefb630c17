"""Covers `base.py`."""

from __future__ import annotations

import argparse

import pytest

from samerun.cli.arguments import find_verbs, parse
from samerun.cli.base import parse_seconds, seed
from samerun.errors import UsageError


def command_of(line: str) -> list[str]:
    _, options = parse(line.split(), find_verbs())
    command: list[str] = options.command
    return command


def test_the_verbs_are_found_by_folder() -> None:
    assert {"check", "diff", "env", "run", "runs"} <= set(find_verbs())


@pytest.mark.parametrize("verb", sorted(find_verbs()))
def test_every_verb_has_a_summary_and_an_example_of_itself(verb: str) -> None:
    found = find_verbs()[verb]
    assert found.summary
    assert found.example.startswith(f"samerun {verb}")


@pytest.mark.parametrize(
    "line, command",
    [
        ("check -- python train.py", "python train.py"),
        ("check python train.py --lr 1", "python train.py --lr 1"),
        ("check python train.py -n 3", "python train.py -n 3"),
        ("check -n 3 python train.py --seed 4", "python train.py --seed 4"),
        ("check -n3 --steps=5 -- python train.py -- x", "python train.py -- x"),
        ("check --controlled bash -c y -- z", "bash -c y -- z"),
        ("run --control clock --control os-entropy -- torchrun x.py", "torchrun x.py"),
    ],
)
def test_the_command_is_passed_on_as_it_is(line: str, command: str) -> None:
    assert command_of(line) == command.split()


def test_options_before_the_command_are_ours() -> None:
    _, options = parse(
        ["check", "-n", "3", "--seed", "4", "--controlled", "python", "t.py", "-n", "9"], find_verbs()
    )
    assert (options.runs, options.seed, options.controlled) == (3, 4, True)


@pytest.mark.parametrize(
    "line, said",
    [
        ("", "samerun check --steps 3 -- python train.py"),
        ("check", "no command to run; put it after --"),
        ("check --", "no command to run; put it after --"),
        ("check -n 1 -- a", "1 is too few; give 2 or more"),
        ("check -n two -- a", "'two' is not an integer"),
        ("check --steps 0 -- a", "0 is too few; give 1 or more"),
        ("check --seed -1 -- a", "-1 is not a seed"),
        ("check --mode fast -- a", "invalid choice: 'fast'"),
        ("check --timeout nan -- a", "'nan' is not a number of seconds"),
        ("check --jsn f -- a", "unrecognized arguments: --jsn"),
        ("check --stpes 3 -- a", "--stpes; did you mean --steps?;"),
        ("help chek", "did you mean 'check'?"),
        ("check -- -n 3 python t.py", "options of samerun go before --"),
        ("-- python t.py", "for example: samerun check -- python t.py"),
        ("chek -- python t.py", "did you mean 'check'?"),
        ("python t.py", "there is no verb 'python'"),
        ("diff a", "the following arguments are required: RUN"),
        ("runs burn x", "invalid choice: 'burn'"),
        ("--fast", "unrecognized arguments: --fast"),
    ],
)
def test_a_mistake_says_what_it_is_and_what_to_do(line: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(line.split(), find_verbs())
    assert said in str(error.value)
    assert "samerun" in str(error.value)


@pytest.mark.parametrize(("line", "usage"), [("help", "samerun VERB"), ("help diff", "samerun diff")])
def test_help_is_what_the_option_shows(line: str, usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(line.split(), find_verbs())
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {usage}")


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        parse(["check", "--", ""], find_verbs())


def test_a_seed_has_64_bits() -> None:
    assert seed("18446744073709551615") == 2**64 - 1
    with pytest.raises(argparse.ArgumentTypeError):
        seed("18446744073709551616")


def test_seconds_are_positive_and_finite() -> None:
    assert parse_seconds("1.5") == 1.5
    for text in ("0", "-1", "inf", "soon"):
        with pytest.raises(argparse.ArgumentTypeError):
            parse_seconds(text)
