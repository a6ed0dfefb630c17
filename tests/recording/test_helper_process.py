"""Programs that a command runs and that never train: what they drew and wrote is evidence, and no more.

Covers `evidence_log.py` and `opened_files.py`.
"""

from __future__ import annotations

import json
import sys

import pytest

from samerun.comparing.compare_runs import compare
from samerun.comparing.in_play import list_free_running
from samerun.comparing.pairing import read
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources
from samerun.sources.resume_state import ResumeState

PREPARE = """
import os, sys, time
import numpy as np
rng = np.random.default_rng(SEED)
drawn = np.random.rand(4) if SEED is None else np.random.RandomState(SEED).rand(4)
np.savez("data.npz", x=rng.random(4) + drawn)
if os.fork() == 0:
    sys.exit(0)
os.wait()
"""
TRAIN = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "print(1)"], check=True)
subprocess.run([sys.executable, "prepare.py"], check=True)
import numpy as np, torch
torch.set_num_threads(1)
x = torch.tensor(np.load("data.npz")["x"], dtype=torch.float32)
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
for _ in range(2):
    model(x).sum().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


def stems(run):
    return sorted(run.traces())


@pytest.mark.slow
def test_what_a_helper_drew_is_the_trainings_evidence(trainer):
    trainer.script(PREPARE.replace("SEED", "None"), "prepare.py")
    trainer.script(TRAIN)
    runs = [trainer.record("train.py", tier="ops") for _ in range(2)]
    assert len(stems(runs[0])) == 2  # none of `python -c`, none of the fork
    assert stems(runs[0]) == stems(runs[1])
    training, helper = stems(runs[0])
    assert training == "rank0"
    assert helper.startswith("rank0.helper-")
    rows = trainer.rows(runs[0], stem=helper)
    assert {(row.what, row.call_site) for row in rows} >= {
        ("unseeded", "prepare.py:4"),
        ("draw", "prepare.py:5"),
        ("written", "prepare.py:6"),
    }
    assert runs[0].manifest.steps == 2
    difference = compare(*runs).difference
    assert difference is not None
    assert {row.process for row in difference.a.rows("draw")} == {helper}


@pytest.mark.slow
def test_what_it_drew_is_not_compared(trainer):
    trainer.script(PREPARE.replace("SEED", "3") + "np.random.rand(2)", "prepare.py")
    trainer.script(TRAIN)
    runs = [trainer.record("train.py", tier="ops") for _ in range(2)]
    assert len(stems(runs[0])) == 2
    assert compare(*runs).verdict == "same"


FORKS = """
import multiprocessing, os, random, sys
import torch
torch.set_num_threads(1)
def draw(pipe):
    pipe.send(random.Random().random())
def give(context, how):
    ends = context.Pipe()
    if how == "fork":
        if os.fork() == 0:
            draw(ends[1])
            os._exit(0)
        os.wait()
    else:
        child = context.Process(target=draw, args=(ends[1],))
        child.start()
        child.join()
    return ends[0].recv()
value = give(multiprocessing.get_context("fork"), sys.argv[1])
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
for _ in range(2):
    model(torch.ones(4) * value).sum().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.parametrize(
    ("how", "helper"),
    [
        ("fork", "rank0.helper-fork"),
        pytest.param("process", "rank0.helper-ForkProcess-1", marks=pytest.mark.slow),
    ],
)
def test_what_a_fork_drew_is_evidence_though_it_leaves_at_once(trainer, how, helper):
    trainer.script(FORKS)
    runs = [trainer.record("train.py", how) for _ in range(2)]
    assert stems(runs[0]) == ["rank0", helper]
    assert ("unseeded", "train.py:6") in {
        (row.what, row.call_site) for row in trainer.rows(runs[0], stem=helper)
    }
    difference = compare(*runs).difference
    assert difference is not None
    assert {row.process for row in difference.a.rows("unseeded")} == {helper}


DRAWING = """
import random, sys
import numpy as np
SEEDING
with open("data.txt", "w") as file:
    file.write(str(DRAW))
