"""Which rank this process is, without a process group."""

from __future__ import annotations

import pytest

from samerun.ranks.identity import has_group, rank, world_size


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, (0, 1)), ({"RANK": "2", "WORLD_SIZE": "4"}, (2, 4)), ({"RANK": "none", "WORLD_SIZE": ""}, (0, 1))],
)
def test_the_launchers_variables_say_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: tuple[int, int]
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (rank(), world_size()) == expected
    assert not has_group()
