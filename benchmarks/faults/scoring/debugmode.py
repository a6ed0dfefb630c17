"""Runs a script under torch's DebugMode and writes its log, for the baseline: debugmode.py SCRIPT OUT.

The most that the mode offers is asked of it: both hashes, and the stack of each operation.
"""

import json
import re
import runpy
import sys
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._debug_mode import DebugMode

FRAME = re.compile(r'File "(.+?)", line (\d+)')


def plain(value):
    """A hash as plain values."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return [plain(each) for each in value.values()]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def line(call, folder):
    """The innermost line of the script's own files in a call's stack."""
    frames = FRAME.findall(getattr(call, "fwd_stack_trace", None) or getattr(call, "stack_trace", None) or "")
    own = [(Path(path).name, int(number)) for path, number in frames if Path(path).resolve().parent == folder]
    return own[-1] if own else None


def main():
    """Run; write [operation, depth, hash, line] of each call, and how many calls there were at each step."""
    script, out = sys.argv[1], Path(sys.argv[2])
    sys.argv = [script]
    sys.path[0] = str(Path(script).parent.resolve())
    steps = []
    with DebugMode(record_stack_trace=True) as mode, DebugMode.log_tensor_hashes(["norm", "hash_tensor"]):
        register_optimizer_step_post_hook(lambda *_: steps.append(len(mode.logs)))
        try:
            runpy.run_path(script, run_name="__main__")
        finally:
            folder = Path(script).parent.resolve()
            calls = [
                [
                    str(getattr(call, "op", call)),
                    call.call_depth,
                    plain((call.log or {}).get("hash")),
                    line(call, folder),
                ]
                for call in list(mode.logs)
            ]
    out.write_text(json.dumps({"calls": calls, "steps": steps}))


if __name__ == "__main__":
    main()
