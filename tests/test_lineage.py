"""The tree of processes: every child draws for itself, and the same again in the next run."""

import collections
import ctypes
import itertools
import json
import os
import random
import sys
import uuid

import numpy as np
import pytest
import torch

import samerun
from samerun import lineage
from samerun.launching.launch import build_child_environment
from samerun.runs.plan import Control, Plan

# Each line is a child's: its name, and what it drew from each generator.
CHILDREN = """
import json, multiprocessing, os, random, subprocess, sys, uuid
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import pytest

DRAW = "random.random(), np.random.default_rng().random(), random.Random().random(), uuid.uuid4().hex"
TELL = "os.write(1, (json.dumps([{name}, " + DRAW + ", np.random.rand()]) + chr(10)).encode())"
PROGRAM = "import random, numpy as np, uuid, json, os, sys; " + TELL.format(name="sys.argv[1]")

def tell(name):
    exec(TELL.format(name=repr(name)))

def with_child(how, name):
    tell(name)
    child = multiprocessing.get_context(how).Process(target=tell, args=(f"{name}'s child",))
    child.start()
    child.join()

if __name__ == "__main__":
    random.seed(0)
    np.random.seed(0)
    for how in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(how)
        children = [context.Process(target=with_child, args=(how, f"{how} {i}")) for i in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.map(tell, ["pool 0", "pool 1"])
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        list(pool.map(tell, ["executor 0", "executor 1"]))
    for i in range(2):
        subprocess.run([sys.executable, "-c", PROGRAM, f"program {i}"])
        subprocess.run([sys.executable, "-c", PROGRAM, f"with an environment {i}"], env=dict(os.environ))
        subprocess.run([sys.executable, "-c", PROGRAM, f"by posix_spawn {i}"], close_fds=False)
    shell = f"{sys.executable} -c '{PROGRAM}' 'by a shell "
    os.system(f"{shell}0'; {shell}1'")
    for i in range(2):
        if os.fork() == 0:
            tell(f"by os.fork {i}")
            os._exit(0)
        os.wait()
    tell("itself")
"""


def drawn(trainer, output):
    """What each process drew, by its name."""
    trainer.script(CHILDREN)
    run = trainer.record("train.py", tier="none", control=Control())
    lines = [json.loads(line) for line in output(run).splitlines() if line.startswith("[")]
    return {name: draws for name, *draws in lines}


@pytest.mark.slow
def test_children_of_every_kind_draw_for_themselves_and_repeat(trainer, output):
    first = drawn(trainer, output)
    assert len(first) == 27
    assert drawn(trainer, output) == first
    *independent, _ = zip(*first.values(), strict=True)
    for each in independent:
        assert len(set(each)) == len(first)
    # The global generator of NumPy is seeded by the script: what is forked goes on with a copy of it, as it
    # does without a control; every other process, and each task of a pool, has its own.
    numpys = {name: draws[-1] for name, draws in first.items()}
    seeded = np.random.RandomState(0).rand(2)
    copies = ["fork 0", "fork 1", "by os.fork 0", "by os.fork 1", "itself"]
    later = ["fork 0's child", "fork 1's child"]
    assert [numpys.pop(name) for name in (*copies, *later)] == [seeded[0]] * 5 + [seeded[1]] * 2
    assert len(set(numpys.values())) == len(numpys) == 20


RANKS = """
import json, multiprocessing, os, random, subprocess, sys
import numpy as np
import pytest

def tell(name):
    drawn = random.random(), np.random.default_rng().random(), np.random.rand()
    os.write(1, (json.dumps([name, *drawn]) + chr(10)).encode())

if __name__ == "__main__":
    if sys.argv[1:]:
        tell(f"rank {os.environ['RANK']}")
        if os.fork() == 0:
            tell(f"child of {os.environ['RANK']}")
            os._exit(0)
        os.wait()
    else:
        order = json.loads(os.environ["ORDER"])
        for rank in order:
            subprocess.run([sys.executable, __file__, "rank"], env={**os.environ, "RANK": str(rank)})
"""


def ranks(trainer, output, order):
    trainer.script(RANKS)
    run = trainer.record("train.py", tier="none", control=Control(), env={"ORDER": json.dumps(order)})
    return {name: draws for name, *draws in map(json.loads, output(run).splitlines())}


def test_a_rank_is_known_by_its_rank_and_not_by_the_order_of_the_starts(trainer, output):
    one, other = ranks(trainer, output, [0, 1]), ranks(trainer, output, [1, 0])
    assert one == other
    assert len({value for draws in one.values() for value in draws[:2]}) == 2 * len(one) == 8
    assert one["rank 0"][2] != one["rank 1"][2]


