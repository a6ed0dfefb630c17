"""clock, os-entropy and process-id: reads noted, replaced on request, and recognised when they do harm.

Covers `base/system_value.py`, `clock.py`, `os_entropy.py`, `patching/process_numbers.py` and
`process_id.py`.
"""

import contextlib
import copy
import datetime
import importlib
import os
import pickle
import platform
import random
import resource
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest

import samerun
from samerun.errors import UsageError
from samerun.runs.plan import Control
from samerun.sources.clock import Clock
from samerun.sources.os_entropy import OsEntropy
from samerun.sources.process_id import ProcessId

from .differences import ONE, TWO, batch, operation, row, side
from .kept import Kept
from .mending import Program, differing

clock, entropy, identity = Clock(), OsEntropy(), ProcessId()


@pytest.fixture
def controlled():
    undos = []

    def control(source, seed=1):
        undos.append(source.control(Control(seed=seed)))
        return undos[-1]

    yield control
    for undo in reversed(undos):
        undo()


# --- clock -----------------------------------------------------------------------------------------


def reads():
    return [
        time.time(),
        time.time_ns(),
        time.monotonic(),
        time.perf_counter_ns(),
        time.localtime(),
        time.ctime(),
        datetime.datetime.now(),
        datetime.datetime.today(),
        datetime.datetime.now(datetime.timezone.utc),
    ]


def test_the_made_up_clock_repeats_and_goes_on():
    seen = []
    for _ in range(2):
        undo = clock.control(Control())
        seen.append(reads())
        later = time.time() - time.time()
        undo()
    assert seen[0] == seen[1]
    assert later == pytest.approx(-0.010007919, abs=1e-6)
    assert datetime.datetime.now().year >= 2026 and time.time() != seen[0][0]


def test_a_loop_with_a_time_limit_ends_after_the_same_number_of_turns(controlled):
    controlled(clock)
    start, turns = time.time(), 0
    while time.time() - start < 1.0:
        turns += 1
    assert turns in (99, 100)


def test_the_made_up_clock_shows_the_same_date_in_every_way(controlled):
    controlled(clock)
    year = {time.localtime().tm_year, time.gmtime().tm_year, int(time.strftime("%Y")), time.ctime()[-4:]}
    assert year - {2025, 2026} == {time.asctime()[-4:]}
    assert time.strftime("%Y", time.gmtime(0)) == "1970"
    assert time.clock_gettime(time.CLOCK_MONOTONIC) < time.process_time() < time.thread_time()


def test_libraries_keep_the_real_clock(controlled):
    import logging

    controlled(clock)
    record = logging.LogRecord("x", 0, "", 0, "", None, None)
    assert abs(record.created - os.times().elapsed) >= 0
    assert datetime.datetime.fromtimestamp(record.created).year >= 2026
    assert record.created != time.time()


def test_dates_stay_dates(controlled):
    before = datetime.datetime(2020, 1, 2, 3)
    controlled(clock)
    now = datetime.datetime.now()
    assert isinstance(before, datetime.datetime) and isinstance(now, datetime.datetime)
    assert isinstance(now, datetime.date) and not isinstance(datetime.date.today(), datetime.datetime)
    assert datetime.datetime(2020, 1, 2, 3) == before
    assert pickle.loads(pickle.dumps([now, before])) == [now, before]
    assert copy.deepcopy(before) == before
    assert issubclass(type(before), datetime.datetime)
    assert datetime.datetime.fromisoformat("2020-01-02T03:00:00") == before


def test_the_type_of_dates_is_left_alone(controlled):
    before = datetime.datetime, datetime.datetime.__dict__["now"]
    undo = controlled(clock)
    assert datetime.datetime is before[0] and type(datetime.datetime.now()) is datetime.datetime
    assert datetime.datetime.now().strftime("%Y-%m-%d") in ("2026-01-01", "2025-12-31")
    undo()
    assert datetime.datetime.__dict__["now"] is before[1]


