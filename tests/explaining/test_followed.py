"""From a statement where a value began to differ to the sources that give such values."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.comparing.lines.differences import Differing, Node
from samerun.comparing.lines.reading import Called, Place
from samerun.explaining.followed import explain_origins, list_sources_of
from samerun.sources.catalogue import find_sources

UNEQUAL = (Differing("x", (3, 4)),)


def make_place(*names: str, line: int = 1, loops: tuple[str, ...] = ()) -> Place:
    calls = tuple(Called(name, line + at) for at, name in enumerate(names))
    return Place("train.py", "main", line, (), ("x",), calls, loops)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("time.perf_counter", "clock"),
        ("datetime.datetime.now", "clock"),
        ("posix.getpid", "process-id"),
        ("uuid.uuid4", "os-entropy"),
        ("secrets.randbelow", "os-entropy"),
        ("glob.glob", "listing-order"),
        (".iterdir", "listing-order"),
        ("psutil.cpu_percent", "system-reads"),
        ("subprocess.check_output", "system-reads"),
        (".getoutput", "system-reads"),  # of IPython: `now = !date`
        ("queue.Queue.get", "worker-arrival"),
        ("torch._C._distributed_c10d.pybind11_detail_function_record_v1.add", "worker-arrival"),
        ("concurrent.futures._base.as_completed", "worker-arrival"),
        ("multiprocessing.context.Process.is_alive", "worker-arrival"),
        ("multiprocessing.pool.Pool.imap_unordered", "worker-arrival"),
        ("multiprocessing.pool.Pool.map", "worker-seeds"),
        ("concurrent.futures.process.ProcessPoolExecutor.map", "worker-seeds"),
        ("threading.Event.is_set", "thread-scheduling"),
        ("threading.Thread.is_alive", "thread-scheduling"),
        ("threading.get_ident", "system-reads"),
        ("concurrent.futures._base.Future.done", "thread-scheduling"),
        ("polars.dataframe.frame.DataFrame.group_by", "worker-arrival"),
        ("json.load", "input-data"),
        (".read_text", "input-data"),
        ("random.shuffle", "python-random"),
        ("numpy.random.uniform", "numpy-global"),
        ("numpy.random._generator.default_rng", "numpy-generator"),
        ("torch.empty", "uninitialized-memory"),
        ("builtins.id", "memory-address"),
        ("set", "hash-seed"),
    ],
)
def test_a_function_is_of_its_source_at_the_line_of_the_call(name: str, source: str, tmp_path: Path) -> None:
    node = Node(make_place("builtins.int", name), 0.0, made=UNEQUAL)
    found = explain_origins([node], str(tmp_path))
    assert [(item.source, item.call_site) for item in found.evidence] == [(source, "train.py:2")]
    assert found.is_plain


def test_the_values_are_shown_where_they_are_numbers(tmp_path: Path) -> None:
    found = explain_origins([Node(make_place("time.time"), 0.0, made=UNEQUAL)], str(tmp_path))
    assert found.evidence[0].text == "`x` differs first (3 and 4), though all that the line reads is equal"


@pytest.mark.parametrize(
    "name", ["builtins.dict.get", "builtins.int", "builtins.str", "torch.manual_seed", "os.path.join"]
)
def test_what_gives_the_same_for_the_same_is_of_none(name: str, tmp_path: Path) -> None:
    sources = [source for source in find_sources().values() if source.gives is not None]
    assert not [source.id for source in sources if source.gives.fullmatch(name)]
    node = Node(make_place(name), 0.0, made=UNEQUAL)
    found = explain_origins([node, node], str(tmp_path))  # the line gave two values: it is named once
    assert not found.evidence
    assert not found.is_plain
    assert found.notes == (
        "`x` differs first (3 and 4), though all that the line reads is equal, at train.py:1; "
        "no source of the catalogue is known to give it",
    )


def test_beside_a_line_with_a_source_one_without_is_no_note(tmp_path: Path) -> None:
    named, other = (Node(make_place(name), 0.0, made=UNEQUAL) for name in ("time.time", "builtins.int"))
    found = explain_origins([named, other], str(tmp_path))
    assert [item.source for item in found.evidence] == ["clock"]
    assert not found.notes and not found.is_plain


@pytest.mark.parametrize(("name", "calls"), [("x", "secrets.randbelow"), ("api_key", "f")])
def test_a_number_that_may_be_a_secret_is_not_shown(name: str, calls: str, tmp_path: Path) -> None:
    node = Node(make_place(calls), 0.0, made=(Differing(name, (1234, 5678)),))
    found = explain_origins([node], str(tmp_path))
    assert "1234" not in str(found) and name in str(found)


def test_what_gave_the_object_that_is_read_is_named_where_that_was_made(tmp_path: Path) -> None:
    made = make_place("psutil.Process", line=5)
    found = explain_origins([Node(make_place(), 0.0, made=UNEQUAL, written_at=(made,))], str(tmp_path))
    assert [(item.source, item.call_site) for item in found.evidence] == [("system-reads", "train.py:5")]


def test_what_a_function_of_the_file_reads_is_named_at_the_line_that_reads_it(tmp_path: Path) -> None:
    text = "def info(path='/proc/meminfo'):\n    return open(path).read()\ndef f():\n    return 1\nx = {}()\n"
    for name, sources in (("info", [("system-reads", "train.py:1")]), ("f", [])):
        (tmp_path / "train.py").write_text(text.format(name))
        found = explain_origins([Node(make_place(line=5), 0.0, made=UNEQUAL)], str(tmp_path))
        assert [(item.source, item.call_site) for item in found.evidence] == sources


def test_a_line_that_goes_through_a_set_and_one_that_reads_an_attribute_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = entry.st_mtime\n")
    loop = Node(make_place(loops=("set",)), 0.0, made=UNEQUAL)
    read = Node(make_place(), 0.0, made=UNEQUAL)
    found = explain_origins([loop, read], str(tmp_path))
    assert [item.source for item in found.evidence] == ["hash-seed", "system-reads"]


def test_a_set_in_another_order_is_of_the_hash_seed_whatever_gave_it(tmp_path: Path) -> None:
    a, b = b"S" + b"12345678" + b"abcdefgh", b"S" + b"12345678" + b"hgfedcba"
    reordered = Node(make_place("pickle.load"), 0.0, made=(Differing("words", (a, b)),))
    other = Node(make_place("pickle.load"), 0.0, made=(Differing("words", (a, b"S" + b"87654321" + b[9:])),))
    found = explain_origins([reordered, other], str(tmp_path))
    assert [item.source for item in found.evidence] == ["hash-seed", "input-data"]


def test_a_generator_that_nothing_seeded_is_the_source_itself(tmp_path: Path) -> None:
    read = (Differing("numpy-global", (b"a", b"b")),)
    found = explain_origins(
        [Node(make_place("f"), 0.0, read=read, made=UNEQUAL, unseeded=("numpy-global",))], str(tmp_path)
    )
    assert [item.source for item in found.evidence] == ["numpy-global"]


@pytest.mark.parametrize(
    ("generator", "given", "source"),
    [
        ("numpy.random._generator.default_rng", "_thread.get_ident", "system-reads"),
        ("numpy.random.mtrand.RandomState", "posix.getpid", "process-id"),
        ("random.Random", "time.time_ns", "clock"),
        ("random.seed", "builtins.id", "memory-address"),
    ],
)
def test_what_seeds_a_generator_comes_before_the_generator(
    generator: str, given: str, source: str, tmp_path: Path
) -> None:
    for names in ((generator, given), (given, generator)):
        found = explain_origins([Node(make_place(*names), 0.0, made=UNEQUAL)], str(tmp_path))
        assert found.evidence[0].source == source


def test_each_source_is_listed_once_where_it_is_first(tmp_path: Path) -> None:
    nodes = [
        Node(make_place("time.time", line=1), 0.0, made=UNEQUAL),
        Node(make_place("posix.getpid", line=2), 1.0, made=UNEQUAL),
        Node(make_place("time.time", line=3), 2.0, made=UNEQUAL),
        Node(make_place("module.unknown", line=4), 3.0, made=UNEQUAL),
    ]
    found = list_sources_of(nodes, str(tmp_path))
    assert [(item.source, item.call_site) for item in found] == [
        ("clock", "train.py:1"),
        ("process-id", "train.py:2"),
    ]


@pytest.mark.parametrize(
    ("name", "numbered"), [("queue.Queue.get", True), ("multiprocessing.connection.Connection.recv", True),
                           ("concurrent.futures._base.as_completed", False)],
)  # fmt: skip
def test_what_a_queue_gives_is_to_be_numbered(name: str, numbered: bool, tmp_path: Path) -> None:
    """Who takes from one has no DataLoader, and no pool."""
    found = explain_origins([Node(make_place("builtins.int", name), 0.0, made=UNEQUAL)], str(tmp_path))
    advice = found.evidence[0].advice
    assert (advice is not None and "give each result its number" in advice) is numbered