# Each node's launcher starts its rank; a shell starts the launchers side by side, so that either is first.
NODE = """
import os, subprocess, sys
subprocess.run([sys.executable, "rank.py"], env={**os.environ, "RANK": sys.argv[1]}, check=True)
"""
RANK = "import os, random; print(os.environ['RANK'], random.random(), hash('a'), flush=True)"


@pytest.mark.slow
def test_ranks_of_launchers_that_race_draw_by_their_rank(trainer, output):
    trainer.script(NODE, "node.py")
    trainer.script(RANK, "rank.py")
    said = []
    for waits in (("0", "1"), ("1", "0")):
        nodes = " & ".join(
            f"(sleep {wait}; {sys.executable} node.py {rank})" for rank, wait in enumerate(waits)
        )
        trainer.script(f"{nodes} & wait", "run.sh")
        run = trainer.record("sh", "run.sh", control=Control())
        said.append(sorted(line for line in output(run).splitlines() if line[:1] in "01"))
    assert len(said[0]) == 2 and said[0] == said[1]
    assert len({line.split()[1] for line in said[0]}) == 2


def test_rank_0_is_what_one_process_would_be(trainer, output):
    trainer.script("import random; print(random.random())", "alone.py")
    options = {"tier": "none", "control": Control()}
    alone = output(trainer.record("alone.py", **options))
    assert output(trainer.record("alone.py", env={"RANK": "0"}, **options)) == alone
    assert output(trainer.record("alone.py", env={"RANK": "1"}, **options)) != alone


HELPERS = """
import json, os, random, subprocess, sys

TELL = "import json, os, random, sys; print(json.dumps([sys.argv[1], random.random(), sorted(os.environ)]))"

def start(name, env):
    subprocess.run([sys.executable, "-c", TELL, name], env=env, check=True)

start("bare", {"LANG": "C.UTF-8"})
start("bare again", {})
start("by another samerun", {"SAMERUN_PLAN": ""})
program = [sys.executable, "-c", TELL, "bare by posix_spawn"]
os.waitpid(os.posix_spawn(sys.executable, program, {"LANG": "C.UTF-8"}), 0)
"""


def test_a_helper_with_an_environment_made_anew_is_followed(trainer, output):
    trainer.script(HELPERS)
    runs = []
    for _ in range(2):
        lines = output(trainer.record("train.py", tier="none", control=Control())).splitlines()
        runs.append({name: (drawn, names) for name, drawn, names in map(json.loads, lines)})
    one, other = runs
    followed = ["bare", "bare again", "bare by posix_spawn"]
    for name in followed:
        assert one[name] == other[name]
        assert not {"PATH", "HOME", "PYTHONPATH"} & set(one[name][1]), (
            "what the user keeps from it stays away"
        )
    assert len({one[name][0] for name in followed}) == 3
    assert one["by another samerun"][0] != other["by another samerun"][0]


JOBS = """
import json, os, random
import numpy as np
import psutil
from joblib import Parallel, delayed

def job(task):
    assert psutil.Process(os.getpid()).is_running()
    return random.random(), np.random.default_rng().random(), np.random.rand(), float(os.getpid())

if __name__ == "__main__":
    print(json.dumps(Parallel(n_jobs=2)(delayed(job)(task) for task in range(8))))
"""


@pytest.mark.slow
def test_jobs_of_joblib_draw_for_themselves_whoever_does_them(trainer, output):
    pytest.importorskip("joblib")
    trainer.script(JOBS)
    control = Control(extra=("process-id",))
    runs = [json.loads(output(trainer.record("train.py", tier="none", control=control))) for _ in range(2)]
    for jobs in runs:
        assert all(len({job[which] for job in jobs}) == 8 for which in range(3))
    # which worker does which job is a race, but what each of them draws first is not
    numbers = [{job[-1] for job in jobs} for jobs in runs]
    both = numbers[0] | numbers[1]  # one of two workers may do all jobs
    assert 1 <= len(both) <= 2 and min(both) > 2**22


WORKERS = """
import json, numpy as np, os, random, sys, uuid
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self): return 8
    def __getitem__(self, index): return index

def init(worker):
    random.seed()
    np.random.seed()
    drawn = random.random(), np.random.rand(), np.random.default_rng().random(), random.Random().random()
    os.write(1, (json.dumps([worker, *drawn]) + chr(10)).encode())

if __name__ == "__main__":
    loader = DataLoader(Data(), 2, num_workers=2, worker_init_fn=init, multiprocessing_context=sys.argv[1])
    for epoch in range(2):
        list(loader)
"""


