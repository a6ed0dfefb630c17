"""Where a line stands that must run before anything is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.editing.edit import Opening
from samerun.editing.insertion_point import find_beginning, find_spot

from .program import edited, file, program

GUARDED = 'import torch\n\n\ndef f():\n    pass\n\n\nif __name__ == "__main__":\n    import sys\n    f()\n'
TORCH_SEED = Opening("torch.manual_seed", "(0)")


def test_a_seed_stands_inside_of_the_main_guard(tmp_path: Path) -> None:
    """Who imports the script, and each child that is spawned, has generators of its own."""
    assert edited(tmp_path, GUARDED, TORCH_SEED) == GUARDED.replace(
        "    import sys", "    torch.manual_seed(0)\n    import sys"
    )


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (
            'import torch\n\nif __name__ == "__main__": f()\n',
            'import torch\n\nif __name__ == "__main__": torch.manual_seed(0); f()\n',
        ),
        (
            'if __name__ == "__main__":\n\timport torch\n\tf()\n',
            'import torch\nif __name__ == "__main__":\n\ttorch.manual_seed(0)\n\timport torch\n\tf()\n',
        ),
        (
            'import torch\n\nnet = torch.nn.Linear(2, 2)\nif __name__ == "__main__":\n    f()\n',
            "import torch\n\ntorch.manual_seed(0)\nnet = torch.nn.Linear(2, 2)\n"
            'if __name__ == "__main__":\n    f()\n',
        ),
    ],
    ids=["one line", "a tab, and an import", "drawn from before"],
)
def test_main_guards(tmp_path: Path, text: str, changed: str) -> None:
    assert edited(tmp_path, text, TORCH_SEED) == changed


def test_a_setting_stands_above_the_main_guard_and_a_seed_inside(tmp_path: Path) -> None:
    """Children that are spawned need the setting too."""
    setting = Opening("torch.use_deterministic_algorithms", "(True)")
    assert edited(tmp_path, GUARDED, TORCH_SEED, setting) == GUARDED.replace(
        "import torch\n\n", "import torch\n\ntorch.use_deterministic_algorithms(True)\n"
    ).replace("    import sys", "    torch.manual_seed(0)\n    import sys")


SEED = Opening("random.seed", "(0)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "import random\nrandom.seed(0)\n"),
        (
            "#!/usr/bin/python\n# mine\nx = 1\n",
            "#!/usr/bin/python\n# mine\nimport random\nrandom.seed(0)\nx = 1\n",
        ),
        ('"""Trains."""\nx = 1\n', '"""Trains."""\nimport random\nrandom.seed(0)\nx = 1\n'),
        ("import random\n\nx = 1\n", "import random\n\nrandom.seed(0)\nx = 1\n"),
        ("import random; x = 1\n", "import random; random.seed(0); x = 1\n"),
        (
            "import random\nsys.path.append('a')\nimport b\nx = 1\n",
            "import random\nsys.path.append('a')\nimport b\nrandom.seed(0)\nx = 1\n",
        ),
        (
            "import random\nx = random.random()\nimport b\n",
            "import random\nrandom.seed(0)\nx = random.random()\nimport b\n",
        ),
        (
            "try:\n    import random\nexcept ImportError:\n    random = None\nx = 1\n",
            "try:\n    import random\nexcept ImportError:\n    random = None\nrandom.seed(0)\nx = 1\n",
        ),
    ],
)
def test_after_the_first_imports(tmp_path: Path, old: str, new: str) -> None:
    assert edited(tmp_path, old, SEED) == new


@pytest.mark.parametrize(
    ("data", "is_above"),
    [
        ("import random\nx = random.random()\n", True),
        ("import random\ndef f():\n    return random.random()\n", False),
        ("from pathlib import Path\nx = Path('a')\n", False),
        ("import deeper\n", True),
    ],
)
def test_above_the_import_of_a_module_that_draws(tmp_path: Path, data: str, is_above: bool) -> None:
    files = {
        "train.py": "import random\nimport data\nx = 1\n",
        "data.py": data,
        "deeper.py": "x = [shuffle(1)]\n",
    }
    code = program(tmp_path, files)
    assert code.main.line_of(find_beginning(code).offset) == (2 if is_above else 3)
    assert find_spot(code.main).offset == code.main.offset_of_line(3)  # without a program to look into


def test_in_the_package_that_draws_before_the_script(tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "import random\nx = random.random()\n", "pkg/train.py": "x = 1\n"}
    assert find_beginning(program(tmp_path, files, "-m", "pkg.train")).file.path == "pkg/__init__.py"
    files["pkg/__init__.py"] = "import random\n"
    assert find_beginning(program(tmp_path, files, "-m", "pkg.train")).file.path == "pkg/train.py"


def test_what_the_imports_above_bind() -> None:
    found = find_spot(file("import numpy as np\nfrom time import time\nx = f()\nimport random\n"))
    assert (found.bound, found.inline) == ({"np": "numpy", "time": "time.time"}, False)
