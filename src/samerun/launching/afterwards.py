"""What is done when samerun was killed: its commands end, its copies are removed, its manifests closed.

Run by `watcher`, as a script in a process of its own that reads words from its standard input. At their end
samerun is gone. Mostly everything was seen to by then, and this ends too, having imported next to nothing.
"""

import os
import signal


def _follow() -> bytes:
    """All that samerun said, up to its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    said = b""
    while more := os.read(0, 1 << 16):
        said += more
        if len(said) > 1 << 20:
            said = _select_open(said)
    return said


def _select_open(said: bytes) -> bytes:
    """Only what is not over yet: of words that were said and taken back, neither."""
    lines = said.split(b"\n")
    last = lines.pop()  # not whole yet
    over = {line[4:] for line in lines if line.startswith(b"end ")}
    kept = [
        line for line in lines if line and not line.startswith(b"end ") and line.split(b" ", 2)[1] not in over
    ]
    return b"\n".join([*kept, last])


def main() -> None:
    """Wait, and then see to what is still open."""
    said = _follow()
    lines = [line.split(b" ", 2) for line in _select_open(said + b"\n").split(b"\n") if line]
    if all(line[0] == b"path" for line in lines):
        return
    import json
    import sys

    told = [(kind.decode(), json.loads(value)) for kind, _, value in lines]
    sys.path[:] = [entry for kind, value in told if kind == "path" for entry in value]
    from samerun.launching.aftermath import clear

    clear(told)


if __name__ == "__main__":
    main()
