"""Tier ops: the first operation at which two runs part, and whether it is the origin.

Covers `external_writes.py` and `replayed_operation.py`.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from samerun.comparing.compare_runs import compare
from samerun.comparing.comparison import Comparison
from samerun.comparing.replayed_operation import aim
from samerun.runs.difference import Difference
from samerun.runs.plan import Probe
from samerun.runs.schema import DRAWS, LOADER, NEVER_WRITTEN, UNINITIALIZED

from .build import Builder, Record, d, end, find, flip, group, operation, record, training

OPS = {"tier": "ops", "window": None}


def step(number: int) -> list[Record]:
    return [
        record(number, "data", "batch", "Digits"),
        operation(number, "aten::convolution", f"conv {number}", module="CNN.conv", call_site="model.py:10"),
        operation(
            number,
            "aten::native_dropout",
            f"drop {number}",
            module="CNN.drop",
            call_site="model.py:11",
            flags=DRAWS,
        ),
        operation(number, "aten::addmm", f"mm {number}", module="CNN.fc", call_site="model.py:12"),
        record(number, "forward", "loss", "backward"),
        operation(number, "aten::mm", f"back {number}", phase="backward", module="CNN.fc"),
        group(number, "optimizer", "gradients"),
        group(number, "optimizer", "parameters"),
        record(number + 1, "forward", "rng", "torch-cpu"),
    ]


def rows() -> list[Record]:
    start = [
        operation(0, "aten::normal_", "init", phase="setup", module=None, flags=DRAWS),
        group(0, "setup", "parameters", "CNN"),
        record(0, "setup", "rng", "torch-cpu"),
    ]
    return [*start, *(row for number in range(4) for row in step(number)), end(4)]


def named(these: list[Record], name: str, number: int) -> int:
    return next(at for at, row in enumerate(these) if row["name"] == name and row["step"] == number)


def spread(these: list[Record], after: int) -> None:
    """Everything that comes after a place has another digest, and other inputs."""
    for row in these[after + 1 : -1]:
        if row["what"] in ("rng", "batch"):
            continue
        flip(row)
        if row["what"] == "operation":
            row["inputs"] = 8


def ops(build: Builder, one: list[Record], other: list[Record], **manifest: Any) -> Comparison:
    values = {"tier": "ops", "plan": OPS, **manifest}
    return compare(build(one, **values), build(other, **values))


def first(result: Comparison) -> Difference:
    assert result.verdict == "differs"
    assert result.difference is not None
    return result.difference


def test_equal(build: Builder) -> None:
    result = ops(build, rows(), rows())
    assert (result.verdict, result.scope.tier, result.scope.counts["operation"]) == ("same", "ops", 17)


def test_the_origin_and_what_it_spreads_to(build: Builder) -> None:
    changed = rows()
    at = named(changed, "aten::mm", 2)
    flip(changed[at])
    spread(changed, at)
    result = ops(build, rows(), changed)
    found = first(result)
    assert (found.step, found.phase, found.what, found.op) == (2, "backward", "operation", "aten::mm")
    assert (found.module, found.call_site, found.kind) == ("CNN.fc", "model.py:9", "value")
    assert found.origin is not None
    assert found.origin.inputs_equal
    assert (found.origin.op, found.origin.draws, found.origin.generator_differs) == ("aten::mm", False, None)
    assert not found.origin.first_of_process
    assert "first visible in the step records as: gradients SGD, step 2" in result.notes


@pytest.mark.parametrize("at", [at for at, row in enumerate(rows()) if row["what"] == "operation"])
def test_one_bit_of_any_operation(build: Builder, at: int) -> None:
    changed = rows()
    flip(changed[at])
    found = first(ops(build, rows(), changed))
    assert (found.step, found.op) == (changed[at]["step"], changed[at]["name"])


def test_a_draw_from_a_generator_whose_state_differs(build: Builder) -> None:
    for state_differs in (True, False):
        changed = rows()
        at = named(changed, "aten::native_dropout", 1)
        flip(changed[at])
        spread(changed, at)
        if state_differs:
            flip(changed[named(changed, "torch-cpu", 1)])
        found = first(ops(build, rows(), changed))
        assert found.origin is not None
        assert found.origin.draws
        assert found.origin.generator_differs is state_differs
        assert found.rng_first == ({"torch-cpu": 1} if state_differs else {})
        assert "torch-cpu" in found.drawn


@pytest.mark.parametrize("own_differs", [True, False])
def test_a_draw_from_a_generator_of_the_scripts_own(build: Builder, own_differs: bool) -> None:
    def made(text: str) -> list[Record]:
        these = rows()
        at = named(these, "aten::native_dropout", 1)
        these[at] |= {"digest": d(text), "detail": "torch-cpu:generator"}
        state = text if own_differs else "own"
        these.insert(at, record(1, "forward", "rng", "torch-cpu:generator", digest=d(state)))
        if not own_differs:  # then that torch's own differs says nothing
            these[named(these, "torch-cpu", 1)]["digest"] = d(text)
        return these

    found = first(ops(build, made("a"), made("b")))
    assert found.origin is not None
    assert found.origin.generator_differs is own_differs
    assert found.origin.own_generator


def test_a_generator_of_unknown_state(build: Builder) -> None:
    changed = rows()
    flip(changed[0])
    found = first(ops(build, rows(), changed))
    assert (found.phase, found.step, found.op) == ("setup", 0, "aten::normal_")
    assert found.origin is not None
    assert found.origin.generator_differs is None
    assert found.origin.first_of_process


def test_a_batch_that_differs_is_not_blamed_on_an_operation(build: Builder) -> None:
    changed = rows()
    at = find(changed, "batch", 2)
    flip(changed[at])
    spread(changed, at)
    found = first(ops(build, rows(), changed))
    assert (found.step, found.phase, found.what, found.op, found.origin) == (2, "data", "batch", None, None)


def test_a_batch_explains_an_earlier_operation_of_its_step(build: Builder) -> None:
    def with_stack(out: str, inputs: int) -> list[Record]:
        these = rows()
        at = find(these, "batch", 2)
        these.insert(at, operation(2, "aten::stack", out, inputs=inputs, phase="data"))
        if out == "b":
            flip(these[at + 1])
            spread(these, at + 1)
        return these

    found = first(ops(build, with_stack("a", 1), with_stack("b", 2)))
    assert (found.what, found.phase) == ("batch", "data")
    assert found.origin is not None
    assert (found.origin.op, found.origin.inputs_equal) == ("aten::stack", False)
    drawn_there = first(ops(build, with_stack("a", 1), with_stack("b", 1)))
    assert (drawn_there.what, drawn_there.op) == ("operation", "aten::stack")


@pytest.mark.parametrize("inputs", [8, None])
def test_inputs_that_differ_or_are_not_known_make_no_origin(build: Builder, inputs: int | None) -> None:
    changed = rows()
    at = named(changed, "aten::convolution", 1)
    flip(changed[at])
    changed[at]["inputs"] = inputs
    found = first(ops(build, rows(), changed))
    assert found.origin is not None
    assert not found.origin.inputs_equal


def test_reads_of_memory_that_nothing_wrote(build: Builder) -> None:
    changed = rows()
    at = named(changed, "aten::addmm", 1)
    flip(changed[at])
    changed[at]["flags"] = UNINITIALIZED
    found = first(ops(build, rows(), changed))
    assert found.origin is not None
    assert found.origin.reads_uninitialized


@pytest.mark.parametrize("flag", [LOADER, NEVER_WRITTEN])
def test_what_is_not_compared(build: Builder, flag: int) -> None:
    one = rows()
    one.insert(5, operation(0, "aten::empty", "garbage", flags=flag))
    other = copy.deepcopy(one)
    flip(other[5])
    assert ops(build, one, other).verdict == "same"
    flip(other[6])
    assert ops(build, one, other).verdict == "differs"


def test_operations_of_a_loader_come_and_go(build: Builder) -> None:
    other = rows()
    other.insert(9, operation(1, "aten::stack", "x", flags=LOADER, phase="data"))
    assert ops(build, rows(), other).verdict == "same"


@pytest.mark.parametrize("lacking", ["a", "b"])
@pytest.mark.parametrize("name", ["aten::mul", "aten::mm", "aten::addmm"])
def test_an_operation_that_only_one_run_has(build: Builder, lacking: str, name: str) -> None:
    more = rows()
    at = named(more, "aten::addmm", 2)
    more.insert(at, operation(2, name, "extra", module="CNN.fc", call_site="model.py:77"))
    runs = (rows(), more) if lacking == "a" else (more, rows())
    result = ops(build, *runs)
    found = first(result)
    if name != "aten::addmm":  # else it could as well be the same operation with another value
        assert (found.kind, found.op, found.call_site, found.step) == ("flow", name, "model.py:77", 2)
        here, there = ("B", "A") if lacking == "a" else ("A", "B")
        assert (
            f"only run {here} has operation {name} (model.py:77); run {there} has "
            "operation aten::addmm (model.py:12) there (different control flow)" in result.notes
        )


READ = "aten._local_scalar_dense.default"


@pytest.mark.parametrize("lacking", ["a", "b"])
@pytest.mark.parametrize("where", ["first", "last"])
def test_a_number_that_only_one_run_reads_to_print_it_is_passed_over(
    build: Builder, lacking: str, where: str
) -> None:
    more = rows()
    at = named(more, "aten::convolution", 2) if where == "first" else len(more) - 1
    more.insert(at, operation(2 if where == "first" else 3, READ, "loss", call_site="train.py:9"))
    runs = (rows(), more) if lacking == "a" else (more, rows())
    assert ops(build, *runs).verdict == "same"
    flip(more[named(more, "aten::addmm", 2)])
    found = first(ops(build, *runs))
    assert (found.kind, found.op, found.step) == ("value", "aten::addmm", 2)


def test_a_number_that_both_read_counts(build: Builder) -> None:
    read, other = rows(), rows()
    for these, value in ((read, "one"), (other, "two")):
        these.insert(named(these, "aten::convolution", 2), operation(2, READ, value))
    assert first(ops(build, read, other)).op == READ


def test_an_operation_more_that_looks_like_its_neighbour(build: Builder) -> None:
    def chain(*outs: str) -> list[Record]:
        return [operation(0, "aten::add_", out) for out in outs] + [end(0)]

    found = first(ops(build, chain("a", "b", "c", "d"), chain("a", "new", "b", "c", "d")))
    assert found.kind == "flow"
    assert found.origin is None
    changed = first(ops(build, chain("a", "b", "c", "d"), chain("a", "new", "c", "d", "e")))
    assert changed.kind == "value"


def test_operations_more_at_the_end(build: Builder) -> None:
    more = rows()
    more.insert(-1, operation(3, "aten::sum", "more", phase="evaluation"))
    found = first(ops(build, rows(), more))
    assert (found.kind, found.op) == ("flow", "aten::sum")


def further(found: Difference) -> list[tuple[str, int, str, str | None, str | None, int]]:
    return [(item.kind, item.step, item.op, item.call_site, item.run, item.count) for item in found.further]


def test_the_comparison_goes_on_after_the_first_difference(build: Builder) -> None:
    changed = rows()
    first_, second = named(changed, "aten::convolution", 1), named(changed, "aten::mm", 2)
    flip(changed[first_])
    spread(changed, first_)
    changed[second]["inputs"] = 7  # equal to those of the other run: it differs of itself
    found = first(ops(build, rows(), changed))
    assert (found.step, found.op) == (1, "aten::convolution")
    assert further(found) == [("origin", 2, "aten::mm", "model.py:9", None, 1)]
    assert found.propagated == 10


def test_a_draw_after_the_first_difference(build: Builder) -> None:
    for state_differs in (True, False):
        changed = rows()
        first_ = named(changed, "aten::convolution", 1)
        flip(changed[first_])
        spread(changed, first_)
        changed[named(changed, "aten::native_dropout", 3)]["inputs"] = 7
        if state_differs:
            flip(changed[named(changed, "torch-cpu", 3)])
        found = first(ops(build, rows(), changed))
        kind = "rng" if state_differs else "origin"
        assert further(found) == [(kind, 3, "aten::native_dropout", "model.py:11", None, 1)]


def test_memory_of_another_shape_that_is_filled_after_the_difference_explains_nothing(build: Builder) -> None:
    """The generator is in the same state: other numbers come of how many there are."""

    def made(name: str, text: str) -> list[Record]:
        return [
            operation(0, "aten::cat", f"data {text}"),
            record(0, "forward", "rng", "torch-cpu"),
            operation(0, name, f"mask {text}", flags=DRAWS, detail="torch-cpu"),
            end(1),
        ]

    for name, later in (("aten.bernoulli_.float", []), ("aten.native_dropout", ["origin"])):
        found = first(ops(build, made(name, "short"), made(name, "long")))
        assert found.op == "aten::cat"
        assert [item.kind for item in found.further] == later


@pytest.mark.parametrize(
    ("name", "equal"),
    [("aten.lift_fresh.default", False), ("aten.from_numpy", False), ("aten.mm.default", True)],
)
def test_what_brings_data_into_torch_makes_nothing_of_its_inputs(
    build: Builder, name: str, equal: bool
) -> None:
    """A thread wrote into the array meanwhile: "gave other bits for equal inputs" was confirmed of a view."""
    runs = [[operation(0, name, text, inputs=7), end(0)] for text in ("one", "other")]
    origin = first(ops(build, *runs)).origin
    assert origin is not None and origin.inputs_equal is equal


@pytest.mark.parametrize(
    ("name", "later"), [("aten::rand", []), ("aten::native_dropout", [("rng", "aten::randperm")])]
)
def test_a_draw_of_another_size_moves_the_generator_for_what_comes_after(
    build: Builder, name: str, later: list[tuple[str, str]]
) -> None:
    """Batches of other shapes are masked by so many numbers; a dropout of other values takes as many."""

    def made(text: str, state: str) -> list[Record]:
        return [
            operation(0, "aten::cat", f"data {text}"),
            record(0, "forward", "rng", "torch-cpu", digest=d("at first")),
            operation(0, name, f"drawn {text}", inputs=len(text), flags=DRAWS, detail="torch-cpu"),
            end(0),
            record(1, "forward", "rng", "torch-cpu", digest=d(state)),
            operation(1, "aten::randperm", f"order {text}", inputs=9, flags=DRAWS, detail="torch-cpu"),
            end(1),
        ]

    found = first(ops(build, made("short", "one"), made("longer", "other")))
    assert found.op == "aten::cat"
    assert [(item.kind, item.op) for item in found.further] == later


@pytest.mark.parametrize(
    ("name", "later"), [("aten.uniform_.default", []), ("aten.native_dropout.default", ["aten::randperm"])]
)
def test_a_first_difference_in_how_much_is_drawn_moves_the_generator(
    build: Builder, name: str, later: list[str]
) -> None:
    """A layer is wider in one run: `a second one, not caused by it` was the next layer's weights."""

    def made(text: str) -> list[Record]:
        return [
            record(0, "setup", "rng", "torch-cpu", digest=d("at first")),
            operation(0, name, f"weights {text}", flags=DRAWS, detail="torch-cpu"),
            end(0),
            record(1, "forward", "rng", "torch-cpu", digest=d(text)),
            operation(1, "aten::randperm", f"order {text}", inputs=9, flags=DRAWS, detail="torch-cpu"),
            end(1),
        ]

    found = first(ops(build, made("wide"), made("narrow")))
    assert found.op == name
    assert [item.op for item in found.further] == later


