from __future__ import annotations

import pytest

from samerun.explaining.line_map import map_line

OLD = "import torch\n\nx = 1\ny = torch.rand(1)\nz = y\n"


@pytest.mark.parametrize(
    "new, moved",
    [
        (OLD, {1: 1, 4: 4}),
        (
            "import torch\nimport random\n\nrandom.seed(0)\nx = 1\ny = torch.rand(1)\nz = y\n",
            {5: 3, 6: 4, 7: 5},
        ),
        ("import torch\n\nx = 1\ny = torch.rand(2)\nz = y\n", {4: 4, 5: 5}),  # changed
        ("import torch\n\ny = torch.rand(1)\nz = y\n", {3: 4, 4: 5}),  # one left out
    ],
)
def test_where_a_line_stood(new: str, moved: dict[int, int]) -> None:
    assert {number: map_line(number, OLD, new) for number in moved} == moved
