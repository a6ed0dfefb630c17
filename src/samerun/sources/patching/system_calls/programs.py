"""What other programs print for the one that runs them.

`!command` in a cell of a notebook is not among it: IPython looks for the variables of that command a fixed
number of frames up, so that none of ours may come between. https://docs.python.org/3/library/subprocess.html
"""

from __future__ import annotations

import re
import subprocess
from typing import Any

NAMED = "the output of a program"
_LONGEST = 1 << 16  # characters or bytes; what is longer is data, as the frames that a decoder writes
# What a program of such a name prints may be a key or a token: it is neither compared nor kept.
_SECRET = re.compile(
    r"(?i)token|secret|passw|passphrase|credential|\bpass\b|\bkeys?\b|genrsa|genpkey|gpg|\baskpass"
)


def _take_returned(first: Any, value: Any) -> Any:
    """What `check_output` and its like return; None where there is nothing that counts."""
    command = getattr(first, "args", first)  # of Popen.communicate, the object
    return None if not value or len(value) > _LONGEST or _SECRET.search(str(command)) else value


def _take_stdout(first: Any, value: Any) -> Any:
    return _take_returned(first, value.stdout)


def _take_first(first: Any, value: Any) -> Any:
    return _take_returned(first, value[0])


def _put_returned(kept: Any, real: Any) -> Any:
    return kept if isinstance(kept, type(real)) else real


def _put_stdout(kept: Any, real: Any) -> Any:
    given = _put_returned(kept, real.stdout)
    return subprocess.CompletedProcess(real.args, real.returncode, given, real.stderr)


def _put_first(kept: Any, real: Any) -> Any:
    return _put_returned(kept, real[0]), real[1]


CALLS = (  # the module, what it has, what of the answer counts, and how that is put in its place
    ("subprocess", "check_output", _take_returned, _put_returned),
    ("subprocess", "getoutput", _take_returned, _put_returned),
    ("subprocess", "run", _take_stdout, _put_stdout),
    ("subprocess", "Popen.communicate", _take_first, _put_first),
)
