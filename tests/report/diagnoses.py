"""A diagnosis with all there is, its runs on disk, and any text that a run can bring, in all its words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from comparing.build import Builder, Record, end, flip, group, operation, record

from samerun.comparing.draw_ledger import DrawCount
from samerun.comparing.growth import Distance, Growth
from samerun.comparing.replayed_operation import Replay, Way
from samerun.experiments.check.result import CheckResult
from samerun.experiments.diagnose.result import Diagnosis, FirstDifference, Proof
from samerun.experiments.lookup import Lookup
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch
from samerun.runs.difference import Difference, Origin
from samerun.runs.schema import DRAWS
from samerun.runs.store import Run, Store

STEPS = 40
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{7*7}}{%x%}<!--]]>"
    "<a href=javascript:alert(3)>x</a>\x00\x1b[31m\u202egnp.\u2066\u2028\ufeff&lt;b&gt; " + "w" * 300
)

SCRIPT = """\
import random

import torch


def crop(image):
    x = random.randrange(4)  # {note}
    return image[:, x:]


\tprint(crop)  # a tab
"""

PATCH = """\
--- a/train.py
+++ b/train.py
@@ -1,5 +1,6 @@
 import random
+random.seed(0)
+# {note}
 import os
 import torch
--- old comment
 \tprint(crop)
"""


@dataclass(frozen=True)
class Case:
    """A diagnosis, and where its runs are."""

    diagnosis: Diagnosis
    lookup: Lookup
    runs: tuple[Run, ...]


def a_case(folder: Path, brings: str = "") -> Case:
    """The diagnosis; `brings` is put into every text that comes from a run, a file or a user's script."""

    def t(text: str) -> str:
        return text + brings

    folder.mkdir(parents=True, exist_ok=True)
    note = brings.replace("\u2028", " ").replace("{", "(").replace("\x00", "?")
    (folder / "train.py").write_text(SCRIPT.replace("{note}", note), encoding="utf-8")
    runs = _runs(folder / "runs", folder, t)
    a, b, near_a, near_b = runs
    first = Difference(
        3,
        "data",
        "batch",
        name=t("Digits"),
        module=t("CNN.conv"),
        call_site="train.py:7",
        process="rank0",
        indices_equal=True,
        origin=Origin(t("aten.index"), t("CNN"), "train.py:7", "data", True, True, True, True, False),
    )
    later = Difference(9, "backward", "gradients", name=t("conv.weight"), call_site=t("model.py:3"))
    causes = (
        Cause(
            "python-random", True, t("import random\nrandom.seed(0)"), t("`random` drew at 7"), "train.py:7"
        ),
        Cause("nondeterministic-kernels", True, t("torch.x()"), t("equal in, other out"), None, True),
        Cause("threads", True, "", t("seen"), None, True),
    )
    ruled = (Cause(t("hash-seed"), False, "", t("a set was walked")),)
    ledger = (
        DrawCount(
            t("python-random"), 3, t("rank0.worker1"), t("train.py:7"), t("randrange"), 3, 4, True, True
        ),
        DrawCount("torch-cpu", 3, "rank0", None, None, 2, 2, None, False),
    )
    proof = Proof((near_a.id, near_b.id), ("python-random",), "control", 9, STEPS)
    whole = Proof((near_a.id,), (t("python-random"), "threads"), "patch", None, STEPS)
    check = CheckResult(
        "differs",
        (a.id, b.id),
        command=("python", "train.py", t("--name=x")),
        folder=str(folder),
        steps=STEPS,
        scope=t("2 runs, 40 steps"),
        difference=first,
        pair=(a.id, b.id),
        causes=causes,
        suspects=(Cause(t("torch-cpu"), False, "", t("also drawn from")),),
        losses=tuple(
            {step: (2.0 - step / 64 + more * (step > 3),) for step in range(STEPS)} for more in (0, 1e-3)
        ),
        notes=(t("a note"),),
        output=(t("the last line"),),
        place=t("runs"),
        verdicts=("differs",),
    )
    alone = Replay(t("aten.put_"), 9, "backward", None, None, (Way(t("as it is"), 9, 4, 1, None),), t("lost"))
    found = (
        FirstDifference(
            first, (near_a.id, near_b.id), causes[:1], proof, ruled, _growth(3), ledger, (t("noted"),)
        ),
        FirstDifference(later, (near_a.id, near_b.id), causes[1:], whole, (), _growth(9), alone=alone),
    )
    patch = Patch(PATCH.replace("{note}", note), {}, {t("threads"): t("set `OMP_NUM_THREADS`")}, True, ("x",))
    diagnosis = Diagnosis(check, found, True, patch, t("2 equal runs"), 9)
    return Case(diagnosis, Lookup(Store(folder / "none"), runs), runs)