"""
READING = """
import subprocess, sys
subprocess.run([sys.executable, "prepare.py"], check=True)
import torch
x = torch.full((4,), float(open("data.txt").read()))
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
for _ in range(2):
    model(x).sum().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.parametrize(
    ("draw", "source"),
    [
        ("random.random()", "python-random"),
        pytest.param("np.random.rand()", "numpy-global", marks=pytest.mark.slow),
    ],
)
def test_a_helper_tells_that_it_drew_though_nothing_follows_each_draw(trainer, draw, source):
    trainer.script(DRAWING.replace("SEEDING", "").replace("DRAW", draw), "prepare.py")
    trainer.script(READING)
    runs = [trainer.record("train.py") for _ in range(2)]
    _, helper = stems(runs[0])
    assert [(row.name, row.call_site) for row in trainer.rows(runs[0], "draw", stem=helper)] == [
        (source, None)
    ]
    difference = compare(*runs).difference
    assert difference is not None
    evidence = find_sources()[source].recognise(difference)
    assert evidence is not None and "a program that the command runs" in evidence.text


@pytest.mark.slow
def test_a_helper_that_seeds_or_does_not_draw_is_no_evidence(trainer):
    for seeding, draw in (("random.seed(3)", "random.random()"), ("", "0.5")):
        trainer.script(DRAWING.replace("SEEDING", seeding).replace("DRAW", draw), "prepare.py")
        trainer.script(READING.replace("torch.manual_seed(0)", ""))
        runs = [trainer.record("train.py") for _ in range(2)]
        difference = compare(*runs).difference
        assert difference is not None
        assert find_sources()["python-random"].recognise(difference) is None


POOL = """
import multiprocessing, random
import numpy as np
import torch
def draw(_):
    return DRAW
if __name__ == "__main__":
    np.random.seed(0)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        x = torch.tensor(pool.map(draw, range(4)))
        pool.close()
        pool.join()
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    for _ in range(2):
        model(x).sum().backward()
        for p in model.parameters():
            p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.parametrize(
    ("draw", "source"),
    [
        ("random.random()", "python-random"),
        pytest.param("torch.rand(()).item()", "torch-cpu", marks=pytest.mark.slow),
        ("0.5", None),
    ],
)
def test_a_forked_child_tells_too(trainer, draw, source):
    trainer.script(POOL.replace("DRAW", draw))
    run = trainer.record("train.py")
    rows = [row for stem in stems(run) if ".helper-" in stem for row in trainer.rows(run, "draw", stem=stem)]
    assert [row.name for row in rows] == ([source] if source else [])


ENDED = """
import multiprocessing, random, sys
import numpy as np
import torch
torch.set_num_threads(1)
context = multiprocessing.get_context("fork")
def begin():
    np.random.seed()
def draw(_):
    return np.random.rand()
def act(pipe):
    begin()
    while True:
        pipe.send(draw(0))
        pipe.recv()
if sys.argv[1] == "pool":
    with context.Pool(1, initializer=begin) as pool:  # it ends its workers by a signal
        value = sum(pool.map(draw, range(4)))
else:
    ours, theirs = context.Pipe()
    actor = context.Process(target=act, args=(theirs,))
    actor.start()
    value = ours.recv()
    actor.kill()
    actor.join()
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
for _ in range(2):
    model(torch.full((4,), value)).sum().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.everyday(1)
@pytest.mark.parametrize("how", ["pool", "actor"])
def test_what_a_child_did_is_evidence_though_a_signal_ends_it(trainer, how):
    trainer.script(ENDED)
    runs = [trainer.record("train.py", how, tier="ops") for _ in range(2)]
    training, helper = stems(runs[0])
    assert (training, helper.partition("-")[0]) == ("rank0", "rank0.helper")
    rows = [(row.what, row.name, row.call_site) for row in trainer.rows(runs[0], stem=helper)]
    assert ("unseeded", "numpy-global", "train.py:8") in rows
    assert ("draw", "numpy-global", "train.py:10") in rows
    evidence = find_sources()["numpy-global"].recognise(compare(*runs).difference)
    assert evidence is not None and evidence.call_site == "train.py:10"


SERVER = """
import http.server, random, os
class Numbers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"%r" % random.random())
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Numbers)
with open("port.new", "w") as file:
    file.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
"""
CLIENT = """
import urllib.request
import torch
torch.set_num_threads(1)
with open("port") as file:
    address = f"http://127.0.0.1:{file.read()}"
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
for _ in range(2):
    with urllib.request.urlopen(address, timeout=30) as answer:
        model(torch.full((4,), float(answer.read()))).sum().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.slow
def test_what_a_server_drew_is_evidence_though_a_signal_ends_it(trainer):
    trainer.script(SERVER, "server.py")
    trainer.script(CLIENT)
    trainer.script(
        """
        rm -f port
        PYTHON server.py &
        until [ -e port ]; do sleep 0.05; done
        PYTHON train.py
        kill $!
    """.replace("PYTHON", sys.executable),
        "train.sh",
    )
    runs = [trainer.record("bash", "train.sh", tier="ops") for _ in range(2)]
    training, helper = stems(runs[0])
    assert (training, helper.partition("-")[0]) == ("rank0", "rank0.helper")
    rows = trainer.rows(runs[0], "draw", stem=helper)
    assert [(row.name, row.call_site) for row in rows] == [("python-random", "server.py:7")]
    evidence = find_sources()["python-random"].recognise(compare(*runs).difference)
    assert evidence is not None and evidence.call_site == "server.py:7"


PREPARES = """
import multiprocessing, sys
import torch
torch.set_num_threads(1)
context = multiprocessing.get_context("fork")
both, met = context.Barrier(2), []
def prepare(number):
    if not met:
        met.append(both.wait(60))  # so that each worker gets some
    return (torch.arange(4.0) * number).sum().item() + (number == 3) * float(sys.argv[1])
