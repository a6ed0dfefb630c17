"""Patches of lines that took another seed in each call: they draw them, a constant would freeze them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from .mending import Program, differing, equal

DRAW = "torch.randint(2**31, ()).item()"
SEEDED = equal("seed", "torch.manual_seed", "train.py:1")
MEMBERS = """
import random, time, uuid
import numpy as np
import torch

def train_member():
    {seed}
    return torch.rand(2).tolist(), np.random.rand(), random.random()

members = [train_member() for _ in range(4)]
drawn = [str(each[WHICH]) for each in members]
print(len(set(drawn)), drawn)
"""
LINES = {
    "torch.manual_seed(uuid.uuid4().int % 2**31)": ("os-entropy", "torch.manual_seed", 0),
    "torch.manual_seed(time.time_ns())": ("clock", "torch.manual_seed", 0),
    "np.random.seed(time.time_ns() % 2**32)": ("clock", "np.random.seed", 1),
    "random.seed()": ("python-random", "random.seed", 2),
    "seed = int(time.time() * 1000) % 1000; random.seed(seed)": ("clock", "random.seed", 2),
}


@pytest.mark.everyday(1)
@pytest.mark.parametrize("line", LINES)
def test_members_of_an_ensemble_keep_seeds_of_their_own(line: str, tmp_path: Path) -> None:
    source, name, which = LINES[line]
    program = Program(tmp_path, MEMBERS.format(seed=line).replace("WHICH", str(which)))
    at = program.at(line)
    read = {"os-entropy": ("entropy", "uuid.uuid4"), "clock": ("clock", "time.time_ns")}
    rows = [differing(*read.get(source, ("unseeded", source)), at)]
    if source != "python-random":
        rows.append(differing("seed", name, at))
    made = program.patch(source, *rows, site=at)
    assert DRAW in made.files["train.py"], made.cannot
    (tmp_path / "train.py").write_text(made.files["train.py"])
    outputs = [
        subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert outputs[0].stdout == outputs[1].stdout
    assert outputs[0].stdout.split()[0] == "4"


def seeded(digest: str, site: str, **columns):
    row = equal("seed", "np.random.seed", site, **columns)
    return replace(row, digest=digest.encode() * 16), replace(row, digest=digest.upper().encode() * 16)


def made_of(script: str, *rows, tmp_path: Path, **columns) -> str:
    program = Program(tmp_path, script)
    at = program.at("time_ns()")
    return program.patch(
        "clock",
        differing("clock", "time.time_ns", at),
        *(row(at) for row in rows),
        SEEDED,
        site=at,
        **columns,
    ).files["train.py"]


@pytest.mark.parametrize(
    ("code", "drawn"),
    [
        ("np.random.seed(time.time_ns())", False),
        ("for epoch in range(3):\n    np.random.seed(time.time_ns())", True),
        ("def begin():\n    np.random.seed(time.time_ns())\n\nbegin()", False),
        ("def begin():\n    np.random.seed(time.time_ns())\n\nbegin()\nbegin()", True),
        ("def begin():\n    np.random.seed(time.time_ns())\n\nfor _ in range(2):\n    begin()", True),
        ("def begin(_):\n    np.random.seed(time.time_ns())\n\nlist(map(begin, range(4)))", True),
        ("class A:\n    def __init__(self):\n        np.random.seed(time.time_ns())\n\na = A()", False),
        (
            "class A:\n    def __init__(self):\n        np.random.seed(time.time_ns())\n\na, b = A(), A()",
            True,
        ),
        ("class A:\n    def __getitem__(self, i):\n        np.random.seed(time.time_ns())", True),
    ],
)
def test_a_line_that_runs_once_has_a_constant(code: str, drawn: bool, tmp_path: Path) -> None:
    text = made_of(f"import time\nimport numpy as np\nimport torch\n\n{code}\n", tmp_path=tmp_path)
    assert f"np.random.seed({DRAW if drawn else 0})" in text


AGAIN_WITH_OTHER_ARGUMENTS = {
    "a generator of each instance": (
        """
        import argparse
        import numpy as np

        class Layer:
            def __init__(self, n):
                self.mask = np.random.default_rng().random(n)

        parser = argparse.ArgumentParser()
        parser.add_argument("--layers", type=int, default=1)
        layers = [Layer(8) for _ in range(parser.parse_args().layers)]
        """,
        "numpy-generator",
        f"default_rng({DRAW}).random(n)",
    ),
    "one that may be given a seed": (
        """
        import sys
        import numpy as np

        class Projection:
            def __init__(self, n, seed=None):
                self.rng = np.random.default_rng(seed)

        views = [Projection(8) for _ in sys.argv]
        """,
        "numpy-generator",
        f"default_rng({DRAW} if seed is None else seed)",
    ),
    "one of Python's": (
        """
        import random
        import sys

        class Replay:
            def __init__(self, size, seed=None):
                self.rng = random.Random(seed)

        replays = [Replay(8) for _ in sys.argv]
        """,
        "os-entropy",
        "random.Random(random.getrandbits(64) if seed is None else seed)",
    ),
}


@pytest.mark.parametrize("name", AGAIN_WITH_OTHER_ARGUMENTS)
def test_a_line_that_ran_once_and_may_run_again(name: str, tmp_path: Path) -> None:
    script, source, text = AGAIN_WITH_OTHER_ARGUMENTS[name]
    program = Program(tmp_path, script)
    at = program.at("default_rng(" if source == "numpy-generator" else "random.Random(")
    made = program.patch(source, equal("unseeded", source, at), site=at)
    assert text in made.files["train.py"], made


@pytest.mark.parametrize(("digests", "drawn"), [("ab", True), ("aa", False)])
def test_what_was_recorded_says_whether_a_line_had_several_seeds(
    digests: str, drawn: bool, tmp_path: Path
) -> None:
    """A stamp of the day that a function reads again and again is one value."""
    rows = [partial(seeded, digest) for digest in digests]
    code = "import time\nimport numpy as np\nimport torch\n\ndef f():\n    np.random.seed(time.time_ns())\n"
    assert (DRAW in made_of(code, *rows, tmp_path=tmp_path)) is drawn


def test_a_worker_that_seeds_for_each_sample_does_not_get_one_seed_for_all(tmp_path: Path) -> None:
    code = "import torch\nimport numpy as np\n\ndef sample(index):\n    np.random.seed()\n"
    program = Program(tmp_path, code)
    row = equal("unseeded", "numpy-global", program.at("seed()"), process="rank0.worker0")
    assert (
        program.mended("numpy-global", row, row, SEEDED)
        == f"-    np.random.seed()\n+    np.random.seed({DRAW})"
    )
    assert "torch.initial_seed()" in program.mended("numpy-global", row, SEEDED)  # one that begins


@pytest.mark.parametrize("read", ["os.getpid()", "time.time_ns()"])
def test_processes_that_each_had_a_seed_are_not_given_one_for_all(read: str, tmp_path: Path) -> None:
    program = Program(
        tmp_path, f"import os, time\nimport numpy as np\n\ndef task(k):\n    np.random.seed({read})\n"
    )
    at = program.at(read)
    rows = [seeded(n, at, process=f"rank0.helper-ForkPoolWorker-{n}") for n in "ab"]
    source, kind = ("process-id", "identity") if "pid" in read else ("clock", "clock")
    why = program.refused(source, differing(kind, read[:-2], at), *rows, site=at)
    assert "several processes run train.py:5" in why


def test_a_script_that_puts_torch_back_again_and_again_gets_no_draw_from_it(tmp_path: Path) -> None:
    """Each of these draws would be the same."""
    body = "    torch.manual_seed(0)\n    random.seed(time.time_ns())\n"
    code = f"import random, time\nimport torch\n\ndef f():\n{body}"
    program = Program(tmp_path, code)
    again = equal("seed", "torch.manual_seed", program.at("manual_seed"))
    read = differing("clock", "time.time_ns", program.at("time_ns"))
    why = program.refused("clock", read, again, again, site=program.at("time_ns"))
    assert "a generator of its own" in why


def test_a_seed_that_a_call_gives_keeps_its_meaning(tmp_path: Path) -> None:
    code = """
    import random, time

    def set_seed(seed=None):
        if seed is None:
            seed = time.time_ns()
        random.seed(seed)

    set_seed()
    """
    program = Program(tmp_path, code)
    rows = (
        differing("clock", "time.time_ns", program.at("time_ns")),
        differing("seed", "random.seed", program.at("random.seed")),
    )
    assert program.mended("clock", *rows, site=program.at("time_ns")) == (
        "-        seed = time.time_ns()\n+        seed = 0"
    )


ENSEMBLE = """
import numpy as np
import random
import torch

