"""Results of `vary` and `study` made by hand."""

from __future__ import annotations

from samerun.experiments.study.paired_test import compare_paired
from samerun.experiments.study.result import SourceSpread, StudyResult
from samerun.experiments.study.variance import compute_mean_interval, measure_luck, spread, sum_up
from samerun.experiments.vary.result import Effect, Size, VaryResult
from samerun.runs.difference import Difference

RUNS = ("20261101T120000Z-aaaa", "20261101T120100Z-bbbb")
EFFECT = Effect(
    "threads",
    "1 thread",
    "differs",
    RUNS,
    difference=Difference(3, "backward", "operation", op="aten.convolution_backward", call_site="train.py:7"),
    size=Size(3, 12.0, (0.5, 0.625)),
    repeats=False,
)
VARIED = VaryResult(
    "differs",
    RUNS,
    ("python", "train.py"),
    "/work",
    "strict",
    90,
    effects=(Effect("hostname", "host name x", "same", RUNS, in_play=False), EFFECT),
    together=(("locale", "LC_ALL=C"), ("user", "user x")),
    untried=(("compile", "compiled"),),
    place=".samerun/runs",
)


def studied() -> StudyResult:
    values = (0.9, 0.92, 0.91, 0.95, 0.93, 0.9)
    seeds = tuple(range(1, 7))
    alone = SourceSpread("dropout", "dropout", spread(values), seeds, values)
    idle = SourceSpread("worker-seeds", "augmentation", spread([0.0] * 5), in_play=False)
    together = SourceSpread("together", "all of them together", spread(values), seeds, values)
    return StudyResult(
        ("python", "a.py"),
        "accuracy (.*)",
        True,
        6,
        (alone, idle),
        together,
        compute_mean_interval(values),
        sum_up([spread(values)], spread(values)),
        measure_luck(seeds, values, 4),
        measure_luck(seeds, values, 1),
        ((0.01, 20),),
        ("python", "b.py"),
        compare_paired(values, [value - 0.02 for value in values]),
        made=30,
        known=2,
        place=".samerun",
    )
