"""Operations computed by torch's own kernel and by samerun's, on the CPU, and held against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from samerun.ops import Implementation, implementations
from samerun.ops.installation import put_in

Args = tuple[Any, ...]


@contextmanager
def on_cpu(*names: str) -> Iterator[None]:
    """Operations of samerun in the place of torch's own on the CPU, also those that only CUDA needs."""
    with put_in([implementations()[name] for name in names], lambda _: ("CPU",)):
        yield


def operation(one: Implementation) -> Callable[..., Any]:
    name, _, kind = next(iter(one.kernels)).partition(".")
    return getattr(getattr(getattr(torch.ops, one.namespace), name), kind or "default")


def compute(one: Implementation, args: Args, **options: Any) -> list[torch.Tensor]:
    """The results, of copies of the arguments."""
    result = operation(one)(*map(_copy, args), **{**one.options, **options})
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [t for t in results if isinstance(t, torch.Tensor)]


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)
    return [_copy(part) for part in value] if isinstance(value, list) else value


def mapped(args: Args, change: Callable[[torch.Tensor], torch.Tensor]) -> Args:
    """The arguments with the floating-point tensors among them changed."""
    return tuple(
        change(value) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for value in args
    )


def channels_last(t: torch.Tensor) -> torch.Tensor:
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(t.dim())
    return t if last is None else t.contiguous(memory_format=last)


def strided(t: torch.Tensor) -> torch.Tensor:
    """The same values, every other element of a larger memory."""
    if not t.dim():
        return t
    wide = t.new_zeros((*t.shape[:-1], 2 * t.shape[-1]))
    wide[..., ::2] = t
    return wide[..., ::2]


def _strides_for_the_compiler(one: Implementation, args: Args, at: int) -> tuple[int, ...] | None:
    """torch's kernel and its description for the compiler are not always of one mind."""
    try:
        bare = [value.to("meta") if isinstance(value, torch.Tensor) else value for value in args]
        result = operation(one)(*bare, **one.options)
        return (result if isinstance(result, tuple) else (result,))[at].stride()
    except (RuntimeError, NotImplementedError):
        return None


class Errors:
    """What a whole grid was off by, in roundings of each case's largest value: samerun's, and torch's own."""

    def __init__(self) -> None:
        self.ours: list[float] = []
        self.native: list[float] = []

    def hold(self) -> None:
        """samerun's is no larger than torch's own, give or take a quarter of a rounding."""
        if self.native:
            assert _mean(self.ours) <= _mean(self.native) + 0.25


def _mean(errors: list[float]) -> float:
    return (sum(error**2 for error in errors) / len(errors)) ** 0.5


def hold_against_torch(
    name: str, args: Args, dtype: torch.dtype, errors: Errors | None = None, **options: Any
) -> None:
    """Shape, dtype, strides and values as torch's own kernel on the CPU gives them.

    The error against torch's result in float64 is at most torch's own in this dtype, give or take a tenth
    and four roundings of the largest value, for a case has few; `errors` is for the whole grid.
    """
    one = implementations()[name]
    narrow = mapped(args, lambda t: t.to(dtype))
    # The inputs as they are after rounding are the inputs.
    exact = compute(one, mapped(narrow, lambda t: t.double().contiguous()), **options)
    try:
        native = compute(one, narrow, **options)
    except (RuntimeError, NotImplementedError) as error:
        if not any(words in str(error) for words in ("not implemented for", "Unsupported memory format")):
            raise
        native = None  # CUDA has it, the CPU has not
    with on_cpu(name):
        ours = compute(one, narrow, **options)
    assert len(ours) == len(exact)
    for at, (mine, theirs, right) in enumerate(zip(ours, native or exact, exact, strict=True)):
        assert mine.shape == theirs.shape
        if native is not None:
            assert mine.dtype == theirs.dtype
            assert mine.stride() == theirs.stride() or mine.stride() == _strides_for_the_compiler(
                one, narrow, at
            )
        if mine.is_floating_point():
            hold_values(mine, None if native is None else theirs, right, errors or Errors())
        elif name in ("median", "nanmedian"):  # of equal ones the first, which torch's need not be
            seen, dim, keepdim = narrow
            if not seen.dim():
                seen, kept = seen.view(1), mine.view(1)
            else:
                kept = mine if keepdim else mine.unsqueeze(dim)
            values = seen.gather(dim, kept)
            value = ours[0].view(values.shape)
            same = (seen == value) | (seen.isnan() & value.isnan())
            assert torch.equal(same.to(torch.uint8).argmax(dim, keepdim=True), kept)
        else:
            assert torch.equal(mine, theirs)


def hold_values(mine: torch.Tensor, theirs: torch.Tensor | None, right: torch.Tensor, errors: Errors) -> None:
    if theirs is not None:
        assert torch.equal(mine.isnan(), theirs.isnan())
        assert torch.equal(mine.isinf() * mine.sign(), theirs.isinf() * theirs.sign())
    finite = mine.isfinite() & right.isfinite()
    if not finite.any():
        return
    if mine.dtype == torch.float64:  # the same formula, in another order
        torch.testing.assert_close(mine[finite], right[finite], rtol=1e-11, atol=1e-11)
        return
    unit = float(torch.finfo(mine.dtype).eps * right[finite].abs().max()) or 1.0
    error = float((mine[finite].double() - right[finite]).abs().max()) / unit
    native = 0.0
    if theirs is not None:
        native = float((theirs[finite].double() - right[finite]).abs().max().nan_to_num()) / unit
        errors.native.append(native)
        errors.ours.append(error)
    assert error <= 4 + 1.1 * native
