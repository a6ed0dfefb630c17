"""Real trainings with nothing seeded, run again from what was recorded.

Covers `reasons.py`, `recorded.py`, `result.py` and `written_files.py`.
"""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from samerun.errors import RunError
from samerun.runs.answers import SUFFIX
from samerun.runs.plan import Control
from samerun.runs.store import Run

from .trainings import ALL, again, command, plain, recorded, run_once


def sources(items) -> set[str]:
    return {item.source for item in items}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A folder, and a run in it that several tests run again."""
    folder = tmp_path_factory.mktemp("shared")
    return folder, recorded(folder, plain("1"))


def test_a_run_with_nothing_seeded_is_that_run_again_and_its_rerun_too(tmp_path: Path) -> None:
    run = recorded(tmp_path, ALL)
    result = again(run, tmp_path)
    assert (result.verdict, result.compared.difference) == ("same", None), result
    assert result.of == run.id == result.compared.runs[0]
    assert result.compared.steps == 8
    assert set(result.given) == {
        "clock",
        "hash-seed",
        "numpy-generator",
        "numpy-global",
        "os-entropy",
        "python-random",
        "torch-cpu",
    }
    assert (result.changed, result.parted, result.unreplayed, result.printed_alike) == ((), (), (), True)
    assert not result.compared.notes
    text = (run.path / "output.txt").read_text()
    assert text.split()[1] == "None", "the hash seed that a run is given is not seen"


def test_another_learning_rate_differs_and_the_code_is_named_first(shared: tuple[Path, Run]) -> None:
    folder, run = shared
    script = folder / "train.py"
    text = script.read_text()
    script.write_text(text.replace("1e-3", "1.01e-3"))
    try:
        result = again(run, folder)
    finally:
        script.write_text(text)
    assert result.verdict == "differs"
    assert sources(result.changed) == {"code"}
    assert result.compared.difference is not None
    assert (result.compared.difference.step, result.compared.difference.phase) == (0, "optimizer")
    assert not result.parted


def test_what_becomes_a_key_is_not_kept_and_a_seed_of_it_is_named(tmp_path: Path) -> None:
    run = recorded(tmp_path, plain("secrets.randbits(32)", "secrets"))
    kept = b"".join(path.read_bytes() for path in run.path.glob(f"*{SUFFIX}"))
    assert b"os-entropy" not in kept
    result = again(run, tmp_path)
    assert result.verdict == "differs"
    (parting,) = result.parted
    assert (parting.source, parting.call_site) == ("os-entropy", "train.py:4")
    assert "not kept" in parting.why
    assert "os-entropy" not in result.given
    assert not result.unreplayed, "it is said once"


@pytest.mark.slow
def test_a_seed_of_the_process_id_is_named_as_what_has_no_replay(tmp_path: Path) -> None:
    result = again(recorded(tmp_path, plain("os.getpid()")), tmp_path)
    assert result.verdict == "differs"
    (unreplayed,) = result.unreplayed
    assert (unreplayed.source, unreplayed.why) == ("process-id", "it cannot be replayed")
    assert unreplayed.uses == (("os.getpid", "train.py:4"),)


@pytest.mark.slow
def test_a_source_that_is_left_out_makes_it_another_run(shared: tuple[Path, Run]) -> None:
    folder, run = shared
    result = again(run, folder, without=("torch-cpu",))
    assert result.verdict == "differs"
    assert "torch-cpu" not in result.given and "python-random" in result.given
    (unreplayed,) = result.unreplayed
    assert (unreplayed.source, unreplayed.why) == ("torch-cpu", "left out by --only or --except")
    result = again(run, folder, only=("torch-cpu",))
    assert (result.verdict, result.given) == ("same", ("torch-cpu",))


def test_a_loop_with_a_time_limit_makes_the_same_steps(tmp_path: Path) -> None:
    warm = "for _ in range(2):\n    model(torch.randn(4, 8)).sum().backward()\n"
    loop = f"{warm}start = time.time()\nwhile time.time() - start < 0.5:"
    run = recorded(tmp_path, plain("1", "time", loop))
    result = again(run, tmp_path)
    assert result.verdict == "same", result
    assert result.compared.steps == run.steps > 3
    assert "clock" in result.given


@pytest.mark.slow
def test_an_unseeded_pool_of_processes_draws_the_same(tmp_path: Path) -> None:
    draw = "random.random() + np.random.default_rng().random() + os.urandom(1)[0]"
    before = f"""
def draw(number, queue):
    queue.put((number, {draw}))
queue = mp.get_context("fork").Queue()
children = [mp.get_context("fork").Process(target=draw, args=(n, queue)) for n in range(3)]
for child in children:
    child.start()
found = sorted(queue.get() for child in children)
for child in children:
    child.join()