@pytest.mark.parametrize("how", ["observed", "kept", "given", "made up", "moved"])
def test_a_clock_that_is_deprecated_warns_as_ever(how, notes):
    """From Python 3.12 on `datetime.utcnow` warns, by way of C: on the line that calls it, once for each."""

    def lines():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            _ = datetime.datetime.utcnow()
        return [(each.category, each.filename, each.lineno) for each in found]

    plain, kept, clock = lines(), Kept(), Clock()
    if how == "given":
        undo = Clock().replay(kept)
        assert lines() == plain
        undo()
    put_in = {
        "observed": lambda: clock.observe(notes),
        "kept": lambda: clock.replay(kept),
        "given": lambda: clock.replay(kept.again()),
        "made up": lambda: clock.control(Control()),
        "moved": lambda: clock.vary(60, lambda: None),
    }
    undo = put_in[how]()
    try:
        assert lines() == plain
    finally:
        undo()
    assert len(plain) == (sys.version_info >= (3, 12))


def test_clock_reads_are_noted(observed):
    notes = observed(clock)
    time.time()
    time.perf_counter()
    time.localtime(0)
    time.sleep(0)
    time.strftime("%H:%M")
    time.strftime("%H:%M", time.gmtime(0))
    time.clock_gettime(time.CLOCK_MONOTONIC)
    time.thread_time_ns()
    time.asctime()
    time.asctime(time.gmtime(0))
    datetime.datetime.now(tz=datetime.timezone.utc)
    datetime.date.today()  # reads time.time
    expected = ["time.time", "time.perf_counter"]
    expected += ["time.strftime", "time.clock_gettime", "time.thread_time_ns", "time.asctime"]
    expected += ["datetime.now", "time.time"]
    assert [note.name for note in notes.of("clock")] == expected
    assert notes.rows[0].call_site.startswith("tests/sources/test_system_values.py:")


# --- entropy ---------------------------------------------------------------------------------------


def entropies():
    return [
        os.urandom(8),
        uuid.uuid4(),
        secrets.token_hex(4),
        secrets.randbelow(10**9),
        random.SystemRandom().random(),
        random.Random().random(),
    ]


def test_entropy_repeats_where_the_users_line_asks_for_it(controlled):
    seen = []
    for seed in (1, 1, 2):
        undo = controlled(entropy, seed)
        seen.append([*entropies(), os.urandom(8)])
        undo()
    assert seen[0] == seen[1]
    assert all(a != b for a, b in zip(seen[0], seen[2], strict=True))
    assert seen[0][0] != seen[0][-1]
    assert os.urandom(8) != os.urandom(8) and random.Random().random() != random.Random().random()


@pytest.mark.skipif(not hasattr(os, "getrandom"), reason="Linux alone has it")
def test_arguments_are_the_originals_to_complain_of(controlled):
    seen = []
    for _ in range(2):
        undo = controlled(entropy)
        with pytest.raises(TypeError, match="takes no keyword arguments"):
            os.urandom(size=3)
        with pytest.raises(ValueError, match="negative argument not allowed"):
            os.urandom(-1)
        seen.append(os.getrandom(size=3))
        undo()
    assert len(seen[0]) == 3
    assert seen[0] == seen[1]


LIBRARY = """
import os, random, secrets, tempfile, uuid

def named():
    names = tempfile._RandomNameSequence()
    return [uuid.uuid4(), secrets.token_hex(4), os.urandom(8), random.SystemRandom().random(), next(names)]

def drawn():
    own = random.Random()
    own.seed()
    return [random.Random().random(), random.Random(None).random(), own.random()]
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A module among the installed packages."""
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "a_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(installed)
    yield importlib.import_module("a_library")
    del sys.modules["a_library"]


def test_what_a_library_names_is_another_in_each_run_and_what_it_draws_repeats(controlled, library):
    named, drawn = [], []
    for seed in (1, 1, 2):
        undo = controlled(entropy, seed)
        named += library.named()
        drawn.append([*library.drawn(), *library.drawn()])
        undo()
    assert len(set(named)) == len(named)
    assert drawn[0] == drawn[1]
    assert len({*drawn[0], *drawn[2]}) == 12


def test_names_of_temporary_files_are_left_alone(controlled, tmp_path):
    names = []
    for _ in range(2):
        tempfile._name_sequence = None  # as in a new process
        undo = controlled(entropy)
        names.append(tempfile.mktemp(dir=tmp_path))
        undo()
    assert names[0] != names[1]


