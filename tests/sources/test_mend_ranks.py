"""Patches of trainings with ranks: what each rank had of its own stays its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from samerun.editing.edit import Opening, Unfaithful
from samerun.editing.user_program import Code
from samerun.explaining.cause import Cause
from samerun.explaining.patch import patch
from samerun.sources.edits.ranks import keep_ranks_apart

from .mending import Program, differing, equal

RANK = 'int(os.environ.get("RANK", 0))'


def patched(program: Program, source: str, difference, *variables: str) -> str:
    difference = replace(difference, a=replace(difference.a, variables=dict.fromkeys(variables, "digest")))
    made = patch([(difference, Cause(source, True, "", ""))], program.folder)
    assert made is not None
    return made.files["train.py"]


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize(
    ("read", "kind", "source", "of_its_own"),
    [
        ("os.getpid", "identity", "process-id", True),
        ("time.time_ns", "clock", "clock", True),
        ("time.time", "clock", "clock", False),  # ranks that start in one second have the same
    ],
)
def test_a_seed_that_each_rank_had_for_itself_becomes_one_of_its_rank(
    read: str, kind: str, source: str, of_its_own: bool, ranks: bool, tmp_path: Path
) -> None:
    lines = [
        "import os, time",
        "import numpy as np",
        "seed = 3",
        f"rng = np.random.default_rng([seed, {read}()])",
    ]
    program = Program(tmp_path, "\n".join([*lines, ""]))
    at = program.at("default_rng")
    rows = differing(kind, read, at), differing("seed", "np.random.default_rng", at)
    text = patched(program, source, program.difference(*rows), *["RANK"] * ranks)
    assert f"default_rng([seed, {RANK if ranks and of_its_own else 0}])" in text


@pytest.mark.parametrize("ranks", [False, True])
def test_ranks_that_nobody_seeded_are_seeded_by_their_rank(ranks: bool, tmp_path: Path) -> None:
    program = Program(tmp_path, "import torch\nmodel = torch.nn.Linear(2, 2)\n")
    text = patched(program, "torch-cpu", program.difference(), *["RANK"] * ranks)
    assert (f"torch.manual_seed({RANK})" if ranks else "torch.manual_seed(0)") in text
    assert ("import os" in text) is ranks


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize(
    ("line", "source", "seeded"),
    [
        ("g.seed()", "torch-cpu", "g.manual_seed({})"),
        ("r = random.SystemRandom()", "os-entropy", "r = random.Random({})"),
        ("r = random.Random()", "os-entropy", "r = random.Random({})"),
        ("r = np.random.default_rng()", "numpy-generator", "r = np.random.default_rng({})"),
    ],
)
def test_what_each_rank_seeded_from_the_system_has_its_rank(
    line: str, source: str, seeded: str, ranks: bool, tmp_path: Path
) -> None:
    """`g.manual_seed(0)` gave all ranks the same noise."""
    text = f"import random\nimport numpy as np\nimport torch\ng = torch.Generator()\n{line}\n"
    program = Program(tmp_path, text)
    row = equal("unseeded", source, program.at(line))
    text = patched(program, source, program.difference(row), *["RANK"] * ranks)
    assert seeded.format(RANK if ranks else 0) in text


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"])
def test_the_number_is_in_the_variable_that_the_launcher_set(variable: str, tmp_path: Path) -> None:
    """srun and mpirun set no RANK: with its default of 0 all ranks would draw the same."""
    program = Program(tmp_path, "import torch\nmodel = torch.nn.Linear(2, 2)\n")
    text = patched(program, "torch-cpu", program.difference(), variable)
    assert f'torch.manual_seed(int(os.environ.get("{variable}", 0)))' in text


def test_torchruns_own_number_comes_first(tmp_path: Path) -> None:
    """torchrun under srun: a node's tasks have one number, their ranks each their own."""
    program = Program(tmp_path, "import torch\nmodel = torch.nn.Linear(2, 2)\n")
    text = patched(program, "torch-cpu", program.difference(), "SLURM_PROCID", "RANK")
    assert f"torch.manual_seed({RANK})" in text


