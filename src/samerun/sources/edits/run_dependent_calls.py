"""Expressions whose value is another one in each run, by what they call."""

from __future__ import annotations

import ast

from samerun.editing.source_file import File
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
        "threading.get_ident",
        "threading.get_native_id",
        "multiprocessing.current_process",
        "uuid.getnode",
    ]
)
ENTROPY = frozenset(
    [
        "os.urandom",
        "os.getrandom",
        "uuid.uuid1",
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
_SYSTEM = ("getrandbits", "randint", "randrange", "random")  # methods of SystemRandom that give a number
# of now, when called with fewer arguments than these
_OF_THEN = {"time.localtime": 1, "time.gmtime": 1, "time.ctime": 1, "time.asctime": 1, "time.strftime": 2}


def reads_clock(file: File, node: ast.expr) -> bool:
    """Reads a clock."""
    name = file.called(node)
    given = len(node.args) if isinstance(node, ast.Call) else 0
    return name in CLOCK and not (name in _OF_THEN and given >= _OF_THEN[name])


def reads_identity(file: File, node: ast.expr) -> bool:
    """Reads a process id, a host's or a user's name."""
    return file.called(node) in IDENTITY


def reads_entropy(file: File, node: ast.expr) -> bool:
    """Reads the operating system's entropy."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of = node.func.value
        if file.called(of) == "random.SystemRandom":
            return node.func.attr in _SYSTEM
    return file.called(node) in ENTROPY


def address(file: File, node: ast.expr) -> bool:
    """Takes the address of an object."""
    return takes_address(node, file.called(node))


def takes_hash(file: File, node: ast.expr) -> bool:
    """Takes a hash."""
    return file.called(node) == "hash"


def is_run_dependent(file: File, node: ast.expr) -> bool:
    """One of these."""
    return any(kind(file, node) for kind in (reads_clock, reads_identity, reads_entropy, address, takes_hash))
