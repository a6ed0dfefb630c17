"""Under the control of the clock, time goes on as a program could have seen it, and alike in each run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from trainer import Trainer

from samerun.runs.plan import Control

SCRIPT = """
    import multiprocessing as mp, subprocess, sys, threading, time
    from time import sleep

    def read(queue):
        queue.put(time.time_ns())

    if __name__ == "__main__":
        began = time.time_ns()
        sleep(0.5)
        slept = time.time_ns()
        children, around = [], []
        for method in ("fork", "fork", "spawn"):
            context = mp.get_context(method)
            queue = context.Queue()
            child = context.Process(target=read, args=(queue,))
            before = time.time_ns()
            child.start()
            children.append(queue.get())
            child.join()
            around.append((before, time.time_ns()))
        program = "import os, time; print(time.time_ns(), 'SAMERUN_CLOCK' in os.environ)"
        shown = subprocess.check_output([sys.executable, "-c", program], text=True).split()
        shell = subprocess.check_output(
            ["bash", "-c", f'{sys.executable} -c "{program}"; {sys.executable} -c "{program}"'], text=True
        ).split()
        turns, until = 0, time.monotonic() + 1.5
        while time.monotonic() < until:
            turns += 1
            sleep(0.1)
        thread = threading.Thread(target=lambda: [sleep(0.01) for _ in range(20)])
        thread.start()
        thread.join()
        micro = [time.time_ns() // 1000 % 1_000_000 for _ in range(150)]
        queue, first = mp.get_context("fork").Queue(), []
        for _ in range(8):
            child = mp.get_context("fork").Process(target=read, args=(queue,))
            child.start()
            first.append(queue.get() // 1000 % 1_000_000)
            child.join()
        print([began, slept, children, around, shown, shell, turns, micro, first])
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """By two runs."""
    trainer = Trainer(tmp_path_factory.mktemp("work"))
    trainer.script(SCRIPT)
    runs = [trainer.record("train.py", control=Control(extra=("clock",))) for _ in range(2)]
    assert [run.manifest.outcome for run in runs] == ["finished"] * 2
    return [(Path(run.path) / "output.txt").read_text() for run in runs]


def test_it_reads_the_same_in_each_run(printed: list[str]) -> None:
    assert printed[0] == printed[1]


def test_it_goes_on_while_the_program_sleeps_and_in_each_process(printed: list[str]) -> None:
    began, slept, children, around, shown, shell, turns, micro, first = ast.literal_eval(printed[0])
    assert 0.5e9 < slept - began < 0.6e9
    assert len({*children, int(shown[0]), int(shell[0]), int(shell[2])}) == 6
    assert all(before < child < after for child, (before, after) in zip(children, around, strict=True))
    assert around[-1][1] < int(shown[0]) < int(shell[0]) < int(shell[2])
    assert {shown[1], shell[1], shell[3]} == {"False"}  # a program finds nothing of it
    assert 10 <= turns <= 15  # of 1.5 s, 0.1 s each
    assert (len(set(micro)), len(set(first))) == (150, 8)  # a seed made of them is another one each time
