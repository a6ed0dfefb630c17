"""Variables that a command's scripts set: their names are kept, no value is, and nothing of a secret."""

from __future__ import annotations

import pytest

from samerun import set_variables


@pytest.fixture
def started(monkeypatch):
    """What a program with these variables remembers, of a command that was started with those."""

    def start(given, now):
        monkeypatch.setattr(set_variables, "_set", {})
        monkeypatch.setattr(set_variables.os, "environ", dict(now))
        if given is not None:
            set_variables.os.environ[set_variables.VARIABLE] = set_variables.describe_all(given)
        set_variables.remember()
        return set_variables.get_set()

    return start


def test_what_is_new_or_changed_is_remembered_by_its_digest(started):
    given = {"HOME": "/home/me", "SEED": "1", "LANG": "C"}
    found = started(given, {**given, "SEED": "2", "STAMP": "a b"})
    assert sorted(found) == ["SEED", "STAMP"] and "a b" not in str(found)
    assert found["STAMP"] == started(given, {**given, "STAMP": "a b"})["STAMP"]
    assert found["STAMP"] != started(given, {**given, "STAMP": "a c"})["STAMP"]


def test_nothing_is_remembered_of_secrets_of_our_own_and_where_the_start_is_not_known(started):
    assert started({}, {"HF_TOKEN": "x", "DB_PASSWORD": "y", "SAMERUN_PLACE": "z", "A\udcff": "\udcfe"}) == {
        "A\udcff": started({}, {"A\udcff": "\udcfe"})["A\udcff"]
    }
    assert started(None, {"SEED": "2"}) == {}