@pytest.mark.parametrize(("read", "more"), [("time.time_ns()", f" + {RANK}"), ("time.time()", "")])
def test_seeds_that_a_rank_draws_again_and_again_are_its_own(read: str, more: str, tmp_path: Path) -> None:
    """Ranks that seed torch alike would draw the same ones from it."""
    body = f"for epoch in range(3):\n    np.random.seed(int({read}) % 2**32)\n"
    program = Program(tmp_path, f"import time\nimport numpy as np\nimport torch\n\n{body}")
    at, torchs = program.at(read), equal("seed", "torch.manual_seed", "train.py:3")
    rows = differing("clock", read[:-2], at), differing("seed", "np.random.seed", at), torchs
    text = patched(program, "clock", program.difference(*rows), "RANK")
    assert f"torch.randint(2**31, ()).item(){more}" in text


SPAWNED = """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.multiprocessing import spawn as go
import psutil


def worker(rank, size):
    if size > 1:
        dist.init_process_group("gloo", rank=rank, world_size=size)
    model = torch.nn.Linear(2, 2)


if __name__ == "__main__":
    START
"""


@pytest.mark.parametrize(
    ("start", "apart"),
    [
        ("mp.spawn(worker, args=(2,), nprocs=2)", True),
        ("go(worker, (2,), 2)", True),
        ("mp.get_context('spawn').Process(target=worker, args=(1, 2)).start()", True),
        ("psutil.Process(); worker(0, 1)", False),
        ("worker(0, 1)", False),  # started by a launcher, or alone
    ],
)
def test_ranks_that_the_script_starts_are_seeded_where_they_make_their_group(
    start: str, apart: bool, tmp_path: Path
) -> None:
    program = Program(tmp_path, SPAWNED.replace("START", start))
    text = patched(program, "torch-cpu", program.difference())
    assert '__main__":\n    torch.manual_seed(0)\n' in text
    assert ("world_size=size)\n        torch.manual_seed(1 + dist.get_rank())\n    model" in text) is apart


def test_a_seed_that_each_spawned_rank_had_for_itself_is_not_made_one_for_all(tmp_path: Path) -> None:
    lines = SPAWNED.replace("START", "mp.spawn(worker, args=(2,), nprocs=2)").replace(
        "    model =", "    torch.manual_seed(os.getpid())\n    model ="
    )
    program = Program(tmp_path, "import os\n" + lines)
    at = program.at("manual_seed")
    rows = differing("identity", "os.getpid", at), differing("seed", "torch.manual_seed", at)
    difference = program.difference(*rows)
    made = patch([(difference, Cause("process-id", True, "", ""))], program.folder)
    assert made is None or "train.py" not in made.files


def test_every_generator_is_seeded_there(tmp_path: Path) -> None:
    script = SPAWNED.replace("START", "mp.spawn(worker, args=(2,), nprocs=2)")
    program = Program(tmp_path, script.replace("import torch\n", "import numpy as np\nimport torch\n", 1))
    causes = [Cause(source, True, "", "") for source in ("torch-cpu", "numpy-global")]
    made = patch([(program.difference(), cause) for cause in causes], program.folder)
    assert made is not None
    group = made.files["train.py"].split("world_size=size)\n")[1].split("    model")[0]
    assert sorted(line.strip() for line in group.splitlines()) == [
        "np.random.seed(1 + dist.get_rank())",
        "torch.manual_seed(1 + dist.get_rank())",
    ]


@pytest.mark.parametrize(
    ("before", "after", "own"),
    [
        ("", "torch.manual_seed(args.seed)", "args.seed + 1 + dist.get_rank()"),
        ("torch.manual_seed(args.seed)", "", "args.seed + 1 + dist.get_rank()"),
        ("", "torch.manual_seed(2 * seed)", "(2 * seed) + 1 + dist.get_rank()"),
        ("", "torch.manual_seed(seed + rank)", "1 + dist.get_rank()"),
        ("", "torch.manual_seed(3)", "1 + dist.get_rank()"),
        ("", "if size:\n        torch.manual_seed(seed)", "1 + dist.get_rank()"),
    ],
)
def test_another_generator_of_a_rank_gets_the_seed_that_the_script_gives_to_torch(
    before: str, after: str, own: str, tmp_path: Path
) -> None:
    """So `--seed` moves it as well."""
    script = SPAWNED.replace("START", "mp.spawn(worker, args=(2,), nprocs=2)")
    meeting = 'dist.init_process_group("gloo", rank=rank, world_size=size)'
    script = script.replace("    if size > 1:\n        ", "    ").replace(
        meeting, f"{before or 'pass'}\n    {meeting}\n    {after or 'pass'}"
    )
    program = Program(tmp_path, script.replace("import torch\n", "import numpy as np\nimport torch\n", 1))
    text = patched(program, "numpy-global", program.difference())
    assert f"world_size=size)\n    np.random.seed({own})\n    {after or 'pass'}\n" in text
    assert '__main__":\n    np.random.seed(0)\n' in text


