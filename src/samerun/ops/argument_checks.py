"""What torch refuses is refused in torch's own words."""

from __future__ import annotations

from typing import Any

import torch


def check(overload: Any, *args: Any, **kwargs: Any) -> None:
    """Raise what torch raises for arguments of these shapes and dtypes, by computing it without values."""
    try:
        overload(*map(_make_meta, args), **kwargs)
    except AssertionError as error:  # the way of torch 2.11's descriptions
        raise RuntimeError(str(error)) from None


def check_dim(dim: int, dims: int) -> None:
    """Raise what torch raises for a dimension that a tensor of `dims` dimensions does not have."""
    most = max(1, dims)
    if not -most <= dim < most:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got {dim})"
        )


def check_scatter(self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> None:
    """Raise what torch raises for an index larger than what it indexes; torch's description does not."""
    check_dim(dim, self.dim())
    if not self.dim() == index.dim() == src.dim():
        return  # what torch says of that, its description says too
    dim %= max(1, self.dim())
    sizes, whole, given = ([*t.shape] or [1] for t in (index, self, src))
    if any(a > b for at, (a, b) in enumerate(zip(sizes, whole, strict=True)) if at != dim) or any(
        a > b for a, b in zip(sizes, given, strict=True)
    ):
        raise RuntimeError(
            f"Expected index {sizes} to be no larger than self {whole} apart from dimension {dim} "
            f"and to be no larger size than src {given}"
        )


def check_bounds(index: torch.Tensor, size: int, dim: int) -> None:
    """Refuse an index below 0, or of `size` or more: on the CPU by an error, elsewhere on the device."""
    if index.device.type != "cpu":
        torch._assert_async(((index >= 0) & (index < size)).all())
    elif index.numel():
        low, high = (int(extreme) for extreme in index.aminmax())
        if low < 0 or high >= size:
            raise RuntimeError(
                f"index {low if low < 0 else high} is out of bounds for dimension {dim} with size {size}"
            )


def name_dtype(t: torch.Tensor) -> str:
    """The dtype as torch's C++ calls it."""
    return _NAMES.get(t.dtype, str(t.dtype).removeprefix("torch."))


_NAMES = {
    torch.float64: "Double",
    torch.float32: "Float",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
}


def _make_meta(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) else value
