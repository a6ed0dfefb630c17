"""What other programs print: noted at the line that ran them, given again, and no secret of it kept."""

from __future__ import annotations

import subprocess
import sys

import pytest

from samerun.sources.system_reads import SystemReads

from ...kept import Kept
from ...mending import Program, differing

HERE = "tests/sources/patching/system_calls/test_programs.py:"
NOW = [sys.executable, "-S", "-c", "import time; print(time.time_ns())"]
SHELL = f"{sys.executable} -S -c 'import time; print(time.time_ns())'"
RUN = {
    "check_output": lambda: subprocess.check_output(NOW),
    "check_output, text": lambda: subprocess.check_output(NOW, text=True),
    "getoutput": lambda: subprocess.getoutput(SHELL),
    "run": lambda: subprocess.run(NOW, capture_output=True, check=True).stdout,
    "communicate": lambda: subprocess.Popen(NOW, stdout=subprocess.PIPE).communicate()[0],
}
SECRET = [sys.executable, "-S", "-c", "print(1)", "--print-access-token"]
source = SystemReads()


@pytest.mark.parametrize("name", RUN)
def test_output_is_noted_at_its_line_and_given_again(name, observed) -> None:
    kept = Kept()
    undo = source.replay(kept)
    first = RUN[name]()
    undo()
    undo = source.replay(kept.again())
    second = RUN[name]()
    undo()
    assert second == first and type(second) is type(first) and kept.kept
    notes = observed(source)
    RUN[name](), RUN[name]()
    one, two = notes.of("system", "the output of a program")  # each once, though one calls another
    assert one.digest != two.digest and one.call_site.startswith(HERE)


@pytest.mark.parametrize(
    "run",
    [
        lambda: subprocess.check_output(SECRET),
        lambda: subprocess.Popen(SECRET, stdout=subprocess.PIPE).communicate(),
        lambda: subprocess.run([sys.executable, "-S", "-c", "print(1)"], stdout=subprocess.DEVNULL),
        lambda: subprocess.check_output([sys.executable, "-S", "-c", "print('x' * 70_000)"]),
    ],
)
def test_what_may_be_secret_what_nobody_reads_and_long_data_is_not_kept(run, observed) -> None:
    kept = Kept()
    undo = source.replay(kept)
    run()
    undo()
    assert not kept.kept
    notes = observed(source)
    run()
    assert not notes.rows


def test_a_seed_that_a_program_gave_is_at_the_line_that_ran_it(tmp_path) -> None:
    script = """
        import subprocess
        import torch
        def fresh():
            out = subprocess.check_output(["od", "-An", "-N4", "-tu4", "/dev/urandom"])
            return int(out)
        torch.manual_seed(fresh())
    """
    program = Program(tmp_path, script)
    read = differing("system", "the output of a program", program.at("check_output"))
    seed = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    found = source.recognise(program.difference(read, seed))
    assert found is not None and found.call_site == program.at("check_output")
    same = tuple([read[0], read[0]])
    assert source.recognise(program.difference(same, seed)) is None
