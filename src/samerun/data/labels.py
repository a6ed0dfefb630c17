"""Labels, of classes or of groups, as the integers 0, 1, … in the order of the sorted labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from samerun.errors import UsageError


def number_labels(labels: Any, samples: int, what: str) -> tuple[NDArray[np.int64], int]:
    """The number of each sample's label, int64 [samples], and how many distinct labels there are.

    `labels` is an array, a tensor, a pandas Series or a list of one integer, string, … for each sample. The
    numbers depend on the labels' values and not on their dtype. Raises UsageError, naming `what`, for
    another length, a missing label, and labels that have no order.
    """
    array = make_array(labels)
    if array.ndim != 1 or len(array) != samples:
        seen = f"{len(array)} labels" if array.ndim == 1 else f"labels of shape {array.shape}"
        raise UsageError(f"`{what}` has {seen} for {samples} samples; pass one label for each sample")
    if array.dtype.kind in "iub" and samples:
        return _number_integers(array)
    return _number_objects(array.tolist(), what)


def make_array(values: Any) -> NDArray[Any]:
    """An array of `values`; of dtype object if they are of several types, so that none is changed."""
    if isinstance(values, torch.Tensor):
        return values.detach().cpu().numpy()
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):
        array: NDArray[Any] = np.asarray(values.to_numpy())
        return array
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        return np.asarray(values, dtype=object)
    values = list(values)
    if {type(value) for value in values} <= {int}:
        try:
            return np.asarray(values, dtype=np.int64)
        except OverflowError:
            pass
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _number_integers(labels: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    low, high = int(labels.min()), int(labels.max())
    if high - low > 4 * len(labels) + 1024:
        distinct, numbers = np.unique(labels, return_inverse=True)
        return numbers.astype(np.int64, copy=False), len(distinct)
    # A table of the labels' range is many times faster than sorting them. The difference modulo 2**64 is
    # right for signed and unsigned labels alike.
    offsets = (labels.astype(np.uint64) - np.uint64(low % 2**64)).astype(np.int64)
    present = np.bincount(offsets) > 0
    return (np.cumsum(present) - 1)[offsets], int(present.sum())


def _number_objects(labels: list[Any], what: str) -> tuple[NDArray[np.int64], int]:
    try:
        distinct = list(dict.fromkeys(labels))
        if any(label is None or label != label for label in distinct):
            raise UsageError(f"`{what}` has a missing label (None or NaN); give those samples a label")
        number_of = {label: number for number, label in enumerate(sorted(distinct))}
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise UsageError(
            f"the labels in `{what}` cannot be sorted (types: {types}); "
            f"pass integers or strings, none missing"
        ) from None
    return np.fromiter((number_of[label] for label in labels), np.int64, len(labels)), len(distinct)
