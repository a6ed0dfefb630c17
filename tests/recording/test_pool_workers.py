"""Workers of a pool that `terminate()` ends between two tasks: nothing that they recorded is lost.

Covers `pool_workers.py` and `../runs/rests.py`.
"""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare
from samerun.comparing.pairing import read
from samerun.comparing.without_effect import trained_alike

TRAINED = """
import multiprocessing as mp, os, sys, time, torch

def train(seed):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        x = torch.randn(4, 3)
        if seed == 1 and step == 2 and os.environ.get("OTHER"):
            x[0, 0] += 1e-6
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    while seed == 0 and "WAITS" in os.environ and not os.path.exists("9.trained"):
        time.sleep(0.01)
    if seed == 9:
        open("9.trained", "w").close()
        time.sleep(60)
    torch.save(model.state_dict(), f"{seed}.pt")
    return seed

if __name__ == "__main__":
    with mp.get_context("METHOD").Pool(2) as pool:
        SEEDS
"""
ALL = "assert pool.map(train, range(4), chunksize=1) == [0, 1, 2, 3]"
FIRST = "assert next(pool.imap_unordered(train, [0, 9])) == 0"


def write(trainer, method="fork", seeds=ALL):
    trainer.script(TRAINED.replace("METHOD", method).replace("SEEDS", seeds))


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_what_its_tasks_trained_is_compared_to_the_last_record(trainer, output, method):
    write(trainer, method)
    runs = [trainer.record("train.py") for _ in range(2)]
    assert {run.manifest.outcome for run in runs} == {"finished"}, output(runs[0])
    for run in runs:
        trained = [stem for stem in run.traces() if "Pool" in stem]
        assert sum(len(trainer.rows(run, "gradients", stem)) for stem in trained) == 12
        assert all(run.traces()[stem].complete for stem in trained)
    first = read(runs[0])
    assert all(trained_alike(first, read(other)) for other in runs[1:])
    assert not trained_alike(first, read(trainer.record("train.py", env={"OTHER": "1"})))


@pytest.mark.slow
def test_one_that_is_killed_while_it_leaves_is_whole(trainer, output):
    """The pool has said that there is no more work, the worker writes its end, and `terminate()` ends it."""
    write(trainer, seeds=f"{ALL}; pool.close(); pool.join()")
    left = trainer.record("train.py")
    kill = """
import signal
from samerun.runs.trace import TraceWriter
close = TraceWriter.close
def kill(writer):
    if mp.parent_process() and sys._getframe(1).f_code.co_name == "close":  # that of the sink
        os.kill(os.getpid(), signal.SIGKILL)
    close(writer)
TraceWriter.close = kill
"""
    script = trainer.folder / "train.py"
    script.write_text(script.read_text().replace("def train", f"{kill}\ndef train"))
    killed = trainer.record("train.py")
    for run in (left, killed):
        assert run.manifest.outcome == "finished", output(run)
        assert all(trace.complete for trace in run.traces().values())
        trained = [stem for stem in run.traces() if "Pool" in stem]
        assert len(list(run.path.glob("*.rests"))) == (len(trained) if run is killed else 0)
    assert trained_alike(read(left), read(killed))


@pytest.mark.slow
def test_one_that_is_ended_in_the_middle_of_a_task_is_not_whole(trainer, output):
    write(trainer, seeds=FIRST)
    one, other = (trainer.record("train.py", env={"WAITS": "1"}) for _ in range(2))
    assert one.manifest.outcome == "finished", output(one)
    trained = {stem: trace.complete for stem, trace in one.traces().items() if "Pool" in stem}
    assert sorted(trained.values()) == [False, True]
    assert compare(one, other).verdict != "same"


def test_the_tasks_of_threads_end_with_their_process(trainer, output):
    script = TRAINED.replace('mp.get_context("METHOD").Pool(2)', "ThreadPool(1)").replace("SEEDS", ALL)
    trainer.script(f"from multiprocessing.pool import ThreadPool\n{script}")
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished", output(run)
    assert not list(run.path.glob("*.rests"))
    assert len(trainer.rows(run, "gradients")) == 12