def test_what_only_one_run_draws_moves_the_generator_for_what_comes_after(build: Builder) -> None:
    def made(text: str, *, more: bool) -> list[Record]:
        drawn = [operation(0, "aten::rand", "more", flags=DRAWS, detail="torch-cpu")] if more else []
        return [
            operation(0, "aten::cat", f"data {text}"),
            record(0, "forward", "rng", "torch-cpu", digest=d("at first")),
            *drawn,
            end(0),
            record(1, "forward", "rng", "torch-cpu", digest=d(text)),
            operation(1, "aten::randperm", f"order {text}", inputs=9, flags=DRAWS, detail="torch-cpu"),
            end(1),
        ]

    found = first(ops(build, made("one", more=False), made("other", more=True)))
    assert [(item.kind, item.op) for item in found.further] == [("flow", "aten::rand")]


@pytest.mark.parametrize(
    ("generator", "later"),
    [("torch-cpu", []), ("torch-cpu:generator", [(2, 1), (3, 1)])],
    ids=["shared", "own"],
)
def test_what_is_drawn_from_the_generator_that_differed_first_is_no_difference_of_its_own(
    build: Builder, generator: str, later: list[tuple[int, int]]
) -> None:
    def draws() -> list[Record]:
        made = []
        for at in range(4):
            made += [record(at, "forward", "rng", generator)]
            made += [operation(at, "aten::randn", f"drawn {at}", flags=DRAWS, detail=generator), end(at)]
        return made

    changed = draws()
    for row in changed[3:-1]:
        if row["what"] in ("rng", "operation"):
            flip(row)
    found = first(ops(build, draws(), changed))
    assert (found.step, found.op) == (1, "aten::randn")
    assert found.origin is not None and found.origin.generator_differs
    assert [(item.kind, item.step, item.count) for item in found.further] == [("rng", *at) for at in later]