print(found)
"""
    imports = "os, random, numpy as np, multiprocessing as mp"
    run = recorded(tmp_path, plain("1 + sum(value for _, value in found)", imports, before=before))
    result = again(run, tmp_path)
    assert (result.verdict, result.printed_alike) == ("same", True), result


@pytest.mark.slow
def test_two_unseeded_ranks_draw_the_same(tmp_path: Path) -> None:
    text = plain(
        "1 + rank + random.random()",
        "os, random",
        before="""
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
""",
    )
    text += "dist.barrier()\ndist.destroy_process_group()\n"
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    run = recorded(tmp_path, text, *launcher)
    assert list(run.traces()) == ["rank0", "rank1"]
    result = again(run, tmp_path)
    assert result.verdict == "same", result
    assert result.compared.scope.startswith("2 runs, 3 steps, 2 ranks")
    assert again(run, tmp_path, without=("torch-cpu",)).verdict == "differs"


@pytest.mark.slow
def test_what_was_cut_off_is_given_as_far_as_it_was_kept(tmp_path: Path) -> None:
    run = recorded(tmp_path, plain("1", loop="for step in range(40):\n    scale = 1 + os.urandom(1)[0]"))
    (path,) = run.path.glob(f"*{SUFFIX}")
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"os.urandom") + 700])
    result = again(run, tmp_path)
    assert result.verdict == "differs"
    assert result.compared.difference is not None and result.compared.difference.step > 0
    (parting,) = result.parted
    assert (parting.source, parting.name) == ("os-entropy", "os.urandom(1)")
    assert "did not ask for it, or not so often" in parting.why


@pytest.mark.slow
def test_it_runs_in_a_copy_without_what_the_recorded_run_wrote(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("2")
    before = """
os.makedirs("out/logs")
name = f"out/logs/{uuid.uuid4()}.txt"
scale = 1.0
if os.path.exists("last.txt"):
    scale = float(open("last.txt").read())
with open("last.txt", "w") as file:
    file.write("3.0")
with open(name, "w") as file:
    file.write("a log")
"""
    run = recorded(tmp_path, plain('scale + float(open("kept.txt").read())', "os, uuid", before=before))
    (log,) = (tmp_path / "out" / "logs").iterdir()
    log.write_text("mine")
    result = again(run, tmp_path)
    assert result.verdict == "same", result
    assert [path.read_text() for path in (tmp_path / "out" / "logs").iterdir()] == ["mine"]
    (tmp_path / "kept.txt").write_text("2.5")
    result = again(run, tmp_path)
    assert result.verdict == "differs"
    assert [(item.source, item.call_site) for item in result.changed] == [("input-data", "train.py:14")]


@pytest.mark.slow
def test_a_controlled_run_is_made_under_its_control_again(tmp_path: Path) -> None:
    run = recorded(tmp_path, plain("1 + random.random()", "random"), control=Control(seed=3))
    result = again(run, tmp_path)
    assert result.verdict == "same"
    new = dataclasses.replace(run, path=run.path.parent / result.compared.runs[1])
    assert (new.manifest.mode, new.manifest.seed) == ("strict", 3)
    assert "python-random" not in result.given


@pytest.mark.slow
def test_a_run_that_stopped_early_had_kept_all_until_then(tmp_path: Path) -> None:
    loop = "for step in range(9):\n    scale = 1 + os.urandom(1)[0] + random.Random().random()"
    how = {"tier": "ops", "window": (0, 2), "stop_after": 2}
    words = command(tmp_path, plain("1", "os, random", loop))
    run = run_once(tmp_path, words, **how)
    assert run.outcome == "stopped"
    result = again(run, tmp_path)
    assert (result.verdict, result.compared.steps, result.parted) == ("same", 3, ())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_workers_that_are_no_forks_of_the_training_are_given_their_own(tmp_path: Path, how: str) -> None:
    run = recorded(tmp_path, ALL.replace("num_workers=2", f"num_workers=2, multiprocessing_context='{how}'"))
    result = again(run, tmp_path)
    assert (result.verdict, result.parted) == ("same", ()), result


def test_a_run_that_kept_nothing_is_refused_before_anything_is_started(
    tmp_path: Path, shared: tuple[Path, Run]
) -> None:
    run = recorded(tmp_path, plain("1"), tier="none")
    with pytest.raises(RunError, match="kept nothing of what its sources gave"):
        again(run, tmp_path)
    run = Run(run.path.with_name(shared[1].id))
    shutil.copytree(shared[1].path, run.path)
    (path,) = run.path.glob(f"*{SUFFIX}")
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xc1" + whole[5:])
    with pytest.raises(RunError, match="cannot be read"):
        again(run, tmp_path)
    path.unlink()
    with pytest.raises(RunError, match="record it anew"):
        again(run, tmp_path)
    assert len(list(run.path.parent.iterdir())) == 2
