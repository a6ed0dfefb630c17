"""Expressions whose value is another one in each run, by what they call."""

from __future__ import annotations

import ast
import re

from samerun.editing.source_file import File
from samerun.runs.schema import ENTROPY_FILES
from samerun.sources.evidence.addresses import takes_address

CLOCK = frozenset(
    [
        "time.time",
        "time.time_ns",
        "time.monotonic",
        "time.monotonic_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.process_time",
        "time.process_time_ns",
        "time.thread_time",
        "time.thread_time_ns",
        "time.clock_gettime",
        "time.clock_gettime_ns",
        "time.localtime",
        "time.gmtime",
        "time.ctime",
        "time.asctime",
        "time.strftime",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "datetime.date.today",
        "uuid.uuid1",
        "uuid.getnode",
    ]
)
IDENTITY = frozenset(
    [
        "os.getpid",
        "os.getppid",
        "socket.gethostname",
        "platform.node",
        "getpass.getuser",
        "os.getlogin",
        "os.uname",
        "multiprocessing.current_process",
    ]
)
SYSTEM = frozenset(
    [
        "os.sysconf",
        "os.cpu_count",
        "os.process_cpu_count",
        "os.sched_getaffinity",
        "os.times",
        "os.statvfs",
        "os.fstatvfs",
        "os.getloadavg",
        "os.path.getmtime",
        "os.path.getatime",
        "os.path.getctime",
        "multiprocessing.cpu_count",
        "threading.get_ident",
        "threading.get_native_id",
        "resource.getrusage",
        "shutil.disk_usage",
        "tempfile.mkdtemp",
        "tempfile.mkstemp",
        "tempfile.mktemp",
        "tempfile.NamedTemporaryFile",
        "tempfile.TemporaryDirectory",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "urllib.request.urlopen",
        "subprocess.check_output",
        "subprocess.run",
        "subprocess.getoutput",
    ]
)
ENTROPY = frozenset(
    [
        "os.urandom",
        "os.getrandom",
        "uuid.uuid4",
        "secrets.randbits",
        "secrets.randbelow",
        "secrets.choice",
        "secrets.token_bytes",
        "secrets.token_hex",
        "secrets.token_urlsafe",
        "torch.seed",
        "torch.random.seed",
    ]
)
_MARKS = ("st_mtime", "st_atime", "st_ctime", "st_ino")  # of os.stat
_METHODS = ("getsockname", "memory_info", "memory_full_info", "memory_percent")  # of sockets and processes
_CHANCE = re.compile(r"\brandom(blob)?\s*\(", re.IGNORECASE)  # of SQLite
_SYSTEM = ("getrandbits", "randint", "randrange", "random")  # methods of SystemRandom that give a number
# of now, when called with fewer arguments than these
_OF_THEN = {"time.localtime": 1, "time.gmtime": 1, "time.ctime": 1, "time.asctime": 1, "time.strftime": 2}


_NOW = ("now", "today")  # of numpy.datetime64


def reads_clock(file: File, node: ast.expr) -> bool:
    """Reads a clock."""
    name = file.called(node)
    if not isinstance(node, ast.Call):
        return False
    given = len(node.args)
    if name == "numpy.datetime64":
        return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value in _NOW
    if isinstance(node.func, ast.Attribute) and node.func.attr == "time" and name not in CLOCK:
        return "loop" in ast.unparse(node.func.value)  # of asyncio
    return name in CLOCK and not (name in _OF_THEN and given >= _OF_THEN[name])


def reads_identity(file: File, node: ast.expr) -> bool:
    """Reads a process id, a host's or a user's name."""
    return file.called(node) in IDENTITY


def reads_system(file: File, node: ast.expr) -> bool:
    """Reads what the system has now."""
    if isinstance(node, ast.Attribute):
        return node.attr.startswith(_MARKS)
    if not isinstance(node, ast.Call):
        return False
    name = file.called(node)
    if name in SYSTEM or name.startswith(("psutil.", "requests.")):
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr == "execute":
        return any(isinstance(item, ast.Constant) and _CHANCE.search(str(item.value)) for item in node.args)
    return isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS


def reads_entropy(file: File, node: ast.expr) -> bool:
    """Reads the operating system's entropy."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of = node.func.value
        if file.called(of) == "random.SystemRandom":
            return node.func.attr in _SYSTEM
    if isinstance(node, ast.Call) and any(
        isinstance(item, ast.Constant) and item.value in ENTROPY_FILES for item in node.args[:1]
    ):
        return True
    return file.called(node) in ENTROPY


def address(file: File, node: ast.expr) -> bool:
    """Takes the address of an object."""
    return takes_address(node, file.called(node))


def takes_hash(file: File, node: ast.expr) -> bool:
    """Takes a hash."""
    return file.called(node) == "hash"


def is_run_dependent(file: File, node: ast.expr) -> bool:
    """One of these."""
    kinds = (reads_clock, reads_identity, reads_entropy, reads_system, address, takes_hash)
    return any(kind(file, node) for kind in kinds)
