"""The edits that seed: which line they change, in scripts of many styles.

Covers `edits/dataloader_workers.py`, `edits/entropy.py`, `edits/global_rngs.py`,
`edits/numpy_generators.py`, `edits/run_dependent_calls.py` and `edits/seeds.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .mending import Program, differing, equal

# name: (source, script, the change)
AFTER_THE_IMPORTS = {
    "plain": (
        "torch-cpu",
        """
        import torch
        from torch import nn

        model = nn.Linear(4, 1)
        """,
        "+torch.manual_seed(0)",
    ),
    "its own alias": (
        "numpy-global",
        """
        import numpy as onp

        x = onp.random.rand(3)
        """,
        "+onp.random.seed(0)",
    ),
    "the submodule's alias": (
        "numpy-global",
        """
        import torch
        from numpy import random as npr

        x = npr.rand(3)
        """,
        "+npr.seed(0)",
    ),
    "another thing of that name": (
        "python-random",
        """
        from random import random, shuffle

        x = [random() for _ in range(3)]
        """,
        "+import random as random_\n+random_.seed(0)",
    ),
    "numpy's random is not python's": (
        "python-random",
        """
        from numpy import random
        import random as r

        x = r.random() + random.rand()
        """,
        "+r.seed(0)",
    ),
    "only a submodule is bound": (
        "torch-cpu",
        """
        import torch.nn as nn
        from torch.utils.data import DataLoader

        net = nn.Linear(2, 2)
        """,
        "+import torch\n+torch.manual_seed(0)",
    ),
    "the function itself is bound": (
        "torch-cpu",
        """
        from torch import manual_seed, nn

        net = nn.Linear(2, 2)
        """,
        "+manual_seed(0)",
    ),
    "docstring, future and comments": (
        "torch-cpu",
        '''
        #!/usr/bin/env python3
        # Copyright
        """Trains."""
        from __future__ import annotations

        import os
        import sys

        sys.path.insert(0, os.path.dirname(__file__))
        import torch

        net = torch.nn.Linear(2, 2)
        ''',
        "+torch.manual_seed(0)",
    ),
    "imports in a function only": (
        "torch-cpu",
        '''
        """Trains."""

        def main():
            import torch
            torch.nn.Linear(2, 2)

        if __name__ == "__main__":
            main()
        ''',
        "+import torch\n+    torch.manual_seed(0)",
    ),
    "nothing but code": (
        "python-random",
        """
        print(__import__("random").random())
        """,
        "+import random\n+random.seed(0)",
    ),
    "try and else": (
        "numpy-global",
        """
        import torch
        try:
            import numpy as np
        except ImportError:
            np = None
        x = np.random.rand()
        """,
        "+np.random.seed(0)",
    ),
    "one line": (
        "python-random",
        "import random; x = random.random()\n",
        "-import random; x = random.random()\n+import random; random.seed(0); x = random.random()",
    ),
    "a decorated class follows": (
        "torch-cpu",
        """
        from dataclasses import dataclass
        import torch


        @dataclass
        class Config:
            lr: float = 0.1
        """,
        "+torch.manual_seed(0)",
    ),
    "every device": (
        "torch-cuda",
        """
        import torch

        x = torch.rand(3, device="cuda")
        """,
        "+torch.manual_seed(0)",
    ),
}


@pytest.mark.parametrize("name", AFTER_THE_IMPORTS)
def test_a_line_after_the_imports(tmp_path: Path, name: str) -> None:
    source, script, change = AFTER_THE_IMPORTS[name]
    assert Program(tmp_path, script).mended(source) == change


def test_the_line_stands_after_the_last_import_and_one_blank_line(tmp_path: Path) -> None:
    program = Program(tmp_path, "import random\nimport torch\n\n\nclass Net(torch.nn.Module):\n    pass\n")
    made = program.patch("torch-cpu")
    assert made.files["train.py"].startswith("import random\nimport torch\n\ntorch.manual_seed(0)\n\nclass")


def test_above_the_user_s_modules_when_one_of_them_draws_as_it_is_imported(tmp_path: Path) -> None:
    script = """
        import torch
        from model import net
        from torch import nn

        net(torch.zeros(2))
        """
    drawing = Program(tmp_path, script, {"model.py": "import torch\nnet = torch.nn.Linear(2, 2)\n"})
    assert drawing.patch("torch-cpu").files["train.py"].splitlines()[:3] == [
        "import torch",
        "torch.manual_seed(0)",
        "from model import net",
    ]


def test_below_them_when_they_only_define(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        "import torch\nfrom model import net\n\nnet()\n",
        {"model.py": "import torch\nSIZE = 3\ndef net():\n    return torch.nn.Linear(2, SIZE)\n"},
    )
    assert program.patch("torch-cpu").files["train.py"].splitlines()[3] == "torch.manual_seed(0)"


def test_above_them_with_an_import_of_its_own(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        "from pkg.data import rows\nimport torch\n\nprint(rows)\n",
        {"pkg/__init__.py": "", "pkg/data.py": "import torch\nrows = torch.rand(3)\n"},
    )
    assert program.mended("torch-cpu") == "+import torch\n+torch.manual_seed(0)"
    assert program.patch("torch-cpu").files["train.py"].startswith("import torch\ntorch.manual_seed(0)\nfrom")


def test_in_the_package_when_python_m_draws_in_it_first(tmp_path: Path) -> None:
    argv = ("python", "-u", "-m", "pkg.train")
    files = {
        "pkg/__init__.py": "",
        "pkg/train.py": "import torch\nx = torch.rand(2)\n",
        "pkg/nets.py": "import torch\nNET = torch.nn.Linear(2, 2)\n",
    }
    assert list(Program(tmp_path, files=files, argv=argv).patch("torch-cpu").files) == ["pkg/train.py"]
    files["pkg/__init__.py"] = "from . import nets\n"
    assert list(Program(tmp_path, files=files, argv=argv).patch("torch-cpu").files) == ["pkg/__init__.py"]


@pytest.mark.parametrize(
    "argv",
    [
        ("python", "train.py", "--lr", "0.1"),
        ("/usr/bin/python3.11", "-u", "-W", "ignore", "-X", "dev", "train.py"),
        ("python", "./train.py"),
        ("python", "-m", "train"),
        ("python", "-m", "torch.distributed.run", "--nproc_per_node=2", "train.py", "--x"),
        ("torchrun", "--nproc_per_node", "2", "train.py"),
        ("accelerate", "launch", "train.py"),
        ("bash", "run.sh", "train.py"),
        ("python", "-m", "cProfile", "-o", "profile", "train.py"),
        ("python", "/usr/bin/env", "train.py"),
    ],
)
def test_the_script_that_was_started(tmp_path: Path, argv: tuple[str, ...]) -> None:
    program = Program(tmp_path, "import torch\nimport net\n", {"net.py": "import torch\n"}, argv)
    assert list(program.patch("torch-cpu").files) == ["train.py"]


def test_an_installed_program_that_imports_the_user_s_own(tmp_path: Path) -> None:
    work, program = tmp_path / "work", tmp_path / "bin" / "train-it"
    program.parent.mkdir()
    program.write_text("import sys\nfrom tool.cli import main\nsys.exit(main())\n")
    files = {"src/tool/cli.py": "import torch\n", "src/tool/net.py": "import torch\n"}
    made = Program(work, "", files, ("python", str(program), "--lr", "1")).patch("torch-cpu")
    assert list(made.files) == ["src/tool/cli.py"]


def test_a_folder_is_started(tmp_path: Path) -> None:
    program = Program(tmp_path, "", {"tool/__main__.py": "import torch\ntorch.rand(2)\n"}, ("python", "tool"))
    assert list(program.patch("torch-cpu").files) == ["tool/__main__.py"]


# the script, the line of what is noted, the row's name, the change
OWN_CALLS = {
    "random.seed()": ("import random\nrandom.seed()\n", "random.seed", "python-random", "random.seed(0)"),
    "random.seed(None)": ("import random\nrandom.seed(None)\n", ".seed", "python-random", "random.seed(0)"),
    "np.random.seed()": (
        "import numpy as np\nnp.random.seed()\n",
        "seed",
        "numpy-global",
        "np.random.seed(0)",
    ),
    "torch.seed()": ("import torch\ntorch.seed()\n", ".seed", "torch-cpu", "torch.manual_seed(0)"),
    "s = torch.seed()": (
        "import torch\ns = torch.seed()\n",
        ".seed",
        "torch-cpu",
        "s = torch.manual_seed(0).initial_seed()",
    ),
    "from torch import seed": (
        "from torch import manual_seed, seed\nseed()\n",
        "seed()",
        "torch-cpu",
        "manual_seed(0)",
    ),
}


@pytest.mark.parametrize("name", OWN_CALLS)
def test_the_script_s_own_seeding_without_a_seed(tmp_path: Path, name: str) -> None:
    script, words, source, new = OWN_CALLS[name]
    program = Program(tmp_path, script)
    row = equal("unseeded", source, program.at(words))
    old = script.splitlines()[1]
    assert program.mended(source, row) == f"-{old}\n+{new}"


def test_a_seed_that_is_looked_at_before_there_is_one(tmp_path: Path) -> None:
    program = Program(tmp_path, "import random\nimport torch\nrandom.seed(torch.initial_seed())\n")
    row = equal("unseeded", "torch-cpu", program.at("initial_seed"), detail="looked at")
    assert program.mended("torch-cpu", row) == "+torch.manual_seed(0)"


def test_an_option_without_a_default_gets_one(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import argparse, random
        parser = argparse.ArgumentParser()
        parser.add_argument("--seed", type=int, default=None)
        args = parser.parse_args()
        random.seed(args.seed)
        """,
    )
    row = equal("unseeded", "python-random", program.at("random.seed"))
    assert program.mended("python-random", row).splitlines()[1] == (
        '+parser.add_argument("--seed", type=int, default=0)'
    )