def test_a_rank_is_seeded_once_what_its_seed_is_made_of_is_there(tmp_path: Path) -> None:
    script = SPAWNED.replace("START", "np.random.seed(5)\n    mp.spawn(worker, args=(2,), nprocs=2)")
    script = script.replace("    if size > 1:\n        ", "    ").replace(
        "    model =", "    seed = read()\n    torch.manual_seed(seed)\n    model ="
    )
    program = Program(tmp_path, script.replace("import torch\n", "import numpy as np\nimport torch\n", 1))
    text = patched(program, "numpy-global", program.difference())
    assert "torch.manual_seed(seed)\n    np.random.seed(seed + 1 + dist.get_rank())\n    model" in text
    assert "np.random.seed(0)" not in text  # the program that starts them seeds itself


@pytest.mark.parametrize(
    ("drawing", "why"),
    [
        (["rank0"], ""),
        (["rank0", "rank0.worker0"], ""),
        (["rank0.helper-Process-1", "rank0.helper-Process-2"], "np.random.seed(number)"),
        (["rank0", "rank0.helper-SpawnProcess-1"], "np.random.seed(number)"),
        ([], "np.random.seed(number)"),
    ],
)
def test_processes_without_a_group_are_not_seeded_alike(drawing: list[str], why: str, tmp_path: Path) -> None:
    """By spawn each runs the line at the top of the script, by fork each has a copy of what it seeded."""
    script = (
        "import multiprocessing as mp\nimport numpy as np\n\n"
        "def act(queue):\n    queue.put(np.random.rand())\n\n"
        "if __name__ == '__main__':\n    mp.Process(target=act).start()\n    np.random.rand()\n"
    )
    program = Program(tmp_path, script)
    rows = [differing("draw", "numpy-global", program.at("rand()"), process=name) for name in drawing]
    made = program.patch("numpy-global", *rows)
    assert why.replace("np.", "numpy.") in made.cannot.get("numpy-global", "")
    assert bool(made.diff) is not bool(why)


@pytest.mark.parametrize("drawn", [True, False])
def test_a_process_beside_the_training_is_no_reason_to_leave_it_unseeded(drawn: bool, tmp_path: Path) -> None:
    script = "import torch\nfrom multiprocessing import Process\n\nProcess(target=print).start()\n"
    program = Program(tmp_path, script + "model = torch.nn.Linear(2, 2)\n")
    made = program.patch("torch-cpu", drawn=frozenset(["torch-cpu"]) if drawn else frozenset())
    assert ("torch.manual_seed(0)" in made.diff) is drawn


def test_polars_is_seeded_by_the_rank(tmp_path: Path) -> None:
    program = Program(tmp_path, "import polars as pl\n\nframe = pl.read_csv('a').sample(9)\n")
    made = patched(program, "library-generators", program.difference(), "RANK")
    assert 'pl.set_random_seed(int(os.environ.get("RANK", 0)))' in made


@pytest.mark.parametrize("beside", [{}, {"torch-cpu": 2}, {"numpy-global": 2}])
def test_a_script_that_is_started_several_times_gets_no_seed_for_all(
    beside: dict[str, int], tmp_path: Path
) -> None:
    """Members of an ensemble would begin with the same weights."""
    program = Program(tmp_path, "import torch\nmodel = torch.nn.Linear(2, 2)\n")
    difference = program.difference()
    difference = replace(difference, a=replace(difference.a, beside=beside))
    made = patch([(difference, Cause("torch-cpu", True, "", ""))], program.folder)
    assert made is not None
    if "torch-cpu" in beside:
        assert not made.files and "several times" in made.cannot["torch-cpu"]
    else:
        assert "torch.manual_seed(0)" in made.files["train.py"]