@pytest.mark.parametrize("how", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_what_dataloader_workers_make_without_a_seed_differs_by_worker_and_repeats(trainer, output, how):
    trainer.script(WORKERS)
    first, second = (
        sorted(output(trainer.record("train.py", how, tier="none", control=Control())).splitlines())
        for _ in range(2)
    )
    assert first == second
    drawn = [value for line in first for value in json.loads(line)[1:]]
    assert len(set(drawn)) == len(drawn) == 4 * 4


# --- in this process -------------------------------------------------------------------------------


def in_children(draw, number):
    """What `draw` gives in each of some forked children, one after the other."""
    found = []
    for _ in range(number):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, json.dumps(draw()).encode())
            os._exit(0)
        os.close(write)
        with open(read) as told:
            found.append(json.loads(told.read()))
        os.waitpid(child, 0)
    return found


def draws():
    return [
        random.random(),
        random.Random().random(),
        np.random.default_rng().random(),
        uuid.uuid4().int / 2**128,
    ]


@pytest.mark.slow
def test_children_draw_independently_over_many_seeds():
    """Against a control that freezes, shares a stream or shifts one: mean, variance, correlations."""
    seeds, children = 40, 3
    found = []
    for seed in range(seeds):
        with samerun.control(seed=seed, mode="seeded"):
            found.append([draws(), *in_children(draws, children)])
    values = np.array(found).reshape(seeds, -1)  # a row for a seed, a column for a process and a generator
    assert len(np.unique(values)) == values.size
    assert np.abs(values.mean(0) - 0.5).max() < 4.5 * np.sqrt(1 / 12 / seeds)
    assert np.abs(values.var(0) * 12 - 1).max() < 4.5 * np.sqrt(0.8 / seeds)
    apart = np.corrcoef(values.T)[np.triu_indices(values.shape[1], 1)]
    assert np.abs(apart).max() < 4.5 / np.sqrt(seeds)
    with samerun.control(seed=7, mode="seeded"):
        again = [draws(), *in_children(draws, children)]
    # not equal to the first time: these children are further ones of this process
    assert again[0] == found[7][0]


def test_children_that_make_one_sample_together_are_not_alike():
    """A dataset may start processes for a sample."""

    class Together(torch.utils.data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return torch.tensor(in_children(lambda: draws()[1:], 2), dtype=torch.float64)

    with samerun.control(seed=1, mode="seeded"):
        drawn = torch.cat(list(torch.utils.data.DataLoader(Together(), 1))).flatten()
    assert len(drawn.unique()) == len(drawn) == 2 * 2 * 3


def test_a_childs_place_is_its_order_in_its_parent():
    one, two = in_children(lambda: [lineage.get_path(), in_children(lineage.get_path, 2)], 2)
    assert one[0][:-1] == two[0][:-1] and two[0][-1] == one[0][-1] + 1
    for place, below in (one, two):
        assert below == [[*place, "fork", 0], [*place, "fork", 1]]


def test_a_child_knows_its_parent():
    mine = list(lineage.get_path()), os.getpid()
    assert in_children(lambda: lineage.find_parent_path(os.getppid()), 1) == [mine[0]]
    assert in_children(lambda: lineage.find_parent_path(1), 1) == [None]


def test_what_is_handed_on_is_put_back():
    import _posixsubprocess

    before = dict(os.environ), _posixsubprocess.fork_exec, os.posix_spawn
    with samerun.control(seed=1, mode="seeded"):
        assert lineage.VARIABLE in os.environ
        assert _posixsubprocess.fork_exec is not before[1]
    assert (dict(os.environ), _posixsubprocess.fork_exec, os.posix_spawn) == before


def test_a_command_begins_a_tree_of_its_own(tmp_path):
    with samerun.control(seed=1, mode="seeded"):
        assert lineage.VARIABLE not in build_child_environment(Plan(run=str(tmp_path)), tmp_path, {})


def test_a_program_that_is_spawned_with_the_environment_as_it_is_takes_a_place():
    """So subprocess starts programs from Python 3.13 on; earlier ones refuse None."""
    get = ctypes.CDLL(None).getenv
    get.restype = ctypes.c_char_p
    told = []

    def spawn(path, argv, env):
        told.append((env, json.loads(get(lineage.VARIABLE.encode()))[-1]))

    with samerun.control(seed=1, mode="seeded"):
        for _ in range(2):
            lineage._spawn(spawn, ("/bin/sh", ["sh"], None), {})
        spawn("", [], None)
    assert told == [(None, ["program", "sh", 0]), (None, ["program", "sh", 1]), (None, [])]


def test_threads_that_start_programs_each_take_another_place():
    import subprocess
    from concurrent.futures import ThreadPoolExecutor

    program = f"import os, json; print(json.loads(os.environ[{lineage.VARIABLE!r}])[-1])"

    def start(_):
        return subprocess.run([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, text=True).stdout

    with samerun.control(seed=1, mode="seeded"), ThreadPoolExecutor(4) as threads:
        told = collections.Counter(threads.map(start, itertools.repeat(None, 12)))
    assert len(told) == 12
