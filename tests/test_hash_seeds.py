"""Each process of a recorded run has a hash seed of its own that the run knows; the program sees nothing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Control, Plan, Replay
from samerun.runs.store import Run, Store

SHOW = """
import json, os, subprocess, sys
if len(sys.argv) > 1:
    print(hash("samerun"))
    sys.exit()
def child(**env):
    line = [sys.executable, __file__, "child"]
    return int(subprocess.run(line, capture_output=True, text=True, env={**os.environ, **env}).stdout)
seen = {
    "own": hash("samerun"),
    "variable": os.environ.get("PYTHONHASHSEED"),
    "children": [child(), child()],
    "fixed": [child(PYTHONHASHSEED="7"), child(PYTHONHASHSEED="7")],
    "shell": int(subprocess.check_output(f"{sys.executable} {__file__} child", shell=True)),
}
print(json.dumps(seen))
"""

LAUNCH = """
import os, subprocess, sys
show = "import os; print(os.environ.get('PYTHONHASHSEED'), hash('samerun'))"
for rank in "01":
    subprocess.run([sys.executable, "-c", show], env={**os.environ, "RANK": rank, "WORLD_SIZE": "2"})
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Run]]:
    """A folder, and two runs in it with nothing said of the hash seed."""
    folder = tmp_path_factory.mktemp("hashes")
    (folder / "show.py").write_text(SHOW)
    with pytest.MonkeyPatch.context() as here:
        here.delenv("PYTHONHASHSEED", raising=False)
        return folder, [run(folder) for _ in range(2)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    (tmp_path / "show.py").write_text(SHOW)
    return tmp_path


def run(folder: Path, *command: str, env: dict[str, str] | None = None, **plan: Any) -> Run:
    request = LaunchRequest(command or (sys.executable, "show.py"), env=env or {})
    return record(request, Plan(**plan), Workspace(folder, Store(folder / ".samerun")))


def seen(recorded: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((recorded.path / "output.txt").read_text().splitlines()[-1])
    return found


def hashed(recorded: Run) -> int:
    """What `show.py child` tells."""
    return int((recorded.path / "output.txt").read_text())


def test_every_process_hashes_in_its_own_way_as_without_samerun(two: tuple[Path, list[Run]]) -> None:
    one, other = map(seen, two[1])
    assert one["variable"] is None
    hashes = [value for each in (one, other) for value in (each["own"], *each["children"], each["shell"])]
    assert len(set(hashes)) == len(hashes)
    assert one["fixed"] == other["fixed"]
    assert len(set(one["fixed"])) == 1


def test_a_replay_hashes_as_the_recorded_run_did(
    two: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    folder, (recorded, _) = two
    again = seen(run(folder, replay=Replay(str(recorded.path))))
    without = seen(run(folder, replay=Replay(str(recorded.path), without=("hash-seed",))))
    first = seen(recorded)
    for name in ("own", "children", "shell"):
        assert again[name] == first[name]
    assert without["own"] != first["own"]


def test_a_rank_does_not_see_what_it_was_given_either(folder: Path) -> None:
    (folder / "launch.py").write_text(LAUNCH)
    ranks = [run(folder, sys.executable, "launch.py") for _ in range(2)]
    again = run(folder, sys.executable, "launch.py", replay=Replay(str(ranks[0].path)))
    hashes = []
    for each in (*ranks, again):
        shown = (each.path / "output.txt").read_text().splitlines()
        assert [line.split()[0] for line in shown] == ["None", "None"]
        assert not each.path.joinpath("rank0.trace.arrow").exists()
        hashes.append([line.split()[1] for line in shown])
    assert len({value for run_ in hashes[:2] for value in run_}) == 4
    assert hashes[2] == hashes[0]


def test_what_the_user_or_a_control_fixes_stays(folder: Path, two: tuple[Path, list[Run]]) -> None:
    fixed = seen(run(folder, env={"PYTHONHASHSEED": "7"}))
    assert fixed["variable"] == "7"
    assert fixed["own"] == fixed["children"][0] == seen(two[1][0])["fixed"][0]
    controlled = [run(folder, sys.executable, "show.py", "child", control=Control(seed=3)) for _ in range(2)]
    assert hashed(controlled[0]) == hashed(controlled[1])
    assert all(each.manifest.plan["hash_seed"] is None for each in controlled)


def test_a_shell_gets_none(folder: Path) -> None:
    recorded = [run(folder, "sh", "-c", f"{sys.executable} show.py child") for _ in range(2)]
    assert hashed(recorded[0]) != hashed(recorded[1])
    assert "PYTHONHASHSEED" not in os.environ


PROGRAMS = f"""
show='import json, os, sys
seed = os.environ.get("PYTHONHASHSEED")
print(json.dumps([hash("samerun"), seed, sys.argv, sys.path[0]]))'
read='import json, sys
print(json.dumps([hash("samerun"), sys.stdin.read()]))'
mkdir -p below && echo "$show" > below/shown.py
{sys.executable} -c "$show" "two words"
echo "$show" | {sys.executable} - piped
(cd below && exec {sys.executable} -m shown)
echo "read by the program" | {sys.executable} -c "$read"
PYTHONHASHSEED=7 {sys.executable} -c "$show"
{sys.executable} -E -c "$show"
"""


@pytest.mark.slow
def test_programs_that_a_shell_starts_hash_in_their_own_way_and_alike_in_a_replay(folder: Path) -> None:
    def shown(*command: str, **plan: Any) -> tuple[Run, list[Any]]:
        done = run(folder, *command, **plan)
        return done, [json.loads(line) for line in (done.path / "output.txt").read_text().splitlines()]

    (folder / "all.sh").write_text(PROGRAMS)
    recorded, first = shown("bash", "all.sh")
    _, other = shown("bash", "all.sh")
    _, again = shown("bash", "all.sh", replay=Replay(str(recorded.path)))
    assert [line[1:] for line in first[:4]] == [
        [None, ["-c", "two words"], ""],
        [None, ["-", "piped"], ""],
        [None, [str(folder / "below" / "shown.py")], str(folder / "below")],
        ["read by the program\n"],
    ]
    hashes = [line[0] for line in (*first[:4], *other[:4])]
    assert len(set(hashes)) == len(hashes)
    assert first[4][0] == other[4][0] and first[4][1] == "7"
    assert [line[0] for line in again[:5]] == [line[0] for line in first[:5]]
    assert len({each[5][0] for each in (first, other, again)}) == 3  # it ignores the variable
