"""What every test shares: a folder to train in, and the recorder around a real command."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from trainer import Trainer

from samerun.runs.store import Run
from samerun.sources.cpu_isa import PINNED

# Several trainings run side by side: idle threads must sleep, not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell that starts the tests in the background has them ignore Ctrl-C, and whatever they start too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # started with nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `everyday(n)`, n of its forms run every day, spread evenly: the others are slow."""
    forms: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("everyday")
        if mark is not None and item.get_closest_marker("slow") is None:
            forms[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    for (_, count), found in forms.items():
        kept = {number * len(found) // count for number in range(count)}
        for number, item in enumerate(found):
            if number not in kept:
                item.add_marker("slow")


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(tmp_path)


@pytest.fixture
def output() -> Callable[[Run], str]:
    return lambda run: (run.path / "output.txt").read_text()


@pytest.fixture
def nothing_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variables that mode portable sets: a machine may come with others."""
    for name in (*PINNED, "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
