"""What statements read, write and call."""

from __future__ import annotations

import textwrap

import pytest

from samerun.recording.lines.statements import Call, Statement, find_statements


def find(text: str, line: int = 1) -> Statement:
    return find_statements(textwrap.dedent(text))[line]


def test_an_assignment_reads_writes_and_calls() -> None:
    found = find("self.size, x = pick(args.seed, self.rng.random())")
    assert found.reads == (
        "pick",
        "args.seed",
        "self.rng.random",
        "self.rng",
    )  # what is called may be a model
    assert found.writes == ("self.size", "self", "x")  # with what holds it
    assert found.calls == (Call("pick", 1), Call("self.rng.random", 1))


def test_a_call_on_what_has_no_name_is_named_by_its_attribute() -> None:
    assert find("n = Path('x').stat().st_size").calls == (Call(".stat", 1), Call("Path", 1))


def test_all_lines_of_a_statement_are_that_statement_and_a_call_keeps_its_line() -> None:
    found = find("x = both(\n    a,\n    now(),\n)\n", 3)
    assert (found.line, found.reads) == (1, ("both", "a", "now"))
    assert found.calls == (Call("both", 1), Call("now", 3))


def test_the_head_of_a_loop_does_not_read_what_its_body_does() -> None:
    text = "for i, x in pairs:\n    use(x, y)\n"
    head, body = find(text, 1), find(text, 2)
    assert (head.reads, head.writes, head.loops) == (("pairs",), ("i", "x"), ("pairs",))
    assert (body.reads, body.calls) == (("use", "x", "y"), (Call("use", 2),))


def test_a_function_is_written_and_its_lambdas_wait() -> None:
    assert find("def f(x=start()):\n    return g(x)\n").calls == (Call("start", 1),)
    assert find("f = lambda: now()").calls == ()


@pytest.mark.parametrize(
    ("text", "reads"), [("x += y", ("x", "y")), ("d['k'] += 1", ("d",)), ("d['k'] = v", ("d", "v"))]
)
def test_what_is_changed_in_place_is_read_and_written(text: str, reads: tuple[str, ...]) -> None:
    found = find(text)
    assert set(found.reads) == set(reads)
    assert text[0] in found.writes


def test_a_set_in_a_line_counts_as_a_call_of_it() -> None:
    assert find("for x in {a, b}:\n    pass\n").calls == (Call("set", 1),)


def test_what_cannot_be_parsed_has_no_statements() -> None:
    assert find_statements("x = = 1") == {}
    assert find_statements("x\0") == {}