if __name__ == "__main__":
    with context.Pool(2) as pool:  # it ends its workers by a signal
        x = torch.tensor(pool.map(prepare, range(16), chunksize=1)).reshape(4, 4)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    for _ in range(2):
        model(x).sum().backward()
        for p in model.parameters():
            p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.slow
def test_which_worker_of_a_pool_prepared_what_is_no_difference(trainer):
    trainer.script(PREPARES)
    runs = [trainer.record("train.py", more, tier="ops") for more in ("0", "0", "0", "0.5")]
    assert len(stems(runs[0])) == 3
    assert [compare(runs[0], run).verdict for run in runs[1:]] == ["same", "same", "differs"]


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("draws", "found", "controlled"),
    [
        ("np.random.rand()", True, False),
        ("torch.rand(()).item()", True, False),
        ("rng.random()", True, True),  # of a module: each worker has a copy
        ("0.0", False, False),
    ],
)
def test_a_pool_whose_workers_draw_may_go_another_way_in_any_run(trainer, draws, found, controlled):
    text = PREPARES.replace("float(sys.argv[1])", f"{draws} + 0 * {draws}").replace("(number == 3) * ", "")
    trainer.script("import numpy as np\nrng = np.random.default_rng(0)\n" + text)
    run = trainer.record("train.py", "0", tier="ops")
    assert list_free_running(read(run)) == (["worker-seeds"] if found else [])
    made = [trainer.record("train.py", "0", tier="ops", control=Control()) for _ in range(2)]
    assert list_free_running(read(made[0])) == (["worker-seeds"] if controlled else [])
    assert controlled or compare(*made).verdict == "same"


@pytest.mark.everyday(1)
@pytest.mark.parametrize("draws", ["np.random.rand()", "torch.rand(()).item()"])
def test_what_a_worker_draws_in_its_only_task_is_kept_though_a_signal_ends_it(trainer, draws):
    """Each draws once, after eight operations."""
    text = PREPARES.replace("float(sys.argv[1])", draws).replace("(number == 3) * ", "")
    text = text.replace(
        "if not met:\n        met.append(both.wait(60))", "torch.ones(2) * 2 * 2 * 2, both.wait(60)"
    )
    trainer.script(
        "import numpy as np\n" + text.replace("range(16)", "[1, 2]").replace("(4, 4)", "(1, 2).repeat(1, 2)")
    )
    run = trainer.record("train.py", tier="ops")
    assert list_free_running(read(run)) == ["worker-seeds"]


def test_what_workers_of_a_pool_drew_by_operations_is_evidence(trainer):
    text = PREPARES.replace("float(sys.argv[1])", "(torch.seed(), torch.rand(()).item())[1]")
    trainer.script(text.replace("(number == 3) * ", ""))
    difference = compare(*(trainer.record("train.py", "0", tier="ops") for _ in range(2))).difference
    evidence = find_sources()["worker-seeds"].recognise(difference)
    assert evidence is not None and "torch-cpu at train.py:10" in evidence.text