def test_generators_of_other_sources_are_left_alone(controlled):
    drawn = []
    for _ in range(2):
        undo = controlled(entropy)
        random.seed()
        drawn += [numpy.random.default_rng().random(), random.random()]
        undo()
    assert len(set(drawn)) == 4


def test_threads_never_get_the_same(controlled):
    controlled(entropy)
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(lambda _: (random.Random().random(), os.urandom(8)), range(400)))
    assert len(set(drawn)) == 400


def test_entropy_is_uniform_and_independent_over_seeds(controlled):
    values = []
    for seed in range(200):
        undo = controlled(entropy, seed)
        values.append(
            [random.Random().random(), *(byte / 255 for byte in os.urandom(2)), random.Random().random()]
        )
        undo()
    columns = numpy.array(values).T
    assert numpy.abs(columns.mean(1) - 0.5).max() < 4.5 * numpy.sqrt(1 / 12 / 200)
    assert numpy.abs(numpy.corrcoef(columns)[numpy.triu_indices(4, 1)]).max() < 4.5 / numpy.sqrt(200)


def test_entropy_reads_are_noted_and_unchanged(observed):
    notes = observed(entropy)
    assert os.urandom(8) != os.urandom(8)
    uuid.uuid4()
    random.SystemRandom().random()
    with tempfile.TemporaryDirectory():
        pass
    rows = notes.of("entropy", "os.urandom")
    assert len(rows) == 4
    assert rows[0].digest != rows[1].digest
    assert all(row.call_site.startswith("tests/sources/test_system_values.py:") for row in rows)


# --- identity --------------------------------------------------------------------------------------


def test_the_number_of_a_process_repeats_and_is_nobodys(controlled):
    before = os.getpid(), socket.gethostname(), platform.node()
    numbers = []
    for seed in (1, 1, 2):
        undo = controlled(identity, seed)
        numbers.append(os.getpid())
        assert os.getpid() == numbers[-1]
        assert (socket.gethostname(), platform.node()) == before[1:]
        undo()
    assert numbers[0] == numbers[1] != numbers[2]
    assert all(2**22 < number < 2**31 for number in numbers)
    assert (os.getpid(), socket.gethostname(), platform.node()) == before


def test_a_library_keeps_the_real_number(controlled, tmp_path, monkeypatch):
    real = os.getpid()
    controlled(identity)
    code = compile("import os\nfound = os.getpid()\n", str(tmp_path / "site-packages" / "x.py"), "exec")
    names = {}
    exec(code, names)
    assert names["found"] == real != os.getpid()


def test_the_number_finds_its_process(controlled):
    import psutil

    real = os.getpid()
    affinity, limit = os.sched_getaffinity(real), resource.prlimit(real, resource.RLIMIT_NOFILE)
    undo = controlled(identity)
    number = os.getpid()
    assert number != real
    got = []
    before = signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
    os.kill(number, signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)
    assert got == [1]
    assert os.getpgid(number) == os.getpgid(0) and os.getsid(number) == os.getsid(0)
    assert os.sched_getaffinity(number) == affinity
    assert resource.prlimit(number, resource.RLIMIT_NOFILE) == limit
    assert psutil.Process(number).pid == psutil.Process(pid=number).pid == psutil.Process().pid == real
    assert psutil.pid_exists(number)
    undo()
    assert not psutil.pid_exists(number)


def test_a_child_has_another_number_and_knows_its_parents(controlled):
    controlled(identity)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.kill(os.getppid(), 0)
        os.write(write, f"{os.getpid()} {os.getppid()}".encode())
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    own, parents = map(int, os.read(read, 100).split())
    assert parents == os.getpid() != own
    assert own > 2**22


@pytest.mark.parametrize(
    "use",
    [
        lambda number: Path(f"/proc/{number}/stat").read_text(),
        lambda number: os.listdir(f"/proc/{number}"),
        lambda number: subprocess.run(["kill", "-0", str(number)]),
        lambda number: subprocess.run(["true", f"--pid={number}"]),
        lambda number: os.system(f"kill -0 {number}; true"),
    ],
)
def test_a_number_that_would_find_nobody_is_refused(controlled, use):
    undo = controlled(identity)
    number = os.getpid()
    with pytest.raises(UsageError, match="process-id is controlled"):
        use(number)
    undo()
    with contextlib.suppress(FileNotFoundError):
        use(number)