def bootstrap(n):
    rng = MADE
    return rng.random()

def train(member):
    np.random.seed(42)
    random.seed(42)
    bootstrap(9)

for member in range(3):
    train(member)
"""


@pytest.mark.parametrize(
    ("made", "source", "function"),
    [
        ("np.random.default_rng()", "numpy-generator", "np.random.seed"),
        ("random.Random()", "os-entropy", "random.seed"),
    ],
)
@pytest.mark.parametrize("alike", [True, False])
def test_members_do_not_draw_alike_from_a_generator_that_is_seeded_alike_for_each(
    tmp_path: Path, made: str, source: str, function: str, alike: bool
) -> None:
    """Each member began with the same weights and had a bootstrap of its own: the patch gave them all one."""
    program = Program(tmp_path, ENSEMBLE.replace("MADE", made))
    at = program.at("rng = ")
    rows = []
    for member in range(2):
        digest = b"a" * 16 if alike else bytes([member] * 16)
        rows.append(replace(equal("seed", function, program.at(function)), digest=digest))
        rows.append(equal("unseeded", source, at))
    if alike:
        assert "alike again and again" in program.refused(source, *rows, site=at)
    else:
        assert program.mended(source, *rows, site=at)


def test_two_seedings_before_one_draw_are_no_repetition(tmp_path: Path) -> None:
    """A framework seeds what the script has seeded."""
    program = Program(tmp_path, ENSEMBLE.replace("MADE", "np.random.default_rng()"))
    seeded = equal("seed", "np.random.seed", program.at("np.random.seed"))
    made = equal("unseeded", "numpy-generator", program.at("rng = "))
    assert "randint" in program.mended("numpy-generator", seeded, seeded, made, made)


KEEPING = """
import contextlib
import numpy as np
import torch

