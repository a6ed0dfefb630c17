"""How a name of a library is written where it is needed."""

from __future__ import annotations

import pytest

from samerun.editing.import_names import find_bindings, write_name

from .program import call, file


@pytest.mark.parametrize(
    ("text", "expected", "missing"),
    [
        ("import numpy as np\nf()\n", "np.random.seed", ()),
        ("import numpy\nf()\n", "numpy.random.seed", ()),
        ("from numpy import random\nf()\n", "random.seed", ()),
        ("from numpy.random import seed as start\nf()\n", "start", ()),
        ("f()\n", "np.random.seed", ("import numpy as np",)),
        ("np = 1\nf()\n", "numpy.random.seed", ("import numpy",)),
        ("np = numpy = 1\nf()\n", "numpy_.random.seed", ("import numpy as numpy_",)),
        ("f()\nimport numpy as npy\n", "np.random.seed", ("import numpy as np",)),
        ("def g():\n    f()\nimport numpy as npy\n", "npy.random.seed", ()),
        ("def g():\n    import numpy as npy\n    f()\n", "npy.random.seed", ()),
        ("from lib import *\nnp(f())\n", "numpy.random.seed", ("import numpy",)),
        ("from lib import *\nf()\n", "np.random.seed", ("import numpy as np",)),
        ("import numpy as npy\ndef g(npy):\n    f()\n", "np.random.seed", ("import numpy as np",)),
    ],
)
def test_as_it_is_imported_there(text: str, expected: str, missing: tuple[str, ...]) -> None:
    read = file(text)
    assert write_name(read, "numpy.random.seed", call(read)) == (expected, missing)


def test_what_imports_bind_at_a_place() -> None:
    read = file("import a\nf()\ndef g():\n    import b\n    f()\n    import c\nimport d\n")
    assert [sorted(find_bindings(read, call(read, nth))) for nth in (0, 1)] == [["a"], ["a", "b", "d"]]