def test_the_order_of_a_loader_that_draws_its_seed_from_what_differs_is_no_difference_of_its_own(
    build: Builder,
) -> None:
    def draws(text: str) -> list[Record]:
        made = []
        for name, generator in (("aten::uniform_", "torch-cpu"), ("aten::randperm", "torch-cpu:generator")):
            made += [
                record(0, "setup", "rng", generator, digest=d(text)),
                operation(0, name, text, flags=DRAWS, detail=generator),
            ]
        return [*made, end(1)]

    found = first(ops(build, draws("one"), draws("other")))
    assert (found.op, found.further) == ("aten::uniform_", ())


@pytest.mark.parametrize("only", ["a", "b"])
def test_the_comparison_goes_on_after_an_operation_that_only_one_run_has(build: Builder, only: str) -> None:
    more = rows()
    at = named(more, "aten::addmm", 1)
    extra = operation(1, "aten::mul", "extra", module="CNN.fc", call_site="model.py:77")
    more[at:at] = [extra, dict(extra), operation(1, "aten::add", "x", call_site="model.py:78")]
    flip(more[named(more, "aten::mm", 2)])
    runs = (more, rows()) if only == "a" else (rows(), more)
    found = first(ops(build, *runs))
    assert (found.kind, found.op, found.call_site, found.run) == ("flow", "aten::mul", "model.py:77", only)
    assert found.instead is not None
    assert (found.instead.name, found.instead.call_site) == ("aten::addmm", "model.py:12")
    assert further(found) == [
        ("flow", 1, "aten::mul", "model.py:77", only, 1),
        ("flow", 1, "aten::add", "model.py:78", only, 1),
        ("origin", 2, "aten::mm", "model.py:9", None, 1),
    ]
    assert found.propagated == 0