@contextlib.contextmanager
def kept():
    numpy, state = np.random.get_state(), torch.get_rng_state()
    yield
    np.random.set_state(numpy)

def resume(path):
    np.random.set_state(torch.load(path)["numpy"])

class Kept:
    def __enter__(self):
        self.state = np.random.get_state()
    def __exit__(self, *raised):
        np.random.set_state(self.state)

def noise():
    return MADE

USE
"""
OF_TORCH, OF_NUMPY = "torch.Generator().seed()", "np.random.default_rng().normal()"


@pytest.mark.parametrize(
    ("made", "use", "refused"),
    [
        (OF_NUMPY, "for step in range(9):\n    with kept():\n        noise()", "set_state at"),
        (OF_NUMPY, "kept = Kept()\nfor step in range(9):\n    with kept:\n        noise()", "set_state at"),
        (OF_NUMPY, "for step in range(9):\n    with isolate_rng():\n        noise()", "isolate_rng at"),
        (
            OF_TORCH,
            "for step in range(9):\n    with torch.random.fork_rng():\n        noise()",
            "fork_rng at",
        ),
        (OF_NUMPY, "for step in range(9):\n    with fork_rng():\n        noise()", ""),
        (OF_NUMPY, "for step in range(9):\n    noise()", ""),
    ],
)
def test_what_is_drawn_before_a_generator_is_put_back_is_not_drawn_from_it(
    tmp_path: Path, made: str, use: str, refused: str
) -> None:
    """Noise that was new in each step was one for all of them."""
    once = "" if "kept()" in use else "kept()\nresume('last.pt')\n"
    program = Program(tmp_path, KEEPING.replace("MADE", made).replace("USE", once + use))
    source = "numpy-generator" if made == OF_NUMPY else "torch-cpu"
    row = equal("unseeded", source, program.at("return "))
    if refused:
        assert refused in program.refused(source, row, row)
    else:
        assert "randint" in program.mended(source, row, row)


LOADER = """
import random
import torch
from torch.utils.data import DataLoader

