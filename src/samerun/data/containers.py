"""The kinds of data that can be split: how many samples they have, a column of theirs, and a part of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import IterableDataset, Subset

from samerun.errors import UsageError

KINDS = (
    "a number of samples, an array, a list, a tensor, a map-style torch Dataset, "
    "a pandas DataFrame or Series, or a Hugging Face Dataset"
)


def is_count(data: Any) -> bool:
    """Whether `data` is a number of samples."""
    return isinstance(data, int | np.integer) and not isinstance(data, bool)


def is_hugging_face(data: Any) -> bool:
    """Whether `data` is a `datasets.Dataset`, known by its methods so that `datasets` need not be there."""
    return hasattr(data, "select") and hasattr(data, "column_names")


def count_samples(data: Any) -> int:
    """The number of samples. Raises UsageError for data that is not of a kind that can be split."""
    if is_count(data):
        if data < 0:
            raise UsageError(f"a number of samples is at least 0, not {data}")
        return int(data)
    if isinstance(data, Mapping):
        raise UsageError(
            f"a {type(data).__name__} is not split whole; split one of its values (keys: {list(data)})"
        )
    indexed = hasattr(data, "__len__") and (hasattr(data, "__getitem__") or hasattr(data, "iloc"))
    if not indexed or isinstance(data, str | bytes | bool | IterableDataset) or getattr(data, "ndim", 1) == 0:
        raise UsageError(f"data of type {type(data).__name__} cannot be split; pass {KINDS}")
    try:
        return len(data)
    except (TypeError, NotImplementedError):
        raise UsageError(
            f"data of type {type(data).__name__} has no length; give it __len__, or pass {KINDS}"
        ) from None


def read_column(data: Any, name: str, what: str) -> Any:
    """The column `name` of a frame or a Hugging Face Dataset.

    Raises UsageError, naming the argument `what`, if there is none.
    """
    if is_hugging_face(data):
        names = list(data.column_names)
    elif hasattr(data, "iloc") and hasattr(data, "columns"):
        names = list(data.columns)
    else:
        raise UsageError(
            f"`{what}` is the column name {name!r}, but data of type {type(data).__name__} has no columns; "
            f"pass one value for each sample"
        )
    if name not in names:
        raise UsageError(f"`{what}` names the column {name!r}, which is not among {names}")
    # Newer versions of datasets give a lazy column, older ones a list; a slice is a list in both.
    return data[name][:] if is_hugging_face(data) else data[name]


def take(data: Any, indices: NDArray[np.int64]) -> Any:
    """The samples at `indices` (int64, ascending), of the same kind as `data`.

    A number of samples gives the indices; an array or a tensor its rows; a list or another sequence a list; a
    frame the rows by position; a Hugging Face Dataset `data.select`; any other map-style dataset a
    `torch.utils.data.Subset`.
    """
    if is_count(data):
        return indices
    if isinstance(data, np.ndarray):
        return data[indices]
    if isinstance(data, torch.Tensor):
        return data[torch.from_numpy(indices).to(data.device)]
    if isinstance(data, Sequence):
        return [data[index] for index in indices.tolist()]
    if hasattr(data, "iloc"):
        return data.iloc[indices]
    if is_hugging_face(data):
        return data.select(indices)
    # Plain ints, as torch's own random_split gives: not every dataset takes a numpy integer for an index.
    return Subset(data, indices.tolist())