def test_a_number_in_a_name_is_no_address(controlled, tmp_path):
    controlled(identity)
    folder = tmp_path / f"run-{os.getpid()}"
    folder.mkdir()
    (folder / f"{os.getpid()}.txt").write_text("x")
    assert os.listdir(folder) == [f"{os.getpid()}.txt"]
    assert subprocess.run(["ls", folder], capture_output=True).returncode == 0


def test_identities_are_noted(observed):
    notes = observed(identity)
    assert os.getpid() == os.getpid()
    socket.gethostname()
    assert [note.name for note in notes.of("identity")] == ["os.getpid", "os.getpid", "socket.gethostname"]


# --- recognise -------------------------------------------------------------------------------------

SOURCES = [
    (clock, "clock", "time.time"),
    (entropy, "entropy", "os.urandom"),
    (identity, "identity", "os.getpid"),
]
each_source = pytest.mark.parametrize(("source", "word", "name"), SOURCES, ids=[s.id for s, *_ in SOURCES])


def seeded(*rows, line=5, digest=ONE, **manifest):
    return side(*rows, row("seed", "random.seed", call_site=f"train.py:{line}", digest=digest), **manifest)


def difference(word, name, read_line, *, seed=(ONE, TWO)):
    read = row(word, name, call_site=f"train.py:{read_line}")
    return batch(a=seeded(read, digest=seed[0]), b=seeded(read, digest=seed[1]))


@each_source
def test_a_read_in_the_line_that_seeds(source, word, name):
    found = source.recognise(difference(word, name, 5))
    assert (found.strength, found.call_site) == (1.0, "train.py:5")
    assert "random.seed was given another seed" in found.text


@each_source
def test_a_read_shortly_before_and_one_far_from_it(source, word, name):
    near = source.recognise(difference(word, name, 2))
    assert (near.strength, near.call_site) == (0.7, "train.py:2")
    assert source.recognise(difference(word, name, 90)).strength == 0.4


@each_source
def test_equal_seeds_are_nobodys_fault(source, word, name):
    found = source.recognise(difference(word, name, 90, seed=(ONE, ONE)))
    assert (found and found.strength) == (0.4 if source is entropy else None)


@each_source
def test_an_operation_with_equal_inputs_is_not_its_doing(source, word, name):
    assert source.recognise(operation(a=seeded(row(word, name), digest=ONE), b=seeded(digest=TWO))) is None


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (clock, "random.seed(datetime.now().microsecond)"),
        (clock, "random.seed(int(time.time()))"),
        (entropy, "random.seed(uuid.uuid4().int)"),
        (identity, "random.seed(os.getpid())"),
    ],
)
def test_the_line_of_code_tells(tmp_path, source, line):
    (tmp_path / "train.py").write_text(f"\n\n\n\n{line}\n")
    given = {"cwd": str(tmp_path)}
    found = source.recognise(batch(a=seeded(digest=ONE, **given), b=seeded(digest=TWO, **given)))
    assert (found.strength, found.call_site) == (0.7, "train.py:5")
    assert line in found.text
    others = [other for other, *_ in SOURCES if other is not source]
    assert not any(
        other.recognise(batch(a=seeded(digest=ONE, **given), b=seeded(digest=TWO, **given)))
        for other in others
    )


@pytest.mark.parametrize(
    ("head", "line", "in_library"),
    [
        ("import app", "app.main()", True),
        ("import time", "main(time.time())", False),
        ("from time import time as stamp", "begun = stamp()", False),
        ("from datetime import datetime", "day = datetime.today()", False),
    ],
)
def test_what_a_library_reads_for_a_line_is_known_from_what_the_line_reads(tmp_path, head, line, in_library):
    lines = [head, line, *[""] * 30, "random.seed(number)"]
    (tmp_path / "train.py").write_text("\n".join(lines))
    read = row("clock", "datetime.now", call_site="train.py:2")
    seed = {"digest": ONE, "call_site": "train.py:33"}
    known = {"cwd": str(tmp_path), "settings": {"code": {"train.py": ""}}, "command": ["python", "train.py"]}
    sides = [
        side(read, row("seed", "random.seed", **seed | {"digest": each}), **known) for each in (ONE, TWO)
    ]
    found = clock.recognise(batch(a=sides[0], b=sides[1]))
    assert (found.call_site, found.in_library) == ("train.py:2", in_library)