def test_a_seed_that_may_be_none_is_replaced_where_it_is(tmp_path: Path) -> None:
    program = Program(tmp_path, "import random\nimport config\nrandom.seed(config.load().seed)\n")
    row = equal("unseeded", "python-random", program.at("random.seed"))
    new = "+random.seed(0 if config.load().seed is None else config.load().seed)"
    assert program.mended("python-random", row).splitlines()[1] == new


def test_drawn_from_before_its_own_seeding_both_are_needed(tmp_path: Path) -> None:
    program = Program(tmp_path, "import random\nx = random.random()\nrandom.seed()\n")
    rows = [
        differing("draw", "python-random", program.at("random.random")),
        equal("unseeded", "python-random", program.at("random.seed")),
    ]
    assert program.mended("python-random", *rows) == "+random.seed(0)\n-random.seed()\n+random.seed(1)"


def test_a_generator_of_its_own_seeded_anew(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import torch

        torch.manual_seed(0)
        g = torch.Generator()
        g.seed()
        order = torch.randperm(8, generator=g)
        """,
    )
    seeded = equal("seed", "torch.manual_seed", program.at("manual_seed"))
    assert program.mended("torch-cpu", seeded) == "-g.seed()\n+g.manual_seed(1)"
    assert program.mended("torch-cpu") == "+torch.manual_seed(0)\n-g.seed()\n+g.manual_seed(1)"


# source, script, words of the seeding line, name of the function in the trace, the change
FED = {
    "clock in the call": (
        "clock",
        "import time, random\nrandom.seed(time.time())\n",
        "random.seed",
        "-random.seed(time.time())\n+random.seed(0)",
    ),
    "clock and rank": (
        "clock",
        "import time, torch\nrank = 0\ntorch.manual_seed(int(time.time() * 1000) % 2**31 + rank)\n",
        "torch.manual_seed",
        "-torch.manual_seed(int(time.time() * 1000) % 2**31 + rank)\n+torch.manual_seed(rank)",
    ),
    "clock in a name": (
        "clock",
        """
        import random
        from time import time_ns
        import numpy as np
        seed = time_ns() % (1 << 32)
        random.seed(seed)
        np.random.seed(seed)
        """,
        "np.random.seed",
        "-seed = time_ns() % (1 << 32)\n+seed = 0",
    ),
    "clock that is used for more": (
        "clock",
        """
        import time, torch
        start = time.time()
        torch.manual_seed(int(start))
        print(time.time() - start)
        """,
        "torch.manual_seed",
        "-torch.manual_seed(int(start))\n+torch.manual_seed(0)",
    ),
    "an option's default": (
        "clock",
        """
        import argparse, torch
        from datetime import datetime
        p = argparse.ArgumentParser()
        p.add_argument("--seed", default=int(datetime.now().timestamp()), type=int)
        a = p.parse_args()
        torch.manual_seed(a.seed)
        """,
        "torch.manual_seed",
        '-p.add_argument("--seed", default=int(datetime.now().timestamp()), type=int)\n'
        '+p.add_argument("--seed", default=0, type=int)',
    ),
    "or": (
        "clock",
        "import time, torch, sys\nchosen = int(sys.argv[1:][0]) if sys.argv[1:] else 0\n"
        "torch.manual_seed(chosen or int(time.time()))\n",
        "torch.manual_seed",
        "-torch.manual_seed(chosen or int(time.time()))\n+torch.manual_seed(chosen or 0)",
    ),
    "a helper's parameter": (
        "process-id",
        """
        import os, torch

        def set_seed(value):
            torch.manual_seed(value)

        set_seed(os.getpid())
        """,
        "torch.manual_seed",
        "-set_seed(os.getpid())\n+set_seed(0)",
    ),
    "a name that a helper is given": (
        "clock",
        """
        import sys, time, torch

        def seed_everything(seed, rank=0):
            print(f"seed {seed}")
            torch.manual_seed(seed + rank)

        def start(number):
            seed_everything(number, rank=1)

        run_id = int(time.time())
        print("runs/" + str(run_id))
        start(run_id)
        for fold in range(2):
            seed_everything(fold)
        """,
        "torch.manual_seed",
        "-start(run_id)\n+start(0)",
    ),
    "a dataclass's field": (
        "clock",
        """
        import time
        from dataclasses import dataclass
        import torch

        @dataclass
        class Config:
            lr: float = 0.1
            seed: int = int(time.time())

        config = Config()
        torch.manual_seed(config.seed)
        """,
        "torch.manual_seed",
        "-    seed: int = int(time.time())\n+    seed: int = 0",
    ),
    "a dict": (
        "clock",
        """
        import time, torch
        config = {"lr": 0.1, "seed": time.time_ns()}
        torch.manual_seed(config["seed"])
        """,
        "torch.manual_seed",
        '-config = {"lr": 0.1, "seed": time.time_ns()}\n+config = {"lr": 0.1, "seed": 0}',
    ),
    "a function that makes it": (
        "os-entropy",
        """
        import os, torch

        def fresh_seed():
            return int.from_bytes(os.urandom(4), "little")

        torch.manual_seed(fresh_seed())
        """,
        "torch.manual_seed",
        '-    return int.from_bytes(os.urandom(4), "little")\n+    return 0',
    ),
    "uuid": (
        "os-entropy",
        "import uuid, random\nrandom.seed(uuid.uuid4().hex)\n",
        "random.seed",
        "-random.seed(uuid.uuid4().hex)\n+random.seed(0)",
    ),
    "several lines": (
        "clock",
        "import time\nimport numpy as np\nnp.random.seed(\n    int(\n        time.time()\n    ),\n)\n",
        "np.random.seed",
        "-    int(\n-        time.time()\n-    ),\n+    0,",
    ),
    "an f-string": (
        "clock",
        'import time, random\nrandom.seed(f"run-{time.time()}")\n',
        "random.seed",
        '-random.seed(f"run-{time.time()}")\n+random.seed(0)',
    ),
    "an address": (
        "memory-address",
        "import torch\nnet = torch.nn.Linear(2, 2)\ntorch.manual_seed(id(net) % 1000)\n",
        "torch.manual_seed",
        "-torch.manual_seed(id(net) % 1000)\n+torch.manual_seed(0)",
    ),
    "a constant's hash": (
        "hash-seed",
        'import torch\ntorch.manual_seed(hash("run-a") % 2**32)\n',
        "torch.manual_seed",
        '-torch.manual_seed(hash("run-a") % 2**32)\n+torch.manual_seed(0)',
    ),
    "a hash": (
        "hash-seed",
        """
        import torch, sys

        name: str = sys.argv[0]
        torch.manual_seed(hash(name) % 2**32)
        """,
        "torch.manual_seed",
        "+import zlib\n-torch.manual_seed(hash(name) % 2**32)\n"
        "+torch.manual_seed(zlib.crc32(str(name).encode()) % 2**32)",
    ),
}
NOTED = {
    "random.seed": "random.seed",
    "np.random.seed": "np.random.seed",
    "torch.manual_seed": "torch.manual_seed",
}


@pytest.mark.parametrize("name", FED)
def test_what_feeds_a_seed(tmp_path: Path, name: str) -> None:
    source, script, words, change = FED[name]
    program = Program(tmp_path, script)
    assert program.mended(source, differing("seed", NOTED[words], program.at(words))) == change


def test_a_seed_that_is_drawn_where_none_was_given(tmp_path: Path) -> None:
    """The commonest way of all; with a constant there, `--seed` would do nothing any more."""
    program = Program(
        tmp_path,
        """
        import argparse, random
        import torch

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("--seed", type=int, default=None)
            args = parser.parse_args()
            if args.seed is None:
                args.seed = random.randint(0, 2**31 - 1)
            random.seed(args.seed)
            torch.manual_seed(args.seed)

        main()
        """,
    )
    rows = [
        differing("seed", "random.seed", program.at("random.seed")),
        differing("seed", "torch.manual_seed", program.at("torch.manual_seed")),
        differing("draw", "python-random", program.at("randint")),
    ]
    assert program.mended("python-random", *rows) == "+random.seed(0)"
    assert "drawn at train.py:9: seed python-random" in program.refused("torch-cpu", *rows)


OF_CONFIG = """
import random
import torch

def main(cfg):
    torch.manual_seed(cfg.seed)
    order = list(range(9))
    random.shuffle(order)

main(load())
"""


@pytest.mark.parametrize(
    ("order", "change"),
    [
        ("seed draw", "+    random.seed(cfg.seed)"),
        ("draw seed", "+random.seed(0)"),  # it is drawn from before
        ("seed draw seed", "+random.seed(0)"),  # each time, that would give the same numbers again
    ],
)
def test_a_generator_is_seeded_beside_torch_with_the_seed_that_this_is_given(
    tmp_path: Path, order: str, change: str
) -> None:
    program = Program(tmp_path, OF_CONFIG)
    rows = {
        "seed": equal("seed", "torch.manual_seed", program.at("torch.manual_seed")),
        "draw": differing("draw", "python-random", program.at("random.shuffle")),
    }
    assert program.mended("python-random", *(rows[name] for name in order.split())) == change


OF_OPTION = """
import random
import sys
import torch

seed = int(sys.argv[1])
if seed:
    torch.manual_seed(seed)
random.shuffle(list(range(9)))
"""


@pytest.mark.parametrize(
    ("script", "change"),
    [
        (OF_OPTION, "+random.seed(0)\n+    random.seed(seed)"),
        (OF_OPTION.replace("(seed)\n", "(7)\n"), "+random.seed(0)"),  # it is a constant
        (
            OF_OPTION.replace("    torch", "    order = 1\n    torch.manual_seed(3)\n    torch"),
            "+random.seed(0)",
        ),
    ],
)
def test_where_an_option_seeds_torch_it_seeds_the_generator_as_well(
    tmp_path: Path, script: str, change: str
) -> None:
    program = Program(tmp_path, script)
    draw = differing("draw", "python-random", program.at("random.shuffle"))
    assert program.mended("python-random", draw) == change
    ran = equal("seed", "torch.manual_seed", program.at("torch.manual_seed"))
    assert "(0)" in program.mended("python-random", draw, ran)  # a line that ran late seeds no more


def test_a_setting_of_a_module_that_the_command_line_gives_stays_in_force(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import argparse
        import config
        import torch

        parser = argparse.ArgumentParser()
        parser.add_argument("--seed", type=int)
        config.seed = parser.parse_args().seed
        torch.manual_seed(config.seed)
        """,
        {"config.py": "seed = 0\n"},
    )
    given = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    assert "command line" in program.refused("torch-cpu", given)