def _growth(start: int) -> Growth:
    distances = tuple(
        Distance(step, 2, 3, 1e-8 * 1.3**step if step % 5 else 0.0, 2.0 ** (step / 3), 1.0 + step, 10, 100, 9)
        for step in range(start, STEPS)
    )
    return Growth(distances, True, None, start)


def _runs(folder: Path, script: Path, t: Callable[[str], str]) -> tuple[Run, ...]:
    folder.mkdir()
    build = Builder(folder)
    runs = []
    for number in range(4):
        tier = {"tier": "ops", "window": [2, 3]} if number > 1 else {"tier": "steps", "window": None}
        run = build(_rows(t, differs=number % 2 == 1, operations=number > 1))
        manifest = replace(
            run.manifest,
            command=("python", t("train.py")),
            cwd=str(script),
            tier=str(tier["tier"]),
            plan={**tier, "control": None},
            steps=STEPS,
            duration_s=1.5,
            environment={"OMP_NUM_THREADS": str(number % 2), t("LANG"): t("C")},
            packages={t("torch"): t("2.13")},
            settings={t("threads"): {t("intra"): t("2"), "inter": number % 2}},
            platform=t("Linux"),
            git={"commit": t("abc"), "dirty": True, "diff": None},
        )
        manifest.write(run.path)
        (run.path / "output.txt").write_text(t("printed") + "\nlast line\n", encoding="utf-8")
        run = Run(run.path)
        runs.append(run)
    return tuple(runs)


def _rows(t: Callable[[str], str], *, differs: bool, operations: bool) -> list[Record]:
    rows = [
        group(0, "setup", "parameters", "CNN"),
        record(0, "setup", "setting", t("threads"), detail=json.dumps({t("intra"): t("2")}), digest=None),
    ]
    for step in range(STEPS):
        rows += _step(t, step, operations and step in (2, 3), differs and step >= 3)
    return [*rows, end(STEPS)]


def _step(t: Callable[[str], str], step: int, operations: bool, differs: bool) -> list[Record]:
    rows = [record(step, "data", "batch", t("Digits"))]
    if operations:
        drawn = "b" if differs else "a"
        rows.append(operation(step, t("aten.rand"), drawn, phase="data", module=None, flags=DRAWS))
        if differs:
            rows.append(operation(step, t("aten.extra"), "extra", module=t("CNN")))
        more = {"module": t("CNN.conv"), "call_site": t("model.py:3")}
        rows.append(operation(step, t("aten.convolution"), f"c{drawn}", inputs=8 + differs, **more))
        rows.append(operation(step, t("aten.relu"), f"r{drawn}", **more))
    rows += [
        record(step, "forward", "output", "CNN"),
        record(step, "forward", "loss", "backward", value=2.0 - step / 64),
        group(step, "optimizer", "gradients"),
        group(step, "optimizer", "parameters"),
    ]
    if differs:
        for row in rows:
            if row["what"] != "operation":
                flip(row)
        if step == 5:
            rows.append(record(step, "evaluation", "output", "CNN"))
    return rows