@pytest.mark.parametrize(
    ("line", "done"),
    [("i = random.SystemRandom().sample(all, 9)", "drawn from it"), ("r = Random(os.urandom(8))", "seeded")],
)
def test_a_generator_that_takes_no_seed_draws(tmp_path, line, done):
    (tmp_path / "train.py").write_text(f"{line}\n")
    read = row("entropy", "os.urandom", call_site="train.py:1")
    at = side(read, cwd=str(tmp_path))
    found = entropy.recognise(batch(a=at, b=at))
    assert (found.strength, found.call_site) == (0.7, "train.py:1")
    assert found.text == f"os.urandom is read where something is {done}: {line}"


@pytest.mark.parametrize(("process", "said"), [("rank0.worker0", "torch seeds them"), ("rank0", None)])
def test_what_workers_draw_from_the_system_they_are_to_draw_from_random(tmp_path, process, said):
    (tmp_path / "train.py").write_text("i = random.SystemRandom().random()\n")
    read = row("entropy", "os.urandom", call_site="train.py:1", process=process)
    at = side(read, cwd=str(tmp_path))
    advice = entropy.recognise(batch(a=at, b=at)).advice
    assert (advice is None) if said is None else said in advice


def test_a_line_that_prints_a_time_beside_a_result_is_weaker_evidence(tmp_path):
    (tmp_path / "train.py").write_text('print(f"in {time.time() - start} s, acc {acc}")\n')
    at = {"a": side(cwd=str(tmp_path)), "b": side(cwd=str(tmp_path)), "call_site": "train.py:1"}
    assert clock.recognise(batch(**at, what="printed")).strength == 0.5  # changed code comes first
    assert clock.recognise(batch(**at)).strength == 0.7


@pytest.mark.parametrize(
    "line",
    [
        "hours = [datetime.datetime.fromtimestamp(at).hour for at in times]",
        "values = time.mktime(then) + then.time()",
        "time.sleep(0.1)",
    ],
)
def test_a_line_about_other_times_than_now_is_not_blamed(tmp_path, line):
    (tmp_path / "train.py").write_text(f"{line}\n")
    at = batch(a=side(cwd=str(tmp_path)), b=side(cwd=str(tmp_path)), call_site="train.py:1")
    assert clock.recognise(at) is None


def test_a_clock_that_only_measures_is_not_blamed():
    timed = side(row("clock", "time.time", call_site="train.py:8"))
    assert clock.recognise(batch(a=timed, b=timed)) is None


SCHEDULE = """
import time
began = time.monotonic()
class Slot:
    @property
    def spent(self): return (time.monotonic() - began) / 9
def rate():
    spent = time.monotonic() - began
    return 0.1 / (1 + spent)
def log(loss):
    print(time.time(), loss)
for step in range(9):
    {set}
    loss = {loss}
    optimizer.step()
    log(loss)
"""


@pytest.mark.parametrize(
    ("set_", "loss", "phase", "line"),
    [
        ("group['lr'] = rate()", "net(x)", "optimizer", "spent ="),
        ("group.update(lr=rate())", "net(x)", "optimizer", "spent ="),
        ("LambdaLR(optimizer, lambda epoch: time.time() / 1e9)", "net(x)", "optimizer", "lambda epoch"),
        ("LambdaLR(optimizer, lr_lambda=rate)", "net(x)", "optimizer", "spent ="),
        ("pass", "net(x) * rate()", "forward", "spent ="),
        ("pass", "net(x) / Slot().spent", "forward", "def spent"),
        ("pass", "net(x)", "forward", None),
        ("pass", "net(x)", "optimizer", None),
        ("group['lr'] = 0.1", "net(x) * rate()", "optimizer", None),
        ("group['lr'] = rate()", "net(x)", "forward", None),
    ],
)
def test_a_clock_that_goes_into_what_differs(tmp_path, set_, loss, phase, line):
    program = Program(tmp_path, SCHEDULE.format(set=set_, loss=loss))
    rows = [
        row("clock", "time.time", call_site=program.at(words))
        for words in ("began =", "def spent", "spent =", "print")
    ]
    if "time.time() / 1e9" in set_:
        rows.append(row("clock", "time.time", call_site=program.at("LambdaLR")))
    site = program.at("optimizer.step" if phase == "optimizer" else "loss = ")
    found = clock.recognise(program.difference(*rows, what="operation", phase=phase, call_site=site))
    if line is None:
        assert found is None
    else:
        assert (found.strength, found.call_site) == (0.7, program.at(line))


