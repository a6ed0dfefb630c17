"""`samerun`: finds the verb, runs it, and turns every error into one line and an exit code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from samerun.cli import exit_codes
from samerun.cli.arguments import find_verbs, parse
from samerun.cli.stderr import let_go, say
from samerun.errors import RunNotFound, SamerunError, UsageError


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's own) and return its exit code."""
    code = _run_main(words)
    let_go()
    return code


def _run_main(words: Sequence[str] | None) -> int:
    try:
        verb, options = parse(sys.argv[1:] if words is None else words, find_verbs())
        code = verb.run(options)
        if not verb.exits_as_its_command:
            with contextlib.suppress(BrokenPipeError):  # whoever reads has gone; the verdict is what it is
                sys.stdout.flush()
        return code
    except (UsageError, RunNotFound) as error:
        return _refuse(str(error), exit_codes.USAGE)
    except SamerunError as error:
        return _refuse(str(error), exit_codes.UNKNOWN)
    except KeyboardInterrupt:
        return _refuse("interrupted", exit_codes.INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone (`samerun runs | head`): what it asked for was printed.
        return exit_codes.SAME
    except Exception as error:
        return _refuse(_report_crash(error), exit_codes.UNKNOWN)


def _refuse(message: str, code: int) -> int:
    say(message)
    return code


def _report_crash(error: Exception) -> str:
    """Save the traceback where the user can send it from, and say so in one line."""
    import time
    import traceback

    from samerun.runs.store import ROOT

    text = "".join(traceback.format_exception(error))
    summary = f"a fault of samerun's own ({type(error).__name__}: {' '.join(str(error).split())})"
    path = ROOT / time.strftime("crash-%Y%m%dT%H%M%SZ.txt", time.gmtime())
    try:
        _write(path, text)
    except OSError as reason:
        return f"{summary}; its traceback could not be saved in {path} ({reason.strerror}); please report it"
    return f"{summary}; please report it with {path}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