def test_an_operation_missing_later_is_found_among_many_that_differ(build: Builder) -> None:
    def long(name: str, missing: int | None) -> list[Record]:
        return [
            operation(
                0, f"aten::op{number % 7}", f"{name} {number}", inputs=number if name == "a" else -number
            )
            for number in range(1, 5_000)
            if number != missing
        ]

    changed = [{**row, "inputs": abs(row["inputs"]) + 9_000} for row in long("b", 3_000)]
    found = first(ops(build, [*long("a", None), end(0)], [*changed, end(0)]))
    assert found.op == "aten::op1"
    assert [item[:3] for item in further(found)][:1] == [("flow", 0, f"aten::op{3_000 % 7}")]


def gap_row(number: int, digest: str, at: str | None = "model.py:10") -> Record:
    detail = '{"seen_by": "aten::add_", "seen_at": "train.py:40", "tensor": "fc.weight"}'
    return record(
        number,
        "forward",
        "gap",
        "aten::addmm",
        digest=d(digest),
        call_site=at,
        module="CNN.fc",
        detail=detail,
    )


def with_gap(text: str, *, inputs: int, gap: bool = True) -> list[Record]:
    these = rows()
    at = named(these, "aten::addmm", 1)
    these[at].update(digest=d(text), inputs=inputs)
    if gap:
        these.insert(at, gap_row(1, text))
    return these


