"""What reads a run's folder, code that it names, or a checkpoint opens files by `untrusted` alone."""

from __future__ import annotations

import ast
from pathlib import Path

import samerun

ROOT = Path(samerun.__file__).parent
READERS = (
    "runs",
    "comparing",
    "explaining",
    "health",
    "report",
    "experiments",
    "editing",
    "sources/evidence",
    "tensor_files",
)
READS = {
    "open",
    "read_text",
    "read_bytes",
    "fdopen",
    "OSFile",
    "memory_map",
    "open_file",
    "getline",
    "loads",
    "load",
}
# file: what it opens itself, and why it may
MAY = {
    "runs/untrusted.py": {"open", "fdopen", "open_file", "read_bytes"},
    "runs/plan.py": {"loads"},  # from the variable that the launcher set
    "runs/toml.py": {"loads"},  # as untrusted.parse_json does for JSON
    "runs/trace.py": {"open"},  # writes
    "runs/answers.py": {"open"},  # writes
    "runs/recorder_errors.py": {"open"},  # writes
    "experiments/study/results_cache.py": {"open", "loads"},  # writes; JSON of its own
    "experiments/study/tasks.py": {"loads"},  # from the process that sent it
    "report/console.py": {"open"},  # /dev/null
    "report/github.py": {"open"},  # adds to the summary of a CI job
    "experiments/diagnose/from_recorded.py": {"load"},  # by storage.py
    "experiments/cost/timed_run.py": {"loads"},  # the same
    "experiments/cost/interleave.py": {"open"},  # pipes of its own
    "tensor_files/zips.py": {"open"},  # an entry of a zip file that is open
    "experiments/verify/bisect.py": {
        "read_text",
        "loads",
    },  # what its own steps wrote, in a folder of its own
    "experiments/verify/bisect_step.py": {"open", "read_text", "loads"},  # the same
    "report/html/page.py": {"read_text"},  # its own templates
}


def _calls(tree: ast.AST) -> set[str]:
    """The names of READS that are called as a function or a method, but for those of `untrusted`."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Attribute):
            if isinstance(called.value, ast.Name) and called.value.id == "untrusted":
                continue
            found.add(called.attr)
        elif isinstance(called, ast.Name):
            found.add(called.id)
    return found & READS


def _imports(tree: ast.AST) -> set[str]:
    """What a file imports from `runs/untrusted.py`, by which it is called there."""
    return {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "samerun.runs.untrusted"
        for name in node.names
    }


def test_no_other_file_opens_files() -> None:
    found = {}
    for folder in READERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            own = _calls(tree) - _imports(tree)
            if own:
                found[path.relative_to(ROOT).as_posix()] = own
    assert found == MAY


def test_a_reader_of_its_own_would_be_found() -> None:
    for text in ("open(path)", "path.read_text()", "json.loads(text)", "pa.OSFile(path)", "os.open(path, 0)"):
        assert _calls(ast.parse(text))
    assert not _calls(ast.parse("untrusted.read_text(path, 5)"))
