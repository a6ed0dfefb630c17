"""The schemas in docs/schema are current, know every key, accept real results, and refuse a changed one."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from report.diagnoses import a_case
from report.experiments import VARIED, studied
from report.results import DIFFERS, OPERATION, SAME, UNKNOWN
from report.text.test_rerun import PARTED, UNREPLAYED

from samerun.cli.arguments import find_verbs
from samerun.comparing.compare_files import FileComparison, LeafDifference
from samerun.comparing.tensor_distance import TensorDistance
from samerun.experiments.cost.pricing import Ratio
from samerun.experiments.cost.result import Choice, CostResult, Price
from samerun.experiments.describe_sources import convert_to_json, describe_sources
from samerun.experiments.lock.moved import Moved
from samerun.experiments.lock.negative_control import Flip
from samerun.experiments.lock.result import LockResult
from samerun.experiments.rerun.result import RerunResult
from samerun.experiments.resume.advice import Lack
from samerun.experiments.resume.result import ResumeResult
from samerun.experiments.verify.bisected import Bisected, Tried
from samerun.experiments.verify.changed import Changed
from samerun.experiments.verify.result import Distance, VerifyResult
from samerun.runs.ignored import LeftOut
from samerun.runs.lock.content import Bounds, Environment, Lock, LockedCode
from surface.described import KEPT, keys
from surface.schemas import FOLDER, schema_keys, validate, validator

ROOT = FOLDER.parents[1]
KEPT_KEYS: dict[str, list[str]] = json.loads(KEPT.read_text())["json"]
FULL = replace(
    DIFFERS,
    folder="/work",
    verdicts=("same", "differs"),
    parted=DIFFERS.pair,
    in_play=("clock",),
    reason="none",
    left_out=(LeftOut("parameters", "head.bias", "trained apart"),),
    losses=({0: (0.5, float("nan"))}, {0: (0.5, float("inf"))}),
    output=("the last line",),
)
MOVED = (Moved("gradients", 4, 2), Moved("metrics.accuracy"))
RATIO = Ratio(1.2, 1.1, 1.3)
LOCK = Lock(
    ("python", "train.py"),
    "strict",
    0,
    1,
    3,
    LockedCode("0" * 32),
    {"1234": Environment("a", {}, {}, {}, {}, (), {}, bounds=Bounds(1e-6, {"accuracy": 0.1}, ("1 thread",)))},
    left_out=("saved",),
)
VERIFIED = VerifyResult(
    "differs",
    "samerun.lock",
    run="a",
    at=(0, 1),
    quantities=("loss",),
    moved=MOVED,
    changed=(Changed("code", "train.py", "lr=0.1 → lr=0.2", "train.py:6", True),),
    distances=(Distance("loss", 1e-7, 1e-6),),
    factors=("1 thread",),
    compared=FULL,
    unsteady=FULL,
    bisected=Bisected("0" * 40, "faster", ("train.py",), ("1" * 40,), (Tried("0" * 40, "differs"),)),
)


def make_results(folder: Path) -> dict[str, list[Any]]:
    """For each schema results whose keys together are all that there are."""
    full = {name: getattr(FULL, name) for name in FULL.__dataclass_fields__}
    tensor = LeafDifference("w", "values", "a", "b", TensorDistance((0, 1), "1.0", "1.5", 1, 4, 3, 0.5))
    lack = Lack("the optimizer's state", "its first update differs", "save it")
    same = CostResult("same", ("python",), 5, (Price("threads", "one", RATIO, (1.2,)),), (), 0.01)
    results = {
        "check": [SAME, DIFFERS, OPERATION, UNKNOWN, FULL],
        "diagnose": [replace(a_case(folder).diagnosis, check=FULL)],
        "diff": [FULL],
        "diff of files": [
            FileComparison("a", "b", 1, 0, 4, 1, 0, [tensor, LeafDifference("n", "only in A")])
        ],
        "vary": [VARIED],
        "cost": [same, replace(same, choices=(Choice("fast", "as it is", "unknown", 3, RATIO),))],
        "study": [studied(), replace(studied(), paired=None, total=None, best=None, reason="too few")],
        "resume": [ResumeResult(**full, roles=("whole",), kill_at=(2,), resumed_at=(2,), lacked=(lack,))],
        "rerun": [RerunResult(FULL, "a", ("clock",), FULL.causes, PARTED, UNREPLAYED)],
        "lock": [
            LockResult(UNKNOWN, "samerun.lock"),
            LockResult(FULL, "samerun.lock", LOCK, "1234", Flip(2, "loss", 5), MOVED, ("batch",)),
        ],
        "verify": [
            VERIFIED,
            VerifyResult("stale", "samerun.lock", counted={"code": 1, "inputs": 0, "packages": 3}),
        ],
    }
    return {name: [as_written(one.to_json()) for one in some] for name, some in results.items()}


def as_written(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("results"))


def test_the_files_are_what_their_source_makes():
    script = "import write_schemas, sys, json; json.dump(write_schemas.format_schemas(), sys.stdout)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT / "docs", capture_output=True, check=True)
    kept = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*")}
    assert kept == json.loads(done.stdout), "run python docs/write_schemas.py"


def test_each_verb_with_json_has_a_valid_schema():
    import argparse

    verbs = set()
    for name, verb in find_verbs().items():
        verb.add_options(parser := argparse.ArgumentParser(add_help=False))
        verbs |= {name} if "--json" in parser._option_string_actions else set()
    assert {path.stem for path in FOLDER.glob("*.json")} == verbs | {"diff-files"}
    for path in FOLDER.glob("*.json"):
        Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("name", KEPT_KEYS)
def test_schemas_and_results_have_the_same_keys(results, name):
    """What real runs gave (surface.json) may lack what is null or empty there: the made results have it."""
    documented = schema_keys(name)
    assert set(KEPT_KEYS[name]) <= documented
    made = set().union(*(keys(result) for result in results[name]))
    of_data = {key.removesuffix("*") for key in documented if key.endswith(".*")}
    made = {next((f"{one}*" for one in of_data if key.startswith(one)), key) for key in made}
    assert made == documented


@pytest.mark.parametrize("name", KEPT_KEYS)
def test_results_validate_and_changed_ones_do_not(results, name):
    for result in results[name]:
        validate(name, result)
        for what, changed in change(result):
            assert not validator(name).is_valid(changed), f"{what} is accepted"


def test_what_env_says_of_this_machine_validates():
    described = as_written(convert_to_json(describe_sources()))
    validate("env", described)
    described["sources"]["clock"]["in_play"] = "yes"
    assert not validator("env").is_valid(described)


def change(value: Any) -> Iterator[tuple[str, Any]]:
    """The result with one value of another type, one key more or one key less, at each kind of place once."""
    for path in {_kind(path): path for path in _paths(value)}.values():
        yield from _change_at(value, path)
    yield "a key more", {**value, "new": 1}
    for key in value:
        yield f"without {key}", {other: inner for other, inner in value.items() if other != key}


def _change_at(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    before = inner[path[-1]]
    inner[path[-1]] = 0.5 if isinstance(before, (dict, list)) else [before]
    yield f"{path} = {inner[path[-1]]!r}", changed


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if inner is not None:
            yield (*path, key)
        yield from _paths(inner, (*path, key))


def _kind(path: tuple[Any, ...]) -> str:
    return ".".join("[]" if isinstance(key, int) else "*" if str(key).isdigit() else key for key in path)