REFUSED_PARAMETERS = {
    "that is used for more": """
        import time, torch

        def train(start):
            torch.manual_seed(int(start))
            print(time.time() - start)

        train(time.time())
        train(7.0)
        """,
    "that nobody in sight gives": """
        import torch

        def train(start):
            torch.manual_seed(int(start))

        class Job:
            run = train
        """,
}


@pytest.mark.parametrize("name", REFUSED_PARAMETERS)
def test_no_constant_in_the_place_of_a_parameter(tmp_path: Path, name: str) -> None:
    program = Program(tmp_path, REFUSED_PARAMETERS[name])
    reason = program.refused("clock", differing("seed", "torch.manual_seed", program.at("torch.manual_seed")))
    assert "is made of `start`, which callers give" in reason


def test_a_draw_before_the_seeding_that_it_gives_the_seed_for(tmp_path: Path) -> None:
    """The seed in a file of settings may be null: the draw is what differs, and not that file."""
    program = Program(
        tmp_path,
        """
        import sys
        import numpy as np
        import torch

        def load():
            config = {"seed": sys.argv[1] if sys.argv[1:] else None}
            if config["seed"] is None:
                config["seed"] = int(np.random.randint(2**31))
            return config

        config = load()
        np.random.seed(config["seed"])
        """,
    )
    rows = [  # draws are written as a step begins, after the seeds
        differing("seed", "np.random.seed", program.at("np.random.seed")),
        differing("draw", "numpy-global", program.at("randint")),
    ]
    assert program.mended("numpy-global", *rows) == "+np.random.seed(0)"