def test_a_generator_of_a_script_that_is_started_several_times_gets_no_seed_for_all(tmp_path: Path) -> None:
    program = Program(tmp_path, "import numpy as np\nrng = np.random.default_rng()\n")
    at = program.at("default_rng")
    rows = [differing("unseeded", "numpy-generator", at, process=name) for name in ("rank0", "rank0.0a1b.1")]
    assert program.mended("numpy-generator", rows[0]).endswith("default_rng(0)")
    assert "several processes run" in program.refused("numpy-generator", *rows)


def test_a_seed_of_the_ranks_alone_is_none_of_the_program(tmp_path: Path) -> None:
    script = SPAWNED.replace("START", "np.random.rand(); mp.spawn(worker, args=(2,), nprocs=2)")
    script = script.replace("    model =", "    np.random.seed(rank)\n    model =")
    program = Program(tmp_path, script.replace("import torch\n", "import numpy as np\nimport torch\n", 1))
    assert "np.random.seed(0)\n" in patched(program, "numpy-global", program.difference())


def test_a_generator_is_not_seeded_beside_torch_alike_on_all_ranks(tmp_path: Path) -> None:
    """Each rank's augmentation would be that of the others."""
    script = SPAWNED.replace("START", "mp.spawn(worker, args=(2,), nprocs=2)").replace(
        "    model =", "    torch.manual_seed(args.seed)\n    np.random.rand()\n    model ="
    )
    program = Program(tmp_path, script.replace("import torch\n", "import numpy as np\nimport torch\n", 1))
    rank = {"process": "rank0.SpawnProcess-1"}
    rows = (
        equal("seed", "torch.manual_seed", program.at("torch.manual_seed"), **rank),
        differing("draw", "numpy-global", program.at("np.random.rand"), **rank),
    )
    text = patched(program, "numpy-global", program.difference(*rows))
    assert "np.random.seed(args.seed)" not in text
    assert "world_size=size)\n        np.random.seed(1 + dist.get_rank())\n" in text


def test_the_number_of_a_rank_is_none_that_the_script_seeds_another_one_with(tmp_path: Path) -> None:
    """It seeds rank 0 with 1: rank 1 would draw the same masks."""
    program = Program(
        tmp_path, "import torch\nif rank == 0:\n    torch.manual_seed(1)\nmodel = torch.nn.Linear(2, 2)\n"
    )
    text = patched(program, "torch-cpu", program.difference(), "RANK")
    assert f"torch.manual_seed(1000 + {RANK})" in text


def test_two_lines_of_each_rank_have_two_seeds(tmp_path: Path) -> None:
    program = Program(
        tmp_path, "import numpy as np\none = np.random.default_rng()\ntwo = np.random.default_rng()\n"
    )
    rows = [equal("unseeded", "numpy-generator", program.at(name)) for name in ("one", "two")]
    text = patched(program, "numpy-generator", program.difference(*rows), "RANK")
    assert f"one = np.random.default_rng({RANK})" in text
    assert f"two = np.random.default_rng(1000 + {RANK})" in text


TUNE = """
    import subprocess, sys
    for trial in range(int(sys.argv[1])):
        subprocess.run([sys.executable, "train.py", str(trial)], check=True)
"""


STAGES = """
    import subprocess, sys
    for stage in ("prepare.py", "train.py"):
        subprocess.run([sys.executable, stage], check=True)
"""


@pytest.mark.parametrize(("tune", "loop"), [(TUNE, True), (STAGES, False)])
def test_a_script_that_another_one_starts_again_and_again_is_not_seeded_alike(
    tmp_path: Path, tune: str, loop: bool
) -> None:
    """Here it was started once; the stages of a pipeline are one script each."""
    program = Program(tmp_path, "import torch\nmodel = torch.nn.Linear(2, 2)\n", {"tune.py": tune})
    difference = program.difference()
    side = replace(difference.a, manifest={**difference.a.manifest, "command": ["python", "tune.py"]})
    code = Code(tmp_path, ("python", "train.py"), {"train.py": ""})
    edits = [Opening("torch.manual_seed", "(0)")]
    if loop:
        with pytest.raises(Unfaithful, match="starts this script several times"):
            keep_ranks_apart(edits, replace(difference, a=side), code)
    else:
        assert keep_ranks_apart(edits, replace(difference, a=side), code) == edits