def test_memory_written_past_torch_is_blamed_on_the_gap(build: Builder) -> None:
    found = first(ops(build, with_gap("a", inputs=1), with_gap("b", inputs=2)))
    assert found.gap is not None
    assert (found.gap.met_by, found.gap.met_at, found.gap.run) == ("aten::addmm", "model.py:10", None)
    assert (found.gap.seen_by, found.gap.seen_at) == ("aten::add_", "train.py:40")
    assert found.gap.tensor == "fc.weight"


@pytest.mark.parametrize("only", ["a", "b"])
def test_a_gap_that_only_one_run_has(build: Builder, only: str) -> None:
    runs = with_gap("a", inputs=1, gap=only == "a"), with_gap("b", inputs=2, gap=only == "b")
    found = first(ops(build, *runs))
    assert found.gap is not None
    assert found.gap.run == only


def test_a_gap_of_equal_bytes_explains_nothing(build: Builder) -> None:
    changed = with_gap("a", inputs=1)
    flip(changed[named(changed, "aten::addmm", 1) + 1])  # the operation itself
    found = first(ops(build, with_gap("a", inputs=1), changed))
    assert found.op == "aten::addmm"
    assert found.gap is None


def test_the_operation_to_probe_is_counted_among_its_like(build: Builder) -> None:
    def chain(last: str) -> list[Record]:
        names = ["aten::mm", "aten::mm", "aten::add", "aten::mm"]
        return [
            operation(1, "aten::mm", "earlier"),
            operation(2, "aten::mm", "elsewhere", module="CNN.fc"),
            *(operation(2, name, f"{name} {number}") for number, name in enumerate(names)),
            operation(2, "aten::mm", last),
        ]

    a, b = (build(chain(last), tier="ops", plan=OPS) for last in "xy")
    assert aim(a, first(compare(a, b))) == Probe(2, "aten::mm", "forward", "CNN", "model.py:9", nth=3)
    other = [{**row, "what": "loss"} if row["name"] == "aten::add" else row for row in chain("x")]
    assert aim(a, first(compare(a, build(other, tier="ops", plan=OPS)))) is None