class Noisy(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return random.SystemRandom().random()

def loader(data):
    return DataLoader(data, num_workers=2, generator=GIVEN)

once = torch.Generator().manual_seed(0)
for epoch in range(2):
    for batch in loader(Noisy()):
        pass
"""


@pytest.mark.parametrize(("given", "refused"), [("torch.Generator().manual_seed(0)", True), ("once", False)])
def test_workers_do_not_draw_alike_in_each_pass_where_their_loader_seeds_them_so(
    tmp_path: Path, given: str, refused: bool
) -> None:
    """The order was to be the same in each epoch, and the augmentation was not."""
    program = Program(tmp_path, LOADER.replace("GIVEN", given))
    at = program.at("SystemRandom")
    row = equal("entropy", "os.urandom", at, process="rank0.worker0")
    if refused:
        assert "made anew for each pass" in program.refused("os-entropy", row, row, site=at)
    else:
        assert program.mended("os-entropy", row, row, site=at)


@pytest.mark.parametrize("lines", [("3", "3"), ("3", "4")])
def test_workers_do_not_draw_alike_where_the_script_seeds_torch_alike_for_each_pass(
    tmp_path: Path, lines: tuple[str, str]
) -> None:
    """Not so where a framework seeds once what the script has seeded."""
    program = Program(tmp_path, LOADER.replace("GIVEN", "once"))
    at = program.at("SystemRandom")
    row = equal("entropy", "os.urandom", at, process="rank0.worker0")
    seeds = [equal("seed", "torch.manual_seed", f"train.py:{line}", process="rank0") for line in lines]
    if lines[0] == lines[1]:
        assert "alike again and again" in program.refused("os-entropy", *seeds, row, site=at)
    else:
        assert program.mended("os-entropy", *seeds, row, site=at)


GLOBAL = """
    import numpy as np
    RNG = np.random.default_rng()
    def noise():
        return RNG.random()
"""
LOADS = """
    import torch
    import augment
    from torch.utils.data import DataLoader
    def main(data, context):
        torch.manual_seed(0)
        return DataLoader(data, num_workers=2, multiprocessing_context={context})
    if __name__ == "__main__":
        main([1], None)
"""


@pytest.mark.parametrize(
    "context, process, refused",
    [
        ("None", "rank0", False),
        ("None", "rank0.worker0", True),  # as where spawning is the system's way
        ("'spawn'", "rank0", True),  # this run had no worker that draws
        ("'fork'", "rank0", False),
    ],
)
def test_a_generator_that_each_spawned_process_makes_anew_gets_no_constant(
    tmp_path: Path, context: str, process: str, refused: bool
) -> None:
    program = Program(tmp_path, LOADS.format(context=context), {"augment.py": GLOBAL})
    at = program.at("default_rng()", "augment.py")
    row = replace(differing("unseeded", "numpy-generator", at)[0], process=process)
    if refused:
        assert "worker_init_fn=" in program.refused("numpy-generator", row)
    else:
        made = program.patch("numpy-generator", row)
        assert "default_rng(0)" in made.files["augment.py"], made.cannot


NAMED_RUNS = """
    import sys, uuid
    import torch
    SHARED = uuid.uuid4().int % 2**31
    class Run:
        def __init__(self):
            self.id = uuid.uuid4().hex
            self.seed = int(self.id[:7], 16)
        def fit(self):
            torch.manual_seed({seed})
            return torch.rand(2)
    if __name__ == "__main__":
        print([Run().fit() for _ in range(int(sys.argv[1]))])
"""


@pytest.mark.parametrize("seed, draws", [("self.seed", True), ("SHARED", False)])
def test_a_seed_that_each_object_has_of_its_own_is_drawn(tmp_path: Path, seed: str, draws: bool) -> None:
    """It ran once here, for one object; what all of them share is one number for all."""
    program = Program(tmp_path, NAMED_RUNS.format(seed=seed))
    made = program.at("self.id = uuid" if draws else "SHARED =")
    at = program.at("torch.manual_seed")
    rows = [differing("entropy", "uuid.uuid4", made), differing("seed", "torch.manual_seed", at)]
    text = program.patch("os-entropy", *rows, site=at).files["train.py"]
    assert (f"torch.manual_seed({DRAW})" in text) is draws


TABLE = """
    import random, sys
    import numpy as np
    import torch
    SEEDERS = [random.seed, np.random.seed, torch.manual_seed]
    def reset(seed):
        for function in SEEDERS:
            function(seed)
    def fit(number):
        reset({seed})
        rng = np.random.default_rng()
        return rng.random()
    if __name__ == "__main__":
        print({members})
"""


@pytest.mark.parametrize(
    "seed, members, refused",
    [
        ("42", "[fit(number) for number in range(int(sys.argv[1]))]", True),
        ("number", "[fit(number) for number in range(int(sys.argv[1]))]", False),  # each has its own
        ("42", "fit(0)", False),
    ],
)
def test_what_may_be_seeded_alike_again_gives_no_draws(
    tmp_path: Path, seed: str, members: str, refused: bool
) -> None:
    """One member was trained here; of several, all would draw what the first one does."""
    program = Program(tmp_path, TABLE.format(seed=seed, members=members))
    made = program.at("default_rng")
    at = program.at("function(seed)")
    rows = [equal("seed", name, at) for name in ("random.seed", "np.random.seed", "torch.manual_seed")]
    rows.append(equal("unseeded", "numpy-generator", made))
    if refused:
        assert "alike again and again" in program.refused("numpy-generator", *rows)
    else:
        assert program.patch("numpy-generator", *rows).files


CLIENTS = """
    import uuid, zlib
    import torch
    class Client:
        def __init__(self):
            self.tag = f"client-{uuid.uuid4()}"
            self.rng = torch.Generator().manual_seed(zlib.crc32(self.tag.encode()))
    torch.manual_seed(0)
    clients = [Client() for _ in range(1)]
"""


def test_clients_that_are_seeded_by_names_of_their_own_draw_their_seeds(tmp_path: Path) -> None:
    program = Program(tmp_path, CLIENTS)
    at = program.at("zlib.crc32")
    rows = [
        differing("entropy", "uuid.uuid4", program.at("self.tag =")),
        differing("seed", "torch.Generator.manual_seed", at),
        equal("seed", "torch.manual_seed", program.at("torch.manual_seed(0)")),
    ]
    text = program.patch("os-entropy", *rows, site=at).files["train.py"]
    assert "manual_seed(0)\n    clients" in text or "manual_seed(0)\nclients" in text
    assert f"manual_seed({DRAW})" in text
