"""Puts the real output of samerun on a minimal example into the page of each source.

    python docs/explanations/examples.py [ID…]

The examples are tests/sources/scripts/<id>.py. A page has one where its source can be made to differ from
run to run on a CPU.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = Path(__file__).parent
SCRIPTS = PAGES.parents[1] / "tests" / "sources" / "scripts"
RACING = frozenset({"nondeterministic-kernels", "thread-scheduling", "worker-arrival"})
HEADING = "## On a minimal example\n"


def examples() -> list[str]:
    """The sources whose pages have an example by now."""
    return sorted(page.stem for page in PAGES.glob("*.md") if HEADING in page.read_text())


def output(source: str) -> str:
    """What `samerun diagnose` says of the example, as a user in its folder reads it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(code(source) + "\n")
        done = subprocess.run(
            [sys.executable, "-m", "samerun.cli", "diagnose", "--", sys.executable, "train.py"],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "OMP_NUM_THREADS": "2"},
            capture_output=True,
            text=True,
            timeout=900,
        )
    if done.returncode != 1:
        raise SystemExit(f"{source}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    text = done.stdout.replace(sys.executable, "python")
    return "\n".join(line.rstrip() for line in text.splitlines())


def code(source: str) -> str:
    """The example without its title."""
    return (SCRIPTS / f"{source}.py").read_text().split('"""', 2)[2].strip()


def section(source: str, said: str) -> str:
    """The part of the page that is made here."""
    return (
        f"{HEADING}\n```python\n{code(source)}\n```\n\n"
        f"```\n$ samerun diagnose -- python train.py\n{said}\n```\n"
    )


def shown(source: str) -> str | None:
    """The output that the page shows now, None when it has none."""
    _, found, made = (PAGES / f"{source}.md").read_text().partition(HEADING)
    return made.rsplit("```", 2)[1].partition("train.py\n")[2].rstrip("\n") if found else None


def masked(text: str) -> str:
    """The text without what is new each time: losses, distances, ids, counts, and how lines wrap."""
    text = re.sub(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{6}", "RUN", text)
    text = re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?\s+ulps?|-?\d+\.\d+(e[-+]?\d+)?|\b[\d.]+ after step", "N", text)
    text = re.sub(r"(?m)^[→ ]+\d+ +N.*$|^ +… *$", "", text)  # the losses
    text = re.sub(r"\d+ results? in \d+ runs?(,\s+never\s+that\s+of\s+the\s+training)?", "N results", text)
    return " ".join(text.split())


def lasting(source: str, text: str) -> str:
    """What of the output is the same each time: not the place where racing threads make runs part."""
    if source not in RACING:
        return masked(text)
    verdict = text.partition("\n")[0]
    fix = next(line for line in text.splitlines() if line.startswith("  fix "))
    patch = text.partition("\nPatch")[2].partition("\n")[2].partition("\nNext\n")[0]
    return masked("\n".join([verdict, fix, patch]))


def main() -> None:
    """Make the pages' examples anew."""
    for source in sys.argv[1:] or examples():
        page = PAGES / f"{source}.md"
        before = page.read_text().partition(HEADING)[0].rstrip("\n")
        page.write_text(f"{before}\n\n{section(source, output(source))}")
        print(page.name)


if __name__ == "__main__":
    main()