LOADED = """
import random
import numpy as np
import torch
from torch.utils.data import DataLoader
class Noisy(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.full((4,), random.random() + np.random.rand())
def seed(worker):
    random.seed(worker), np.random.seed(worker)
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
for x in DataLoader(Noisy(), 2, num_workers=2, worker_init_fn=seed, multiprocessing_context="fork"):
    model(x).sum().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


def test_workers_of_a_loader_are_no_helpers_and_their_draws_are_those_of_batches(trainer):
    trainer.script(LOADED)
    run = trainer.record("train.py", tier="ops")
    assert stems(run) == ["rank0", "rank0.worker0", "rank0.worker1"]
    draws = trainer.rows(run, "draw", stem="rank0.worker0")
    assert {json.loads(row.detail)["batch"] for row in draws} == {0, 1}


@pytest.mark.slow
def test_workers_of_an_executor_take_tasks_too(trainer):
    text = PREPARES.replace("context.Pool(2)", "ProcessPoolExecutor(2, mp_context=context)")
    text = text.replace("pool.map(prepare, range(16), chunksize=1)", "list(pool.map(prepare, range(16)))")
    trainer.script("from concurrent.futures import ProcessPoolExecutor\n" + text)
    runs = [trainer.record("train.py", more, tier="ops") for more in ("0", "0", "0.5")]
    assert [stem.partition(".")[2] for stem in stems(runs[0])] == ["", "ForkPoolWorker-1", "ForkPoolWorker-2"]
    assert [compare(runs[0], run).verdict for run in runs[1:]] == ["same", "differs"]


TRAINING_CHILD = """
import multiprocessing, random
import torch
torch.set_num_threads(1)
def train():
    random.seed(3)
    torch.manual_seed(random.randrange(9))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        model(torch.ones(4)).sum().backward()
        optimizer.step()
child = multiprocessing.get_context("fork").Process(target=train)
child.start()
child.join()
"""


def test_what_a_child_did_before_it_trains_stands_in_its_trace_alone(trainer):
    trainer.script(TRAINING_CHILD)
    run = trainer.record("train.py", tier="ops")
    assert stems(run) == ["rank0.ForkProcess-1"]
    assert [row.name for row in trainer.rows(run, "draw", stem="rank0.ForkProcess-1")] == ["python-random"]
    assert not [path.name for path in run.path.iterdir() if path.suffix == ".part"]


DATABASE = """
import sqlite3
import torch
study = sqlite3.connect("study.db")
study.execute("create table if not exists trials (loss real)")
sqlite3.connect(":memory:")
count = study.execute("select count(*) from trials").fetchone()[0]
with study:
    study.execute("insert into trials values (1.0)")
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
model(torch.full((1, 4), float(count))).sum().backward()
"""


@pytest.mark.slow
def test_a_database_is_a_file_that_is_read_and_written(trainer):
    """SQLite opens it by itself, past Python's `open`."""
    trainer.script(DATABASE)
    runs = [trainer.record("train.py") for _ in range(2)]
    found = [
        [row.what for row in trainer.rows(run, stem="rank0") if row.detail and row.detail.endswith(".db")]
        for run in runs
    ]
    assert found == [["written"], ["opened", "written"]]
    evidence = ResumeState().recognise(compare(*runs).difference)
    assert evidence is not None and evidence.call_site == "train.py:4"


GATHER = """
import json, multiprocessing, os, time

def make(n):
    while n == int(os.environ["LATE"]) and not os.path.exists("taken"):
        time.sleep(0.01)
    return [n / 16, 1.0, n % 3, n % 5]

if __name__ == "__main__":
    rows = []
    with multiprocessing.Pool(2) as pool:
        for row in pool.imap_unordered(make, range(16)):
            rows.append(row)
            open("taken", "w").close()
    os.remove("taken")
    json.dump(rows, open("rows.json", "w"))
"""


@pytest.mark.slow
def test_results_that_it_took_as_they_came_are_the_reason(trainer):
    trainer.script(GATHER, "prepare.py")
    trainer.script(TRAIN.replace('np.load("data.npz")["x"]', '__import__("json").load(open("rows.json"))'))
    runs = [trainer.record("train.py", tier="ops", env={"LATE": late}) for late in ("0", "1")]
    difference = compare(*runs).difference
    assert difference is not None
    found = find_sources()["worker-arrival"].recognise(difference)
    assert found is not None and found.call_site == "prepare.py:12"


READS = """
import time
import numpy as np, torch
for _ in range(60_000):
    time.perf_counter()
rng = np.random.default_rng()
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.as_tensor(rng.random((3, 2)), dtype=torch.float32)).sum().backward()
optimizer.step()
time.time()
"""


@pytest.mark.slow
def test_a_line_that_reads_a_clock_again_and_again_leaves_room_for_what_comes_later(trainer):
    """A library that polls used all 50,000 notes, and the unseeded generator behind it was in none."""
    trainer.script(READS)
    run = trainer.record("train.py", tier="steps")
    assert [row.call_site for row in trainer.rows(run, "unseeded")] == ["train.py:6"]
    clocks = [row.call_site for row in trainer.rows(run, "clock")]
    assert clocks == ["train.py:5"] * 1000 + ["train.py:11"]
