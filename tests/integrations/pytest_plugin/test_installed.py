"""The plugin as it is installed from a wheel, where pytest rewrites the asserts of all that is beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import samerun

SOURCE = Path(samerun.__file__).parent


def test_samerun_may_be_imported_before_pytest_without_a_warning(tmp_path: Path) -> None:
    installed = tmp_path / "site"
    about = installed / "samerun-0.1.0.dist-info"
    about.mkdir(parents=True)
    (installed / "samerun").symlink_to(SOURCE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: samerun\nVersion: 0.1.0\n")
    (about / "RECORD").write_text("samerun/__init__.py,,\nsamerun/controls.py,,\n")
    (about / "entry_points.txt").write_text("[pytest11]\nsamerun = samerun.integrations.pytest_plugin\n")
    (tmp_path / "test_it.py").write_text("def test_it(samerun_same): ...\n")
    others = [word for name in ("hypothesispytest", "benchmark") for word in ("-p", f"no:{name}")]  # warn too
    text = "import samerun, pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", text, *others, "-W", "error"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "warning" not in done.stdout, done.stdout + done.stderr