def test_a_clock_beside_a_generator_that_differs_is_not_blamed_for_what_it_goes_into(tmp_path):
    program = Program(tmp_path, SCHEDULE.format(set="group['lr'] = rate()", loss="net(x)"))
    read, at = row("clock", "time.time", call_site=program.at("spent =")), program.at("optimizer.step")
    rng = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    assert clock.recognise(program.difference(read, phase="optimizer", call_site=at, **rng)) is None


def test_a_clock_before_another_way_is_plausible():
    timed = side(row("clock", "time.time", call_site="train.py:8"))
    found = clock.recognise(batch(a=timed, b=timed, kind="flow"))
    assert (found.strength, found.call_site) == (0.4, "train.py:8")
    rng = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    assert clock.recognise(batch(a=timed, b=timed, kind="flow", **rng)) is None


@pytest.mark.parametrize(
    ("line", "kind", "step", "branches"),
    [
        ("while time.time() < end:", "ended", 5, True),
        ("    if time.time() - last > 60:", "flow", 5, True),
        ("    elif time.time() > end:", "flow", 5, True),
        ("def up(): return time.time() - start > 60", "ended", 5, True),
        ("over = time.time() >= end", "flow", 5, True),
        ("if time.time() > end:", "value", 5, False),
        ("print(f'{time.time():>12}')", "flow", 5, False),
        ("at = f'{time.time():>12}'", "flow", 5, False),
        ("spent = time.time() - start", "flow", 5, False),
        ("difference = time.time() - start", "flow", 5, False),
        ("while time.time() < end:", "flow", 9, False),  # long before: the loop of another stage
    ],
)
def test_a_read_where_the_code_branches(tmp_path, line, kind, step, branches):
    (tmp_path / "train.py").write_text(f"import time\n{line}\n    print(time.time())\n")
    read = row("clock", "time.time", step=4, call_site="train.py:2")
    logged = row("clock", "time.time", step=4, call_site="train.py:3")
    timed = side(read, logged, cwd=str(tmp_path))
    difference = batch(a=timed, b=timed, kind=kind, step=step)
    assert (clock.branching(difference) == read) is branches
    found = clock.recognise(difference)
    if kind != "value":
        assert found.call_site == ("train.py:2" if branches else "train.py:3")


def test_entropy_that_an_unseeded_generator_reads_is_no_branch_of_the_scripts(tmp_path):
    (tmp_path / "train.py").write_text("if np.random.default_rng().random() < 0.5:\n    pass\n")
    read = row("entropy", "os.urandom", call_site="train.py:1")
    made = row("unseeded", "numpy-generator", call_site="train.py:1")
    for rows, branches in (((read,), True), ((read, made), False)):
        sides = side(*rows, cwd=str(tmp_path))
        assert (entropy.branching(batch(a=sides, b=sides, kind="flow")) == read) is branches


def test_a_seed_that_is_not_seen_is_found_by_its_line(tmp_path):
    (tmp_path / "train.py").write_text("rng = np.random.default_rng(time.time_ns())\n")
    timed = side(row("clock", "time.time_ns", call_site="train.py:1"), cwd=str(tmp_path))
    assert clock.recognise(batch(a=timed, b=timed)).strength == 0.7


def test_python_generators_without_a_seed_are_entropys():
    made = side(row("unseeded", "os-entropy", call_site="train.py:3"))
    assert entropy.recognise(batch(a=made, b=made)).strength == 0.4
    assert entropy.recognise(batch()) is None


def test_a_numpy_generator_without_a_seed_is_not_entropys():
    made = side(
        row("unseeded", "numpy-generator", call_site="train.py:3"),
        row("entropy", "os.urandom", call_site="train.py:3"),
    )
    assert entropy.recognise(batch(a=made, b=made)) is None


