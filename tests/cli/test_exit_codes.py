from __future__ import annotations

from samerun.cli.exit_codes import OF_VERDICT, read_exit_code


def test_the_verdicts_have_their_codes() -> None:
    assert OF_VERDICT == {"same": 0, "differs": 1, "unknown": 3}


def test_a_command_that_ended_by_itself_keeps_its_code() -> None:
    assert [read_exit_code(code) for code in (0, 2, 75)] == [0, 2, 75]


def test_a_signal_is_reported_as_a_shell_does() -> None:
    assert read_exit_code(-9) == 137
    assert read_exit_code(-11) == 139


def test_an_unknown_end_is_not_success() -> None:
    assert read_exit_code(None) == 3
