"""Least squares repeat, whatever the memory held before, and are torch's own in every other way."""

from __future__ import annotations

import pytest
import torch

from samerun.ops import implementations
from samerun.ops.installation import put_in

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def installed():
    return put_in([implementations()["linalg_lstsq"]])


def draw(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(len(shape)))


def leave_in_memory(number: int) -> None:
    """Small blocks full of a number, given back to the C library."""
    blocks = [torch.full((size,), number, dtype=torch.int32) for size in range(4, 64) for _ in range(8)]
    del blocks


@pytest.mark.parametrize("shape", [(6, 12, 8), (12, 8), (8, 12)])
def test_they_repeat_whatever_the_memory_held(shape):
    a, b = draw(*shape), draw(*shape[:-1], 5)
    with installed():
        found = []
        for number in (0, 1, -1, 7):
            leave_in_memory(number)
            found.append(torch.linalg.lstsq(a, b))
    assert all(torch.equal(found[0].solution, each.solution) for each in found[1:])


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_that_is_given_is_as_torchs_own(driver, dtype):
    a, b = draw(2, 12, 8, dtype=dtype), draw(2, 12, 5, dtype=dtype)
    own = torch.linalg.lstsq(a, b, driver=driver)
    with installed():
        ours = torch.linalg.lstsq(a, b, driver=driver)
        out = torch.linalg.lstsq(a, b, driver=driver, out=tuple(torch.empty_like(each) for each in own))
    for mine, written, theirs in zip(ours, out, own, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)
        assert torch.equal(mine, written)


def test_columns_are_permuted_so_that_the_rank_is_right():
    a = draw(12, 8, dtype=torch.float64)
    a[:, 0] = a[:, 1] * 1e-14
    with installed():
        leave_in_memory(7)
        assert torch.linalg.lstsq(a, draw(12, 5, dtype=torch.float64)).rank == 7


def test_gradients_and_errors_are_torchs_own():
    def grow():
        a = draw(12, 8, dtype=torch.float64).requires_grad_()
        torch.linalg.lstsq(a, draw(12, 5, dtype=torch.float64)).solution.square().sum().backward()
        return a.grad

    own = grow()
    with installed():
        torch.testing.assert_close(grow(), own)
        with pytest.raises(RuntimeError, match="should be one of"):
            torch.linalg.lstsq(draw(12, 8), draw(12, 5), driver="none")
        assert torch.linalg.lstsq(draw(12, 8), draw(12, 5, dtype=torch.float32), rcond=0.1).rank == 8
    with pytest.raises(RuntimeError, match="should be one of"):
        torch.linalg.lstsq(draw(12, 8), draw(12, 5), driver="none")