def test_what_samerun_reads_for_itself_is_no_evidence(observed):
    notes = observed(clock)
    own = os.path.join(os.path.dirname(samerun.__file__), "recording", "recorder.py")
    exec(compile("import time\ntime.perf_counter()\n", own, "exec"), {})
    assert notes.rows == []
    exec(compile("import time\ntime.time()\n", "/home/somebody/train.py", "exec"), {})
    assert [note.call_site for note in notes.rows] == ["/home/somebody/train.py:2"]


@pytest.mark.parametrize(
    ("choose", "site"), [("min(times, key=times.get)", "train.py:5"), ("ways[0], print(times)", None)]
)
def test_the_fastest_of_several_ways_is_chosen_by_a_clock(tmp_path, choose, site):
    script = f"""
        import time
        times = {{}}
        for way in ways:
            began = time.perf_counter()
            times[way] = run(way) or time.perf_counter() - began
        best = {choose}
    """
    program = Program(tmp_path, script)
    read = differing("clock", "time.perf_counter", "train.py:5")
    found = clock.recognise(program.difference(read, phase="forward", what="output"))
    assert (found and found.call_site) == site
    if site is not None:
        drawn = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
        assert clock.recognise(program.difference(read, phase="forward", what="output", **drawn)) is None


def test_timers_are_noted_where_they_are_set(observed):
    notes = observed(clock)
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 60)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.alarm(60)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    threading.Timer(60, print)
    assert [row.name for row in notes.of("clock")] == ["signal.setitimer", "signal.alarm", "threading.Timer"]


@pytest.mark.parametrize("name", ["signal.setitimer", "signal.alarm", "threading.Timer"])
def test_a_timer_before_another_way_is_its_doing_and_beyond_its_control(tmp_path, name):
    (tmp_path / "train.py").write_text("signal.alarm(9)\nwhile time.time() < end:\n    pass\n")
    timer, read = (
        row("clock", name, call_site="train.py:1"),
        row("clock", "time.time", call_site="train.py:2"),
    )
    timed, also_read = (side(*rows, cwd=str(tmp_path)) for rows in ((timer,), (read, timer)))
    found = clock.recognise(batch(a=timed, b=timed, kind="ended"))
    assert (found.strength, found.call_site, found.beyond_control) == (0.7, "train.py:1", True)
    assert "steps instead of a time" in found.advice
    assert not clock.recognise(
        batch(a=also_read, b=also_read, kind="ended")
    ).beyond_control  # it is read there
    within = clock.recognise(batch(a=timed, b=timed))  # it may have ended a loop before another one
    assert (within.strength, within.call_site, within.beyond_control) == (0.4, "train.py:1", True)
    read_a, read_b = (row("opened", "open", detail="x", digest=digest) for digest in (ONE, TWO))
    assert clock.recognise(batch(a=side(timer, read_a), b=side(timer, read_b))) is None
    assert clock.recognise(operation(a=timed, b=timed)) is None
    drawn = dict(drawn=frozenset({"torch-cpu"}), step=3, kind="ended")
    assert clock.recognise(batch(a=timed, b=timed, rng_first={"torch-cpu": 3}, **drawn)).beyond_control
    assert clock.recognise(batch(a=timed, b=timed, rng_first={"torch-cpu": 0}, **drawn)) is None


def test_what_a_program_reads_that_makes_a_file_which_differs(tmp_path):
    code = "import time\nbegun = time.time()\nkeep = int(time.time()) % 7\nprint(time.time() - begun)\n"
    (tmp_path / "prepare.py").write_text(code)

    def run(digest, process="rank0.helper-12345678"):
        read = [
            row("clock", "time.time", call_site=f"prepare.py:{line}", process=process) for line in (2, 3, 4)
        ]
        made = row("written", "open", detail="rows.json", process="rank0.helper-12345678")
        return side(row("opened", detail="rows.json", digest=digest), made, *read, cwd=str(tmp_path))

    found = clock.recognise(batch(a=run(ONE), b=run(TWO)))
    assert (found.strength, found.call_site) == (0.35, "prepare.py:3")
    assert clock.recognise(batch(a=run(ONE), b=run(ONE))) is None  # what it makes is the same
    other = {"process": "rank0.helper-87654321"}
    assert clock.recognise(batch(a=run(ONE, **other), b=run(TWO, **other))) is None  # another program
