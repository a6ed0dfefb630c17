"""The first difference of two traces of 1,000,000 operations each: at most 2 s and 1 GB.

    python benchmarks/bench_diff.py [RECORDS]

Two runs are written as the recorder would write them. In the first case one record near the end has another
digest; in the second one more operation stands in the middle. Each comparison runs in a process of its own,
timed from `import samerun` on.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from samerun.runs.manifest import Manifest
from samerun.runs.record import Record
from samerun.runs.trace import TraceWriter

SECONDS, BYTES = 2.0, 10**9  # what must hold
REPEATS = 3  # of each comparison; the fastest counts, since other work on the machine only adds
LAYERS, IN_LAYER, OPTIMIZER = 6, 60, 180  # operations of a step, as those of a small transformer

COMPARE = """
import json, resource, sys, time
start = time.perf_counter()
from pathlib import Path
from samerun.comparing.compare_runs import compare
from samerun.runs.store import Run
result = compare(Run(Path(sys.argv[1])), Run(Path(sys.argv[2])))
seconds = time.perf_counter() - start
scale = 1 if sys.platform == "darwin" else 1024
first = result.difference
print(json.dumps({
    "seconds": seconds,
    "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale,
    "found": None if first is None else [first.step, first.kind, first.what, first.name],
    "operations": result.scope.counts.get("operation", 0),
}))
"""


def signatures() -> list[tuple[str, str, str | None, str]]:
    """(phase, name, module, call site) of the operations of one step."""
    order = random.Random(0)
    layer = [
        (f"aten::op{order.randrange(40)}.default", f"model.py:{order.randrange(10, 90)}")
        for _ in range(IN_LAYER)
    ]
    step: list[tuple[str, str, str | None, str]] = []
    for number in range(LAYERS):
        step += [("forward", name, f"GPT.blocks.{number}.{len(name) % 5}", site) for name, site in layer]
    for number in reversed(range(LAYERS)):
        step += [("backward", f"{name}_backward", f"GPT.blocks.{number}", "train.py:99") for name, _ in layer]
    return step + [("optimizer", f"aten::_foreach{n % 12}_", None, "train.py:100") for n in range(OPTIMIZER)]


def write(folder: Path, records: int, changed: int | None = None, inserted: int | None = None) -> int:
    """Write one run; returns how many bytes its trace has."""
    folder.mkdir()
    plan = {"tier": "ops", "window": None, "stop_after": None}
    run = Manifest(folder.name, ("python", "train.py"), "", "", tier="ops", outcome="finished", plan=plan)
    run.write(folder)
    path = folder / "rank0.trace.arrow"
    writer = TraceWriter(path, {"rank": 0, "digests": {"cpu": "bench"}})
    step_of = signatures()
    bits = random.Random(1)
    written = step = 0
    while written < records:
        digests = bits.randbytes(24 * len(step_of))
        for n, (phase, name, module, site) in enumerate(step_of[: records - written]):
            at = 24 * n
            digest, inputs = digests[at : at + 16], int.from_bytes(digests[at + 16 : at + 24], "little")
            if written + n == inserted:
                writer.append(
                    Record(step, phase, "operation", "aten::add.Tensor", module, site, digest, inputs)
                )
            if written + n == changed:
                digest = bytes(16)
            writer.append(Record(step, phase, "operation", name, module, site, digest, inputs))
        writer.append(Record(step, "optimizer", "parameters", "AdamW", digest=digests[:16]))
        writer.flush()
        written += len(step_of)
        step += 1
    writer.append(Record(step - 1, "end", "end", "finished", digest=bytes(16)))
    writer.close()
    return path.stat().st_size


def measure(a: Path, b: Path) -> dict[str, Any]:
    """Compare two runs in a process of its own."""
    done = subprocess.run([sys.executable, "-c", COMPARE, a, b], capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> int:
    """Print the table; 1 when a limit is passed or the difference is not the one that was made."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    per_step = len(signatures())
    late, middle = records - 100, records // 2
    cases = {
        "equal": ({}, None),
        "one record differs": ({"changed": late}, [late // per_step, "value"]),
        "one operation more": ({"inserted": middle}, [middle // per_step, "flow"]),
    }
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        a = Path(temporary) / "a"
        size = write(a, records)
        kilobytes = size / records * per_step / 1000
        print(f"{records:,} operations in each trace, {per_step} a step in {kilobytes:.1f} KB")
        print(f"{'case':<20} {'seconds':>8} {'MB':>6}  first difference")
        for number, (case, (change, expected)) in enumerate(cases.items()):
            b = Path(temporary) / f"b{number}"
            write(b, records, **change)
            result = min((measure(a, b) for _ in range(REPEATS)), key=lambda result: result["seconds"])
            found = result["found"]
            right = (found and found[:2]) == expected
            within = result["seconds"] <= SECONDS and result["bytes"] <= BYTES
            failed |= not (right and within)
            mark = "" if right and within else "  <- WRONG" if not right else "  <- OVER"
            said = "none" if found is None else f"step {found[0]}, {found[1]}: {found[2]} {found[3]}"
            print(f"{case:<20} {result['seconds']:>8.2f} {result['bytes'] / 1e6:>6.0f}  {said}{mark}")
    print(f"limits: {SECONDS:.0f} s, {BYTES / 1e6:.0f} MB")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
