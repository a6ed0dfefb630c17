"""The scorer can fail: each thing that an answer can get wrong is found, and a right answer passes."""

import dataclasses
from pathlib import Path

import pytest
from scoring.answer import Answer, Said, base, line_of, ranked
from scoring.case import Case, Fault
from scoring.copying import Line
from scoring.judging import judge
from scoring.totals import goals, share
from scoring.witnessed import Plain, differing, first_step

RANDOM = Fault("python-random", step=(3,), phase=("data",), operation=("index_put_",))
ENTROPY = Fault("os-entropy", accept=("clock",))
FAULTY = Case("faulty", Path(), (), (RANDOM,))
SEVERAL = Case("several", Path(), (), (RANDOM, ENTROPY))
CLEAN = Case("clean", Path(), (), ())
LINES = [Line("python-random", "train.py", 7), Line("os-entropy", "train.py", 9)]


def said(source="python-random", cause=True, line=7, step=3, phase="data", operation="index_put_"):
    return Said(source, cause, cause, ("train.py", line), step, phase, operation)


def differs(*all_said, seconds=3.0):
    return Answer("differs", seconds, tuple(all_said))


def unmet(*scores):
    return [goal.name for goal in goals(scores) if not goal.met]


def test_a_right_answer_is_right_in_everything():
    score = judge(FAULTY, differs(said()), LINES)
    assert score.top1 == dict.fromkeys(("source", "step", "phase", "operation", "line"), True)
    assert not (score.false_same or score.false_alarm or score.missed or score.invented)
    assert unmet(score) == []


@pytest.mark.parametrize(
    ("aspect", "wrong"),
    [
        ("source", {"source": "clock"}),
        ("step", {"step": 4}),
        ("phase", {"phase": "forward"}),
        ("operation", {"operation": "put_"}),
        ("line", {"line": 9}),
    ],
)
def test_each_aspect_can_be_wrong_alone(aspect, wrong):
    score = judge(FAULTY, differs(said(**wrong)), LINES)
    assert [name for name, right in score.top1.items() if not right] == [aspect]


def test_a_suspect_counts_in_the_top_three_alone():
    score = judge(FAULTY, differs(said("clock"), said("os-entropy", cause=False), said(cause=False)), LINES)
    assert (score.top1["source"], score.top3["source"]) == (False, True)
    late = judge(FAULTY, differs(said("clock"), said("a"), said("b"), said()), LINES)
    assert not late.top3["source"]


def test_a_suspect_that_is_first_is_no_cause():
    assert not judge(FAULTY, differs(said(cause=False)), LINES).top1["source"]


def test_same_of_a_faulty_script_is_a_false_same():
    score = judge(FAULTY, Answer("same", 3.0), LINES)
    assert score.false_same
    assert "no false same" in unmet(score)


def test_a_rare_fault_may_not_fire():
    rare = Case("rare", Path(), (), (RANDOM,), rare=True)
    score = judge(rare, Answer("same", 3.0), LINES)
    assert not score.false_same
    assert share([score], "source", 1) == (0, 0)


@pytest.mark.parametrize("verdict", ["differs", "unknown", "nothing"])
def test_anything_but_same_of_a_clean_script_is_a_false_alarm(verdict):
    assert judge(CLEAN, Answer(verdict, 3.0), []).false_alarm
    assert "no false alarm" in unmet(judge(CLEAN, Answer(verdict, 3.0), []))
    assert not judge(CLEAN, Answer("same", 3.0), []).false_alarm


def test_of_several_causes_all_must_be_found_and_none_invented():
    goal = "several causes: all found, none invented"
    assert unmet(judge(SEVERAL, differs(said(), said("clock")), LINES)) == []
    missed = judge(SEVERAL, differs(said()), LINES)
    assert missed.missed == ("os-entropy",)
    assert goal in unmet(missed)
    invented = judge(SEVERAL, differs(said(), said("clock"), said("hash-seed")), LINES)
    assert invented.invented == ("hash-seed",)
    assert goal in unmet(invented)


def test_a_patch_that_does_not_mend_misses_its_goal():
    right = judge(FAULTY, differs(said()), LINES)
    for verdict, met in (("same", True), ("differs", False), ("does not apply", False)):
        seen = [goal for goal in goals([_with(right, patched=verdict)]) if "patch" in goal.name]
        assert [goal.met for goal in seen] == [met]


def test_time_is_counted_in_plain_runs():
    right = judge(FAULTY, differs(said(), seconds=12.0), LINES)
    assert unmet(_with(right, plain=2.0)) == []
    assert unmet(_with(right, plain=1.9)) == ["one cause: at most 6 runs' time"]


def _with(score, **changes):
    return dataclasses.replace(score, **changes)


def test_an_answer_is_ranked_causes_first():
    place = {"step": 3, "phase": "data", "op": "aten.index_put_.default", "call_site": "train.py:8"}
    values = {
        "found": [
            {
                "difference": place,
                "causes": [{"source": "a", "confirmed": True, "call_site": "lib/train.py:7"}],
                "instead": [{"source": "b"}],
            },
            {"difference": {**place, "step": 5}, "causes": [{"source": "c"}], "instead": []},
        ],
        "suspects": [{"source": "d"}],
    }
    made = ranked(values)
    assert [(each.source, each.cause, each.step) for each in made] == [
        ("a", True, 3),
        ("c", True, 5),
        ("b", False, 3),
        ("d", False, 3),
    ]
    assert made[0].line == ("train.py", 7)
    assert made[1].line == ("train.py", 8)  # that of the difference, where the cause has none
    assert made[0].operation == "index_put_"


def test_names_of_operations_and_lines():
    assert base("aten::index_put_.default") == base("aten.index_put_") == base("index_put_") == "index_put_"
    assert base(None) is None
    assert line_of("train.py:12") == ("train.py", 12)
    assert line_of(None) is line_of("train.py") is None


def test_what_the_witness_saw_is_compared_by_step_and_by_kind():
    a = Plain("loss 1.0", 1.0, {"MainProcess": [[0, "input", "x"], [1, "weights", "y"]]})
    other = Plain("loss: 1.0", 1.0, {"MainProcess": [[0, "input", "x"], [1, "weights", "z"]]})
    longer = Plain("loss 1.5", 1.0, {"MainProcess": [*a.seen["MainProcess"], [2, "input", "q"]]})
    assert first_step(a, a) is None
    assert first_step(a, other) == 1
    assert differing(a, other) == {"weights"}
    assert first_step(a, longer) == 2
    assert differing(a, longer) == {"input", "loss"}
