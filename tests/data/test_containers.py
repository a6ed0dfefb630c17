import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset

from samerun.data.containers import count_samples, read_column, take
from samerun.errors import UsageError


class Squares(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        assert type(index) is int  # as with torch's random_split
        return index**2


class HuggingFace:
    """As a `datasets.Dataset` where split looks at it; test_a_real_hugging_face_dataset is the real thing."""

    def __init__(self, columns):
        self.columns = columns
        self.column_names = list(columns)

    def __len__(self):
        return len(self.columns["text"])

    def __getitem__(self, name):
        return LazyColumn(self.columns[name])

    def select(self, indices):
        return HuggingFace({name: [column[i] for i in indices] for name, column in self.columns.items()})


class LazyColumn:
    """As the column of datasets 4 and later, which is not a list; a slice of it is."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, at):
        assert isinstance(at, slice)
        return self.values[at]


FRAME = pd.DataFrame({"text": list("abcdef"), "label": [1, 0, 1, 0, 1, 1]}, index=[9, 8, 7, 6, 5, 4])
HF = HuggingFace({"text": list("abcdef"), "label": [1, 0, 1, 0, 1, 1]})
AT = np.array([0, 2, 5])


def test_a_number_of_samples():
    assert count_samples(6) == count_samples(np.int32(6)) == 6
    part = take(6, AT)
    assert part.dtype == np.int64
    assert part.tolist() == [0, 2, 5]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32, "U3"])
def test_an_array_gives_its_rows(dtype):
    rows = np.array([10, 11, 12, 13, 14, 15]).astype(dtype)
    assert count_samples(rows) == 6
    part = take(rows, AT)
    assert part.dtype == rows.dtype
    assert part.tolist() == [rows[0], rows[2], rows[5]]
    assert take(np.zeros((6, 4, 3)), AT).shape == (3, 4, 3)


def test_a_tensor_gives_its_rows():
    rows = torch.arange(12).reshape(6, 2)
    assert count_samples(rows) == 6
    assert torch.equal(take(rows, AT), rows[[0, 2, 5]])


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_gives_a_list(kind):
    paths = kind(f"{n}.png" for n in range(6))
    assert count_samples(paths) == 6
    assert take(paths, AT) == ["0.png", "2.png", "5.png"]
    assert take(range(10, 16), AT) == [10, 12, 15]


@pytest.mark.parametrize(
    "data",
    [Squares(), TensorDataset(torch.arange(6)), ConcatDataset([Squares()]), Subset(Squares(), range(6))],
)
def test_a_torch_dataset_gives_a_subset(data):
    assert count_samples(data) == 6
    part = take(data, AT)
    assert isinstance(part, Subset)
    assert part.dataset is data
    assert part.indices == [0, 2, 5]
    assert [part[i] for i in range(3)] == [data[0], data[2], data[5]]
    assert len(list(torch.utils.data.DataLoader(part, batch_size=2))) == 2


def test_a_frame_gives_its_rows_by_position():
    assert count_samples(FRAME) == count_samples(FRAME["text"]) == 6
    assert take(FRAME, AT).equals(FRAME.loc[[9, 7, 4]])
    assert take(FRAME["text"], AT).tolist() == ["a", "c", "f"]
    assert read_column(FRAME, "label", "stratify").tolist() == [1, 0, 1, 0, 1, 1]


def test_a_hugging_face_dataset_selects():
    assert count_samples(HF) == 6
    assert take(HF, AT).columns == {"text": ["a", "c", "f"], "label": [1, 1, 1]}
    assert read_column(HF, "label", "stratify") == [1, 0, 1, 0, 1, 1]


def test_a_real_hugging_face_dataset():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"text": list("abcdef"), "label": [1, 0, 1, 0, 1, 1]})
    assert count_samples(data) == 6
    part = take(data, AT)
    assert isinstance(part, datasets.Dataset)
    assert part.to_dict() == {"text": ["a", "c", "f"], "label": [1, 1, 1]}
    assert list(read_column(data, "label", "stratify")) == [1, 0, 1, 0, 1, 1]
    with pytest.raises(UsageError, match="IterableDataset"):
        count_samples(data.to_iterable_dataset())
    with pytest.raises(UsageError, match="keys: \\['train'\\]"):
        count_samples(datasets.DatasetDict({"train": data}))


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(6))

    def __len__(self):
        return 6


class Unsized(Dataset):
    def __getitem__(self, index):
        return index


class LengthRaises(Unsized):
    def __len__(self):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (-1, "at least 0, not -1"),
        (True, "bool"),
        (6.0, "float"),
        (None, "NoneType"),
        ("abcdef", "str"),
        (b"abcdef", "bytes"),
        ({"train": [1, 2]}, r"keys: \['train'\]"),
        ({1, 2}, "set"),
        (iter([1, 2]), "iterator"),
        (np.array(6.0), "ndarray"),
        (torch.tensor(6), "Tensor"),
        (Stream(), "Stream cannot be split"),
        (Unsized(), "Unsized cannot be split"),
        (LengthRaises(), "LengthRaises has no length"),
    ],
)
def test_what_cannot_be_split_is_refused(data, said):
    with pytest.raises(UsageError, match=said):
        count_samples(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (FRAME, r"not among \['text', 'label'\]"),
        (HF, r"not among \['text', 'label'\]"),
        (FRAME["text"], "type Series has no columns"),
        (6, "type int has no columns"),
        (Squares(), "type Squares has no columns"),
    ],
)
def test_columns_that_are_not_there_are_refused(data, said):
    with pytest.raises(UsageError, match=said) as raised:
        read_column(data, "colour", "groups")
    assert "`groups`" in str(raised.value)
    assert "'colour'" in str(raised.value)
