"""system-reads: what the user's lines ask of the system is noted, given again, and blamed where it does harm.

Covers `system_reads.py`, `patching/system_calls/` but for programs, and of `base/system_value.py` the reads
that agree.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import resource
import shutil
import socket
import sqlite3
import tempfile
import threading
import time
import urllib.request
import uuid
from pathlib import Path

import psutil
import pytest

from samerun.comparing.compare_runs import compare
from samerun.explaining.explain import explain
from samerun.runs.answers import read_all_answers
from samerun.runs.difference import Strength
from samerun.runs.plan import Control, Replay
from samerun.sources.catalogue import find_sources
from samerun.sources.clock import Clock
from samerun.sources.patching.system_calls.calls import CALLS, UNKNOWN, pack, unpack
from samerun.sources.process_id import ProcessId
from samerun.sources.system_reads import SystemReads

from .differences import ONE, TWO, batch, origin, row, side
from .kept import Kept
from .mending import Program, differing, equal

HERE = "tests/sources/test_system_reads.py:"
system = SystemReads()


@pytest.fixture
def replayed():
    """replayed(read): what it gave, and what it gives in a replay of that."""
    undos = []

    def run(read):
        kept = Kept()
        undos.append(system.replay(kept))
        first = read()
        undos.pop()()
        undos.append(system.replay(kept.again()))
        second = read()
        undos.pop()()
        return first, second, kept

    yield run
    for undo in undos:
        undo()


@pytest.fixture
def server():
    """A server that gives another answer, as long, each time it is asked: its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        asked = 10

        def do_GET(self):
            Handler.asked += 1
            body = json.dumps({"asked": Handler.asked}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def temporary():
    with tempfile.NamedTemporaryFile() as file:
        return file.name


READS = {
    "os.sysconf": lambda: os.sysconf("SC_PAGE_SIZE"),
    "os.cpu_count": lambda: os.cpu_count(),
    "os.sched_getaffinity": lambda: os.sched_getaffinity(0),
    "os.times": lambda: os.times(),
    "os.statvfs": lambda: shutil.disk_usage("/"),
    "os.getloadavg": lambda: os.getloadavg(),
    "os.stat": lambda: os.stat("/tmp").st_mtime_ns,
    "os.path.getmtime": lambda: os.path.getmtime("/tmp"),
    "resource.getrusage": lambda: resource.getrusage(resource.RUSAGE_SELF),
    "threading.get_native_id": lambda: threading.get_native_id(),
    "psutil.virtual_memory": lambda: psutil.virtual_memory(),
    "psutil.cpu_times": lambda: psutil.cpu_times(percpu=True),
    "psutil.Process.memory_info": lambda: psutil.Process().memory_info(),
    "tempfile": temporary,
}
OTHERS = {
    "socket.socket.getsockname": free_port,
    "socket.gethostbyname": lambda: socket.gethostbyname("localhost"),
    "socket.getaddrinfo": lambda: socket.getaddrinfo("127.0.0.1", 80),
    "sqlite3.Connection.execute": lambda: sqlite3.connect(":memory:").execute("select random()").fetchall(),
}


@pytest.mark.parametrize("name", [*READS, *OTHERS])
def test_a_read_is_noted_at_its_line_and_unchanged(observed, name):
    read = (READS | OTHERS)[name]
    kind = type(read())
    notes = observed(system)
    assert type(read()) is kind
    found = notes.of("system", name)
    assert found and all(note.call_site.startswith(HERE) for note in found)
    assert all((note.digest is None) == name.startswith("sqlite3") for note in found)


def test_what_asks_for_nothing_that_changes_is_not_noted(observed, tmp_path):
    def size():
        return os.stat(tmp_path).st_size

    notes = observed(system)
    size()
    tmp_path.exists()
    os.path.exists(tmp_path)
    sqlite3.connect(":memory:").execute("select 1")
    with socket.socket(socket.AF_UNIX) as one:
        one.getsockname()
    assert notes.rows == []


SCHEMA = """
create table item (name text, weight real, mark integer default (random()));
create table log (mark integer);
create view shuffled as select name, abs(random()) as key from item;
create trigger marks after delete on item begin insert into log values (random()); end;
"""


@pytest.mark.parametrize(
    ("statement", "draws"),
    [
        ("select name from shuffled where name = :name order by key", True),
        ("insert into item (name) values (:name)", True),
        ("insert into item values (:name, 1, 2)", False),
        ("delete from item where name = :name", True),
        ("select name, weight from item where name = :name", False),
        ("update item set weight = 2 where name = :name", False),
    ],
)
def test_a_statement_that_draws_by_what_the_database_does_for_it(observed, statement, draws):
    with sqlite3.connect(":memory:") as base:
        base.row_factory = lambda cursor, row: {"of": row}
        base.text_factory = lambda data: pytest.fail("it asks for no text of the user's")
        base.executescript(SCHEMA)
        notes = observed(system)
        for number, execute in enumerate((base.execute, base.cursor().execute), 1):
            changes = base.total_changes
            cursor = execute(statement, {"name": "a"})
            assert cursor.description is None or cursor.fetchall() == []
            assert base.total_changes - changes == statement.startswith("insert") * 1 or "delete" in statement
            assert len(notes.rows) == number * draws
        base.text_factory = str
        base.rollback()


def test_the_times_of_a_folders_entries_are_seen_where_they_are_used(observed, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}").touch()

    def newest_first():
        return [each.name for each in sorted(os.scandir(tmp_path), key=lambda each: -each.stat().st_mtime_ns)]

    def by_size():
        return sorted(each.stat().st_size for each in os.scandir(tmp_path))

    notes = observed(system)
    by_size()
    assert notes.rows == []
    for touched in (0, 1), (0, 2):
        for number in touched:
            os.utime(tmp_path / f"{number}", ns=(5, 5 + number))
        newest_first()
    first, second = notes.of("system", "os.scandir")
    assert first.digest != second.digest
    assert first.call_site.startswith(HERE)


def test_a_file_is_seen_through_pathlib(observed, tmp_path):
    notes = observed(system)
    assert tmp_path.stat().st_ino
    assert [note.name for note in notes.rows] == ["os.stat"]


def test_a_library_that_asks_is_not_the_user(observed):
    notes = observed(system)
    code = compile("import os\nfound = os.getloadavg()\n", "/x/site-packages/y.py", "exec")
    exec(code, {})
    assert notes.rows == []


def test_answers_of_a_server_are_noted_also_by_way_of_json(observed, server):
    notes = observed(system)
    urllib.request.urlopen(server).read()
    json.load(urllib.request.urlopen(server))
    one, two = notes.of("system", "http.client.HTTPResponse.read")
    assert one.digest != two.digest
    assert one.call_site.startswith(HERE) and two.call_site.startswith(HERE)


@pytest.mark.parametrize("name", READS)
def test_a_replay_gives_what_it_gave(replayed, name):
    first, second, kept = replayed(READS[name])
    assert second == first and type(second) is type(first)
    assert kept.kept and not kept.parted


def test_a_replay_gives_an_answer_again(replayed, server):
    first, second, kept = replayed(lambda: urllib.request.urlopen(server).read())
    assert second == first == b'{"asked": 11}'
    assert not kept.parted


def test_an_answer_of_another_length_comes_as_it_is():
    (call,) = (call for call in CALLS if call.module == "http.client")
    assert call.restore(b"ten", b"eleven") == b"eleven"


def test_a_replay_keeps_the_size_of_a_file(replayed, tmp_path):
    path = tmp_path / "x"
    sizes = iter(("a", "bb"))

    def read():
        path.write_text(next(sizes))
        os.utime(path, (time.time(), time.time()))
        found = os.stat(path)
        return found.st_size, found.st_mtime, found.st_mtime_ns, found.st_ino

    first, second, _ = replayed(read)
    assert (first[0], second[0]) == (1, 2)
    assert first[1:] == second[1:]


@pytest.mark.parametrize("name", OTHERS)
def test_what_must_be_there_now_comes_as_it_is_and_is_reported(replayed, name):
    *_, kept = replayed(OTHERS[name])
    assert not kept.kept
    assert {shown for shown, _ in kept.parted} == {name}
    assert all(why for _, why in kept.parted)


def test_only_plain_values_are_kept():
    assert pack(object()) is UNKNOWN and pack([1, object()]) is UNKNOWN
    assert unpack(pack({3, 1}), {9}) == {1, 3}


# --- recognise -------------------------------------------------------------------------------------

# The expression that gives a number, and what is noted of it.
NUMBERS = {
    "os.sysconf('SC_AVPHYS_PAGES')": "os.sysconf",
    "os.cpu_count()": "os.cpu_count",
    "int(os.times().elapsed * 100)": "os.times",
    "resource.getrusage(0).ru_maxrss": "resource.getrusage",
    "shutil.disk_usage('/').free % 1000": "os.statvfs",
    "int(os.getloadavg()[0] * 100)": "os.getloadavg",
    "psutil.virtual_memory().available": "psutil.virtual_memory",
    "psutil.Process().memory_info().rss": "psutil.Process.memory_info",
    "one.getsockname()[1]": "socket.socket.getsockname",
    "hash(tempfile.mkdtemp())": "tempfile",
    "os.stat('x').st_mtime_ns": "os.stat",
    "os.stat('x').st_ino": "os.stat",
    "int(os.path.getmtime('x'))": "os.path.getmtime",
    "json.load(urllib.request.urlopen('http://x'))['n']": "http.client.HTTPResponse.read",
    "requests.get('http://x').json()['n']": "http.client.HTTPResponse.read",
    "base.execute('select random()').fetchone()[0]": "sqlite3.Connection.execute",
}
SEEDED = """
import json, os, random, requests, resource, shutil, socket, sqlite3, tempfile, threading, urllib.request
import psutil
import torch

number = {number}
















rate = 0.1
torch.manual_seed({seed})
loss = net(x * {scale})
"""
each_number = pytest.mark.parametrize("number", NUMBERS)


def reads(program, number):
    name, site = NUMBERS[number], program.at("number = ")
    if name.startswith("sqlite3"):
        return row("system", name, call_site=site)  # what it gives is not known
    return differing("system", name, site)


@each_number
def test_a_seed_that_is_made_of_a_read_far_above(tmp_path, number):
    program = Program(tmp_path, SEEDED.format(number=number, seed="number", scale="1"))
    seed = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    difference = program.difference(reads(program, number), seed)
    found = system.recognise(difference)
    assert (found.strength, found.call_site) == (1.0, program.at("number = "))
    first = explain(difference)[0][0]
    assert first.source == system.id


@each_number
def test_a_read_that_goes_into_what_differs(tmp_path, number):
    program = Program(tmp_path, SEEDED.format(number=number, seed="0", scale="number"))
    at = dict(what="operation", phase="forward", call_site=program.at("loss ="))
    found = system.recognise(program.difference(reads(program, number), **at))
    assert (found.strength, found.call_site) == (0.7, program.at("number = "))


@each_number
def test_a_read_that_has_no_effect_is_not_blamed(tmp_path, number):
    seeded = SEEDED.format(number=number, seed="random.getrandbits(9)", scale="1")
    program = Program(tmp_path, seeded)
    seed = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    draw = differing("draw", "python-random", program.at("manual_seed"))
    rng = dict(rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    assert system.recognise(program.difference(reads(program, number), seed, draw, **rng)) is None
    at = dict(what="operation", phase="forward", call_site=program.at("loss ="))
    assert system.recognise(program.difference(reads(program, number), **at)) is None


def test_a_read_before_data_that_nothing_explains_is_a_slight_hint(tmp_path):
    """The name of a folder, say, by which files were split: no assignment leads from there to the batch."""
    program = Program(tmp_path, SEEDED.format(number="os.cpu_count()", seed="0", scale="1"))
    read = differing("system", "os.cpu_count", program.at("number = "))
    found = system.recognise(program.difference(read, phase="data", what="batch"))
    assert (found.strength, found.call_site) == (0.3, program.at("number = "))
    rng = dict(rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    assert system.recognise(program.difference(read, phase="data", what="batch", **rng)) is None
    assert system.recognise(program.difference(phase="data", what="batch")) is None
    equal_state = dict(what="operation", origin=origin("aten::normal_", draws=True, generator_differs=False))
    made = system.recognise(program.difference(read, **rng, **equal_state))  # of another size, say
    assert made.call_site == program.at("number = ")
    enters = dict(what="operation", phase="optimizer", origin=origin("aten::addcdiv_", inputs_equal=False))
    assert system.recognise(program.difference(read, **enters)).strength == 0.3
    made_there = dict(enters, origin=origin("aten::addcdiv_"))
    assert system.recognise(program.difference(read, **made_there)) is None


def test_what_a_database_drew_comes_before_a_value_that_was_read_later(tmp_path):
    program = Program(tmp_path, "rows = db.execute(query)\nload = answer.read()\n")
    drew = row("system", "sqlite3.Connection.execute", call_site=program.at("execute"))
    read = differing("system", "http.client.HTTPResponse.read", program.at("read"))
    found = system.recognise(program.difference(drew, read, phase="data", what="batch"))
    assert (found.strength, found.call_site) == (0.4, program.at("execute"))
    assert "ORDER BY id" in found.advice


def test_a_clock_that_was_read_before_other_samples_is_tried_where_nothing_else_is(tmp_path):
    program = Program(tmp_path, "began = time.perf_counter()\nmeter.add(began)\n")
    read = row("clock", "time.perf_counter", call_site=program.at("perf_counter"))
    at = dict(phase="data", what="batch", indices_equal=False)
    found = Clock().recognise(program.difference(read, **at))
    assert (found.strength, found.call_site) == (0.1, program.at("perf_counter"))
    rng = dict(rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    assert Clock().recognise(program.difference(read, **at, **rng)) is None
    assert Clock().recognise(program.difference(read, phase="data", what="batch")) is None


def test_a_script_outside_of_the_working_directory(tmp_path):
    program = Program(tmp_path, SEEDED.format(number="os.cpu_count()", seed="number", scale="number"))
    site = str(tmp_path / program.at("number = "))
    read = differing("system", "os.cpu_count", site)
    seed = differing("seed", "torch.manual_seed", str(tmp_path / program.at("manual_seed")))
    assert system.recognise(program.difference(read, seed)).call_site == site
    at = dict(what="operation", phase="forward", call_site=program.at("loss ="))
    assert system.recognise(program.difference(read, **at)).call_site == site


def test_a_read_just_before_a_seed_where_the_code_cannot_be_read():
    def seeded(read, digest):
        rows = [row("system", "os.times", call_site="/x/train.py:3", digest=read)]
        return side(*rows, row("seed", "torch.manual_seed", call_site="/x/train.py:5", digest=digest))

    found = system.recognise(batch(a=seeded(ONE, ONE), b=seeded(TWO, TWO)))
    assert (found.strength, found.call_site) == (0.7, "/x/train.py:3")
    assert system.recognise(batch(a=seeded(ONE, ONE), b=seeded(ONE, TWO))) is None


def test_a_read_that_gave_the_same_in_both_runs_is_no_cause(tmp_path):
    program = Program(tmp_path, SEEDED.format(number="os.cpu_count()", seed="number", scale="number"))
    same = equal("system", "os.cpu_count", program.at("number = "))
    seed = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    at = dict(what="operation", phase="forward", call_site=program.at("loss ="))
    assert system.recognise(program.difference(same, seed)) is None
    assert system.recognise(program.difference(same, **at)) is None


def test_of_two_reads_the_one_that_differed_is_named(tmp_path):
    script = """
    import os, torch
    cores = os.cpu_count()
    free = os.statvfs("/").f_bavail
    torch.manual_seed(cores + free)
    """
    program = Program(tmp_path, script)
    rows = [
        equal("system", "os.cpu_count", program.at("cores =")),
        differing("system", "os.statvfs", program.at("free =")),
        differing("seed", "torch.manual_seed", program.at("manual_seed")),
    ]
    assert system.recognise(program.difference(*rows)).call_site == program.at("free =")


def test_a_host_name_that_was_the_same_is_no_cause(tmp_path):
    (tmp_path / "train.py").write_text("import socket\nrandom.seed(socket.gethostname())\n")

    def seeded(read, seed):
        name = row("identity", "socket.gethostname", call_site="train.py:2", digest=read)
        given = row("seed", "random.seed", call_site="train.py:2", digest=seed)
        return side(name, given, cwd=str(tmp_path))

    identity = ProcessId()
    assert identity.recognise(batch(a=seeded(ONE, ONE), b=seeded(ONE, TWO))) is None
    assert identity.recognise(batch(a=seeded(ONE, ONE), b=seeded(TWO, TWO))).strength == 1.0


@pytest.mark.parametrize(
    "number",
    ["os.sysconf('SC_AVPHYS_PAGES')", "psutil.virtual_memory().available % 1000", "one.getsockname()[1]"],
)
def test_the_patch_seeds_with_a_number(tmp_path, number):
    script = f"import os, psutil, torch\ntorch.manual_seed({number})\n"
    program = Program(tmp_path, script)
    rows = [
        differing(what, name, "train.py:2") for what, name in (("system", "x"), ("seed", "torch.manual_seed"))
    ]
    changed = program.mended("system-reads", *rows)
    assert changed == f"-torch.manual_seed({number})\n+torch.manual_seed(0)"


def test_a_use_that_is_no_seed_is_left_to_the_user(tmp_path):
    program = Program(tmp_path, "import os\nx = x * os.times().elapsed\n")
    said = program.refused("system-reads", differing("system", "os.times", "train.py:2"), site="train.py:2")
    assert "put a number, or an argument, in its place" in said


# --- clocks by way of other modules ----------------------------------------------------------------


@pytest.mark.parametrize("by_the_system", [True, False])
def test_uuid1_and_the_time_of_a_loop_are_clocks(observed, monkeypatch, by_the_system):
    """Without libuuid `uuid1` asks two other clocks, which is no read of the script's."""
    if not by_the_system:
        monkeypatch.setattr(uuid, "_generate_time_safe", None)
        monkeypatch.setattr(uuid, "_UuidCreate", None)

    async def now():
        await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    notes = observed(Clock())
    uuid.uuid1()
    uuid.getnode()
    asyncio.run(now())
    assert [note.name for note in notes.of("clock")] == ["uuid.uuid1", "uuid.getnode", "loop.time"]
    assert all(note.call_site.startswith(HERE) for note in notes.rows)


def test_uuid1_repeats_with_the_clock_controlled():
    made = []
    for _ in range(2):
        undo = Clock().control(Control())
        made.append((uuid.uuid1().time, uuid.uuid1().time))
        undo()
    assert made[0] == made[1] and made[0][0] != made[0][1]
    assert uuid.uuid1().time != made[0][0]


@pytest.mark.parametrize("seed", ["uuid.uuid1().int", "int(np.datetime64('now'))", "int(loop.time() * 100)"])
def test_a_seed_of_such_a_clock_becomes_a_constant(tmp_path, seed):
    script = f"import uuid, numpy as np, torch\ntorch.manual_seed({seed})\n"
    program = Program(tmp_path, script)
    given = differing("seed", "torch.manual_seed", "train.py:2")
    assert Clock().recognise(program.difference(given)).strength == 0.7
    assert program.mended("clock", given) == f"-torch.manual_seed({seed})\n+torch.manual_seed(0)"


# --- for real --------------------------------------------------------------------------------------

ONLY_PRINTED = """
import os, resource, shutil, socket, tempfile, threading
import psutil, torch

print(os.times(), os.getloadavg(), resource.getrusage(0), shutil.disk_usage("/"), threading.get_native_id())
print(psutil.virtual_memory(), psutil.Process().memory_info(), os.path.getmtime(__file__))
with socket.socket() as one, tempfile.TemporaryDirectory() as folder:
    one.bind(("127.0.0.1", 0))
    print(one.getsockname(), folder, os.stat(folder).st_ino)
model = torch.nn.Linear(4, 1)
for step in range(2):
    loss = model(torch.ones(2, 4)).square().mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
    print(step, loss.item(), psutil.virtual_memory().percent)
"""


def test_what_is_only_printed_beside_another_cause_is_not_named(trainer, output):
    path = trainer.script(ONLY_PRINTED)
    a, b = (trainer.record(str(path), tier="ops") for _ in range(2))
    comparison = compare(a, b)
    assert comparison.verdict == "differs", output(a)
    rows = comparison.difference.a.rows("system")
    assert {Path(found.call_site.rpartition(":")[0]).name for found in rows} == {path.name}
    assert len({found.name for found in rows}) >= 9
    causes = [item.source for item in explain(comparison.difference)[0]]
    assert causes[0] == "torch-cpu" and system.id not in causes


SEEDED_BY_THE_SYSTEM = """
import os, threading
import psutil, torch

used = psutil.Process().memory_info().rss
torch.manual_seed(used + threading.get_native_id() + int(os.times().elapsed * 100))
model = torch.nn.Linear(4, 1)
loss = model(torch.ones(2, 4)).square().mean()
loss.backward()
for p in model.parameters():
    p.data = p.data - 0.1 * p.grad
"""


@pytest.mark.slow
def test_a_replay_of_these_reads_alone_is_the_recorded_run_again(trainer):
    path = str(trainer.script(SEEDED_BY_THE_SYSTEM))
    a, b = trainer.record(path), trainer.record(path)
    again = trainer.record(path, replay=Replay(str(a.path), only=(system.id,)))
    assert [compare(a, other).verdict for other in (b, again)] == ["differs", "same"]


def test_it_has_no_control_and_can_be_replayed():
    found = find_sources()[system.id]
    assert not found.controllable and found.can_replay()


def test_what_samerun_asks_to_describe_the_machine_is_no_read_of_the_script(trainer):
    trainer.script(
        "import torch\n"
        "from torch.utils.data import DataLoader\n"
        "import samerun\n"
        "samerun.seed_everything(3)\n"
        "model = torch.nn.Linear(4, 1)\n"
        "for x in DataLoader(torch.ones(8, 4), 4, num_workers=1):\n"
        "    model(x).sum().backward()\n"
        "    for p in model.parameters(): p.data, p.grad = p.data - 0.1 * p.grad, None\n"
        "open('/proc/self/stat').close()\n"
    )
    run = trainer.record("train.py")
    assert run.steps == 2
    assert [row.name for row in trainer.rows(run, "system")] == ["/proc/PID/stat"]
    assert "system-reads" not in {answer.source for answer in read_all_answers(run.path)}


@pytest.mark.parametrize(
    ("listed", "read", "found"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_files_that_are_gone_through_by_their_random_names(listed, read, found):
    """The name of their folder is another one as well, and decides nothing."""
    made = [differing("system", "tempfile", site) for site in ("train.py:2", "train.py:5")]
    path = "/tmp/tmp1/part-1.npy"
    made += [differing("written", "open", "train.py:5", detail=path)]
    made += [differing("listing", "folder", "train.py:7", detail="/tmp/tmp1")] if listed else []
    made += [differing("opened", "open", "train.py:8", detail=path)] if read else []
    a, b = (side(*(pair[number] for pair in made)) for number in (0, 1))
    evidence = system.recognise(batch(a=a, b=b))
    assert evidence is not None and evidence.call_site == "train.py:5"
    # else it is no more than the last thing that was read before
    assert evidence.strength == (Strength.STRONG if found else Strength.SLIGHT)
    assert ("by a number" in (evidence.advice or "")) is found
    drawn = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    assert system.recognise(batch(a=a, b=b, **drawn)) is None