def test_only_steps_in_both_windows_are_compared(build: Builder) -> None:
    def within(first_: int, last: int) -> list[Record]:
        def keep(row: Record) -> bool:
            at = -1 if row["phase"] == "setup" else row["step"]
            return row["what"] != "operation" or first_ <= at <= last

        return [row for row in rows() if keep(row)]

    early = build(within(-1, 1), tier="ops", plan={"tier": "ops", "window": [-1, 1]})
    late = build(within(1, 2), tier="ops", plan={"tier": "ops", "window": [1, 2]})
    result = compare(early, late)
    assert (result.verdict, result.scope.counts["operation"]) == ("same", 4)
    steps_only = build(training(1)[:1] + within(9, 9))
    assert compare(early, steps_only).scope.tier == "steps"
    missing = within(1, 2)
    missing.pop(named(missing, "aten::mm", 1))
    found = first(compare(early, build(missing, tier="ops", plan={"tier": "ops", "window": [1, 2]})))
    assert (found.kind, found.op) == ("flow", "aten::mm")


def test_a_window_that_opens_later_does_not_know_what_came_first(build: Builder) -> None:
    plan = {"tier": "ops", "window": [1, 2]}
    changed = rows()
    flip(changed[named(changed, "aten::convolution", 1)])
    found = first(ops(build, rows(), changed, plan=plan))
    assert found.origin is not None
    assert not found.origin.first_of_process


def test_a_difference_before_the_window_is_told_by_its_record(build: Builder) -> None:
    changed = rows()
    at = find(changed, "loss", 0)
    flip(changed[at])
    spread(changed, at)
    found = first(ops(build, rows(), changed, plan={"tier": "ops", "window": [2, 2]}))
    assert (found.step, found.what, found.origin) == (0, "loss", None)