def test_what_seeds_inside_of_a_call_is_not_the_function_that_gives_the_seed(tmp_path: Path) -> None:
    """torch.manual_seed seeds CUDA, too: its own row, in the same line, in which nobody calls it."""
    program = Program(
        tmp_path,
        """
        import os, torch

        def get_seed():
            return os.getpid()

        torch.manual_seed(get_seed())
        """,
    )
    row = differing("seed", "torch.cuda.manual_seed_all", program.at("torch.manual_seed"))
    assert program.mended("process-id", row) == "-    return os.getpid()\n+    return 0"


# what is read, where nothing was noted as seeding: the objects that take a seed as they are made
READ = {
    "default_rng": (
        "clock",
        "clock",
        "rng = np.random.default_rng(int(time.time()))",
        "rng = np.random.default_rng(0)",
    ),
    "RandomState": (
        "process-id",
        "identity",
        "rng = np.random.RandomState(seed=os.getpid())",
        "rng = np.random.RandomState(seed=0)",
    ),
    "generator": (
        "clock",
        "clock",
        "g = torch.Generator().manual_seed(time.time_ns())",
        "g = torch.Generator().manual_seed(0)",
    ),
    "random_state=": (
        "clock",
        "clock",
        "fit(data, random_state=int(time.time()))",
        "fit(data, random_state=0)",
    ),
    "Random": ("os-entropy", "entropy", "r = random.Random(os.urandom(8))", "r = random.Random(0)"),
    "a name": ("clock", "clock", "SEED = int(time.time())", "SEED = 0"),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_for_a_seed(tmp_path: Path, name: str) -> None:
    source, word, old, new = READ[name]
    program = Program(tmp_path, f"import os, random, time, torch\nimport numpy as np\n{old}\n")
    assert program.mended(source, equal(word, "read", "train.py:3")) == f"-{old}\n+{new}"


# made without a seed: the line, its new form
MADE = {
    "rng = np.random.default_rng()": "rng = np.random.default_rng(0)",
    "rng = np.random.default_rng(None)": "rng = np.random.default_rng(0)",
    "rng = np.random.default_rng(seed=None)": "rng = np.random.default_rng(seed=0)",
    "rng = np.random.RandomState()": "rng = np.random.RandomState(0)",
    "rng = np.random.Generator(np.random.PCG64())": "rng = np.random.Generator(np.random.PCG64(0))",
    "a, b = map(np.random.default_rng, np.random.SeedSequence().spawn(2))": (
        "a, b = map(np.random.default_rng, np.random.SeedSequence(0).spawn(2))"
    ),
    "rng = default_rng()": "rng = default_rng(0)",
    "rng = make(np.random.default_rng(), 3)": "rng = make(np.random.default_rng(0), 3)",
}


@pytest.mark.parametrize("old", MADE)
def test_numpy_generators_made_without_a_seed(tmp_path: Path, old: str) -> None:
    program = Program(tmp_path, f"import numpy as np\nfrom numpy.random import default_rng\n{old}\n")
    row = equal("unseeded", "numpy-generator", "train.py:3")
    assert program.mended("numpy-generator", row) == f"-{old}\n+{MADE[old]}"


def test_a_generator_that_a_dataclass_makes(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        from dataclasses import dataclass, field
        import numpy as np

        @dataclass
        class Buffer:
            rng: np.random.Generator = field(default_factory=np.random.default_rng)

        buffer = Buffer()
        """,
    )
    row = equal("unseeded", "numpy-generator", program.at("buffer = "))
    lines = program.mended("numpy-generator", row).splitlines()
    made = "lambda: np.random.default_rng(np.random.randint(2**31))"  # each instance its own
    assert f"+    rng: np.random.Generator = field(default_factory={made})" in lines
    assert "+np.random.seed(0)" in lines


def test_so_does_a_default_dict(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        from collections import defaultdict
        import numpy as np
        streams = defaultdict(np.random.default_rng)
        noise = streams["blur"].normal()
        """,
    )
    row = equal("unseeded", "numpy-generator", program.at("noise = "))
    lines = program.mended("numpy-generator", row).splitlines()
    assert "+streams = defaultdict(lambda: np.random.default_rng(np.random.randint(2**31)))" in lines
    assert "+np.random.seed(0)" in lines


def test_so_is_one_of_pythons(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import random
        from dataclasses import dataclass, field

        @dataclass
        class Jitter:
            rng: random.Random = field(default_factory=random.Random)

        both = Jitter(), Jitter()
        """,
    )
    row = equal("unseeded", "os-entropy", program.at("both = "))
    lines = program.mended("os-entropy", row, row, site=program.at("rng: ")).splitlines()
    made = "lambda: random.Random(random.getrandbits(64))"
    assert f"+    rng: random.Random = field(default_factory={made})" in lines
    assert "+random.seed(0)" in lines


HELD = """
import random
import torch

dice = random.SystemRandom()

class Images(torch.utils.data.Dataset):
    def __init__(self):
        self.rng = random.SystemRandom()

    def __getitem__(self, index):
        return DRAW
"""


@pytest.mark.parametrize("held", ["dice", "self.rng"])
def test_workers_do_not_get_copies_of_one_generator_where_each_drew_its_own(
    tmp_path: Path, held: str
) -> None:
    """The patch gave all workers the same augmentation, and each epoch that of the one before."""
    program = Program(tmp_path, HELD.replace("DRAW", f"{held}.randrange(3)"))
    at = program.at("randrange")
    row = equal("entropy", "os.urandom", at, process="rank0.worker0")
    assert program.mended("os-entropy", row, row, site=at) == (
        f"+torch.manual_seed(0)\n-        return {held}.randrange(3)\n+        return random.randrange(3)"
    )
    seeded = equal("seed", "torch.manual_seed", "train.py:1")
    assert program.mended("os-entropy", seeded, row, site=at).count("\n") == 1
    row = equal("entropy", "os.urandom", at)
    assert "random.Random(0)" in program.mended("os-entropy", row, row, site=at)


def test_a_generator_that_draws_as_the_module_cannot_is_left_to_the_user(tmp_path: Path) -> None:
    program = Program(tmp_path, HELD.replace("DRAW", "self.rng.draw()"))
    at = program.at("draw()")
    row = equal("entropy", "os.urandom", at, process="rank0.worker0")
    assert "draw from the `random` module" in program.refused("os-entropy", row, site=at)


def test_several_processes_do_not_get_copies_of_one_generator(tmp_path: Path) -> None:
    """Those of a pool: by fork each has a copy of the generator, and of what seeds it."""
    program = Program(tmp_path, "import os\n\n\ndef draw(n):\n    return os.urandom(n)\n")
    at = program.at("os.urandom")
    rows = [equal("entropy", "os.urandom", at, process=f"rank0.helper-{n}") for n in range(2)]
    assert "several processes" in program.refused("os-entropy", *rows, site=at)
    assert "random.randbytes" in program.mended("os-entropy", rows[0], site=at)


def test_generators_made_again_and_again_are_not_all_made_alike(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import numpy as np

        def noise(n):
            rng = np.random.default_rng()
            return rng.normal(size=n)
        """,
    )
    row = equal("unseeded", "numpy-generator", program.at("default_rng"))
    assert program.mended("numpy-generator", row, row) == (
        "+np.random.seed(0)\n"
        "-    rng = np.random.default_rng()\n"
        "+    rng = np.random.default_rng(np.random.randint(2**31))"
    )
    seeded = equal("seed", "np.random.seed", "train.py:1")
    assert program.mended("numpy-generator", seeded, row, row).count("\n") == 1
    late = program.mended("numpy-generator", row, seeded, row)  # the first was made before
    assert late.startswith("+np.random.seed(0)\n")


def test_a_generator_of_each_worker_takes_the_worker_s_seed(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import numpy as np
        import torch

        torch.manual_seed(1)

        def init(worker_id):
            torch.utils.data.get_worker_info().dataset.rng = np.random.default_rng()
        """,
    )
    row = equal("unseeded", "numpy-generator", program.at("default_rng"), process="rank0.worker0")
    seeded = equal("seed", "torch.manual_seed", program.at("manual_seed"))
    assert (
        "+    torch.utils.data.get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())"
        in (program.mended("numpy-generator", row, seeded))
    )


ENTROPY = {
    "r = random.Random()": "r = random.Random(0)",
    "r = random.SystemRandom()": "r = random.Random(0)",
    "r = secrets.SystemRandom()": "r = random.Random(0)",
    "n = secrets.randbelow(10)": "+random.seed(0)\nn = random.randrange(10)",
    "c = secrets.choice([1, 2])": "+random.seed(0)\nc = random.choice([1, 2])",
    "b = os.urandom(16)": "+random.seed(0)\nb = random.randbytes(16)",
    "xs = sorted(xs, key=lambda x: uuid.uuid4())": (
        "+random.seed(0)\nxs = sorted(xs, key=lambda x: uuid.UUID(int=random.getrandbits(128)))"
    ),
}


@pytest.mark.parametrize("old", ENTROPY)
def test_entropy_that_is_no_seed(tmp_path: Path, old: str) -> None:
    program = Program(tmp_path, f"import os, random, secrets, uuid\nxs = [1, 2]\n{old}\n")
    what = "unseeded" if "random.Random" in old else "entropy"
    *opening, new = ENTROPY[old].split("\n")
    change = "\n".join([*opening, f"-{old}", f"+{new}"])
    row = equal(what, "os-entropy", "train.py:3")
    assert program.mended("os-entropy", row, site="train.py:3") == change


@pytest.mark.parametrize("early", [True, False])
def test_a_seed_that_the_script_gives_later_is_none_for_what_is_drawn_before(
    tmp_path: Path, early: bool
) -> None:
    program = Program(tmp_path, "import random, uuid\nname = uuid.uuid4().hex\nrandom.seed(5)\n")
    drawn = equal("entropy", "uuid.uuid4", "train.py:2")
    seeded = equal("seed", "random.seed", program.at("random.seed"))
    rows = (seeded, drawn) if early else (drawn, seeded)
    changed = program.mended("os-entropy", *rows, site="train.py:2")
    assert ("+random.seed(0)\n" in changed) is not early


def test_what_else_is_in_a_seed_stays(tmp_path: Path) -> None:
    line = 'rng = random.Random(f"{rank}-{random.SystemRandom().getrandbits(16)}")'
    program = Program(tmp_path, f"import random\nrank = 1\n{line}\n")
    row = equal("entropy", "os.urandom", "train.py:3")
    assert program.mended("os-entropy", row, site="train.py:3") == (
        f"-{line}\n" + '+rng = random.Random(f"{rank}-{0}")'
    )


def test_a_generator_that_each_worker_makes_has_a_seed_of_its_own(tmp_path: Path) -> None:
    """A constant would be that of each worker, and of each epoch."""
    program = Program(
        tmp_path,
        """
        import random
        import torch

        class Shard(torch.utils.data.IterableDataset):
            def __iter__(self):
                rng = random.Random()
                yield rng.random()
        """,
    )
    at = program.at("random.Random()")
    made = [equal("unseeded", "os-entropy", at, process=f"rank0.worker{worker}") for worker in range(2)]
    assert program.mended("os-entropy", *made, site=at) == (
        "+torch.manual_seed(0)\n-        rng = random.Random()\n"
        "+        rng = random.Random(torch.randint(2**31, ()).item())"
    )


def test_a_system_generator_made_elsewhere(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        from random import SystemRandom

        class Buffer:
            def __init__(self):
                self.rng = SystemRandom()

            def sample(self):
                return self.rng.randrange(10)
        """,
    )
    row = equal("entropy", "os.urandom", program.at("randrange"))
    assert program.mended("os-entropy", row, row, site=program.at("randrange")) == (
        "+import random\n-        self.rng = SystemRandom()\n+        self.rng = random.Random(0)"
    )


WORKERS = {
    "    random.seed()": "    random.seed(torch.initial_seed())",
    "    np.random.seed()": "    np.random.seed(torch.initial_seed() % 2**32)",
    "    np.random.seed(int(time.time()) + worker_id)": "    np.random.seed(torch.initial_seed() % 2**32)",
    "    random.seed(os.getpid())": "    random.seed(torch.initial_seed())",
    "    torch.seed()": "    torch.manual_seed(torch.initial_seed())",
}


@pytest.mark.parametrize("old", WORKERS)
def test_workers_that_seed_themselves(tmp_path: Path, old: str) -> None:
    program = Program(
        tmp_path,
        f"import os, random, time\nimport numpy as np\nimport torch\n\ndef init(worker_id):\n{old}\n",
    )
    name = {"random": "random.seed", "np": "np.random.seed"}.get(
        old.split(".")[0].strip(), "torch.manual_seed"
    )
    ids = {"random.seed": "python-random", "np.random.seed": "numpy-global", "torch.manual_seed": "torch-cpu"}
    worker = dict(process="rank0.worker1")
    if "()" in old[-3:] and "getpid" not in old:
        row = equal("unseeded", ids[name], program.at(old.strip()), **worker)
    else:
        row = differing("seed", name, program.at(old.strip()), **worker)
    seeded = equal("seed", "torch.manual_seed", "train.py:1")
    assert program.mended("worker-seeds", row, seeded) == f"-{old}\n+{WORKERS[old]}"


def test_workers_seeded_from_a_main_generator_without_a_seed(tmp_path: Path) -> None:
    program = Program(tmp_path, "import torch\n\nloader = torch.utils.data.DataLoader([1], num_workers=2)\n")
    assert program.mended("worker-seeds") == "+torch.manual_seed(0)"


def test_a_helping_program_is_seeded_in_its_own_file(tmp_path):
    prepare = """
        import sys
        import numpy as np

        np.save(sys.argv[1], np.random.rand(4))
        """
    program = Program(tmp_path, "import os\nos.system('python prepare.py')", files={"prepare.py": prepare})
    site = program.at("np.random.rand", "prepare.py")
    drew = differing("draw", "numpy-global", site, process="rank0.helper-12345678")
    assert program.mended("numpy-global", drew, path="prepare.py") == "+np.random.seed(0)"


GIVEN = """
import argparse, time
import numpy as np
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
torch.manual_seed(args.seed)
np.random.seed(int(time.time()))
rng = np.random.default_rng()

def more():
    np.random.seed(int(time.time()))

more()
"""


def test_the_seed_that_the_program_is_given_stands_where_it_is_at_hand(tmp_path: Path) -> None:
    """Runs with other seeds are to differ in all that is drawn."""
    program = Program(tmp_path, GIVEN)
    rows = [differing("seed", "np.random.seed", program.at("np.random.seed"))]
    assert "+np.random.seed(args.seed)" in program.mended("clock", *rows)
    made = equal("unseeded", "numpy-generator", program.at("default_rng"))
    assert "+rng = np.random.default_rng(args.seed)" in program.mended("numpy-generator", made)


@pytest.mark.parametrize("seed", ["args.seed", "SEED"])
def test_what_is_not_seeded_gets_the_seed_that_torch_is_given(tmp_path: Path, seed: str) -> None:
    """An option has a default, and a constant a name: runs with other seeds are to differ in all of it."""
    text = (
        GIVEN.partition("np.random")[0]
        .replace("args.seed)", f"{seed})")
        .replace("parser =", "SEED = 7\nparser =")
    )
    program = Program(tmp_path, f"import random\n{text}print(random.random())\n")
    seeded = equal("seed", "torch.manual_seed", program.at("torch.manual_seed"))
    drawn = differing("draw", "python-random", program.at("random.random"))
    assert program.mended("python-random", seeded, drawn) == f"+random.seed({seed})"


def test_so_does_one_that_a_function_is_given(tmp_path: Path) -> None:
    body = "".join(
        f"    {line}\n" for line in GIVEN.partition("args = parser.parse_args()\n")[2].splitlines()[:3]
    )
    program = Program(
        tmp_path,
        "import argparse, time\nimport numpy as np\nimport torch\n\n"
        f"def main(args):\n{body}\n\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--seed", type=int)\nmain(parser.parse_args())\n',
    )
    made = equal("unseeded", "numpy-generator", program.at("default_rng"))
    assert "+    rng = np.random.default_rng(args.seed)" in program.mended("numpy-generator", made)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.manual_seed(args.seed)", "torch.manual_seed(7)"),  # nobody gives it
        ("torch.manual_seed(args.seed)", "if args.seed:\n    torch.manual_seed(args.seed)"),  # not always
        (
            "args = parser.parse_args()\n",
            "args = parser.parse_args()\nargs = other(args)\n",
        ),  # another by then
    ],
)
def test_a_seed_that_may_not_be_there_is_a_constant(tmp_path: Path, old: str, new: str) -> None:
    program = Program(tmp_path, GIVEN.replace(old, new))
    made = equal("unseeded", "numpy-generator", program.at("default_rng"))
    assert "+rng = np.random.default_rng(0)" in program.mended("numpy-generator", made)
