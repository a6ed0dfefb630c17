"""Results made by hand, one for each verdict."""

from __future__ import annotations

from samerun.experiments.check.result import CheckResult
from samerun.explaining.cause import Cause
from samerun.runs.difference import Difference, Origin

SCRIPT = """\
import random

def crop(image):
    x = random.randrange(4)
    return image[x:]

print(crop)
"""

SAME = CheckResult(
    "same",
    ("20261101T120000Z-aaaa", "20261101T120100Z-bbbb"),
    command=("python", "train.py"),
    steps=90,
    scope="2 runs, 90 steps, 1 rank: every batch, loss, gradient, parameter",
    losses=({0: (2.3025851249694824,), 1: (2.25,), 2: (2.0,)},) * 2,
    place=".samerun/runs",
)

DIFFERS = CheckResult(
    "differs",
    ("20261101T120000Z-aaaa", "20261101T120100Z-bbbb", "20261101T120200Z-cccc"),
    command=("python", "train.py", "--name", "two words"),
    steps=30,
    difference=Difference(
        step=7,
        phase="data",
        what="batch",
        call_site="train.py:4",
        indices_equal=True,
        same_samples=True,
    ),
    pair=("20261101T120000Z-aaaa", "20261101T120200Z-cccc"),
    causes=(
        Cause(
            "python-random",
            True,
            "import random\nrandom.seed(0)",
            "its state differs before the first draw",
            "train.py:4",
        ),
    ),
    suspects=(Cause("numpy-global", False, "", "not the first difference, but its state differs"),),
    ruled_out=(Cause("hash-seed", False, "", "a set was walked"),),
    losses=(
        {step: (2.0 - step / 64,) for step in range(30)},
        {step: (2.0 - step / 64,) for step in range(30)},
        {step: (2.0 - step / 64 + (step >= 8) * 2**-23,) for step in range(30)},
    ),
    notes=("runs 1 and 2 agree",),
    place=".samerun/runs",
)

OPERATION = CheckResult(
    "differs",
    ("a", "b"),
    command=("python", "train.py"),
    steps=3,
    difference=Difference(
        step=0,
        phase="backward",
        what="operation",
        op="aten.index_put_",
        module="layers.0.conv",
        origin=Origin(
            "aten.index_put_", "layers.0.conv", "train.py:4", "backward", True, False, None, False, False
        ),
    ),
    pair=("a", "b"),
    causes=(
        Cause(
            "nondeterministic-kernels",
            False,
            "torch.use_deterministic_algorithms(True)",
            "equal in, other out",
        ),
    ),
    losses=({0: (0.1,), 1: (0.2,)}, {0: (0.1,), 1: (0.2000000000000001,)}),
)

UNKNOWN = CheckResult(
    "unknown",
    ("a", "b"),
    command=("python", "train.py"),
    reason="the command failed in every run: exit code 1 after 0 steps",
    output=("Traceback (most recent call last):", "ValueError: no data"),
    place=".samerun/runs",
)
