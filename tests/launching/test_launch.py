"""One command from start to end: its output, its exit code, its outcome, its environment.

Covers `output.py`.
"""

from __future__ import annotations

import io
import os
import signal
import sys

import pytest

from samerun.errors import CommandNotFound, UsageError
from samerun.launching import launch as module
from samerun.launching import output
from samerun.launching.launch import LaunchRequest, launch
from samerun.runs.plan import Control, Plan


@pytest.mark.parametrize(("code", "word"), [(0, "finished"), (1, "failed"), (7, "failed")])
def test_the_exit_code_is_kept(launched, code, word):
    outcome = launched("sh", "-c", f"exit {code}")
    assert (outcome.exit_code, outcome.outcome) == (code, word)
    assert outcome.error == (None if code == 0 else f"it ended with exit code {code}")


def test_a_command_killed_from_outside_says_by_what(launched):
    outcome = launched("sh", "-c", "kill -9 $$")
    assert (outcome.exit_code, outcome.outcome) == (-9, "failed")
    assert outcome.error is not None and "SIGKILL" in outcome.error


def test_output_and_errors_are_kept_in_the_order_of_writing(launched):
    launched.write(
        "train.py", "import sys\nfor i in range(300):\n    print(i, file=(sys.stdout, sys.stderr)[i % 2])\n"
    )
    launched("python", "train.py")
    assert launched.output.split() == [str(i) for i in range(300)]


def test_a_megabyte_of_bytes_is_kept_whole(launched):
    launched("python", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)")
    assert (launched.run / "output.txt").read_bytes() == bytes(range(256)) * 4096


def test_tee_shows_it_as_well(launched, capfdbinary):
    launched("sh", "-c", "echo shown", tee=True)
    assert capfdbinary.readouterr().out == b"shown\n"
    assert launched.output == "shown\n"


def test_nothing_is_shown_without_tee(launched, capfdbinary):
    launched("sh", "-c", "echo kept")
    assert capfdbinary.readouterr().out == b""


def test_a_full_disk_drops_the_output_and_not_the_command(launched, monkeypatch):
    monkeypatch.setattr(module, "OUTPUT", "/dev/full")
    outcome = launched("python", "-c", "print('x' * 1000000); open('trained', 'w')")
    assert outcome.exit_code == 0
    assert (launched.cwd / "trained").exists()
    assert outcome.error == "what it printed was not kept whole: No space left on device"


def test_an_output_file_that_cannot_be_opened_does_not_hurt(launched):
    (launched.run / "output.txt").mkdir()
    outcome = launched("python", "-c", "print('x' * 1000000); open('trained', 'w')")
    assert (outcome.exit_code, (launched.cwd / "trained").exists()) == (0, True)
    assert outcome.error is not None and "not kept whole" in outcome.error


def test_the_command_is_told_that_our_reader_went_away(launched, monkeypatch, capfd):
    read, write = os.pipe()
    os.close(read)
    program = "import os\nwhile True: os.write(1, b'x' * 1000)"
    with os.fdopen(write, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        outcome = launched("python", "-c", program, tee=True, timeout=20)
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)  # so that closing it has somewhere to flush to
    assert (outcome.exit_code, outcome.outcome) == (1, "failed")
    assert "BrokenPipeError" in capfd.readouterr().err + launched.output


def test_a_full_disk_behind_our_own_output_does_not_hurt(launched, monkeypatch):
    with open("/dev/full", "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert launched("python", "-c", "print('x' * 1000000)", tee=True).exit_code == 0
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    assert len(launched.output) == 1_000_001


def test_it_is_seen_before_the_next_write_that_nobody_reads_us(monkeypatch):
    read, write = os.pipe()
    with os.fdopen(write, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert output._has_reader("stdout")
        os.close(read)
        assert not output._has_reader("stdout")
    with open(os.devnull, "w") as nowhere:
        for other in (io.StringIO(), None, nowhere):
            monkeypatch.setattr(sys, "stdout", other)
            assert output._has_reader("stdout")


def test_stdin_is_empty_unless_the_command_is_in_front_of_a_person(launched):
    launched("python", "-c", "import sys; print(repr(sys.stdin.read()))")
    assert launched.output == "''\n"


def test_the_child_gets_the_plan_our_folder_first_and_what_controls_need(launched):
    program = (
        "import os; print(os.environ['FAKE_SETTING'], os.environ['MINE'],"
        " os.environ['PYTHONPATH'].split(os.pathsep)[0].endswith('inject'), os.getcwd() == os.environ['PWD'])"
    )
    launched("python", "-c", program, control=Control(mode="seeded", only=()), env={"MINE": "kept"})
    assert launched.output == "seeded kept True True\n"


def test_whole_lines_are_printed_at_once_and_words_of_a_line_together(launched, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    program = (
        "import os; print('a', 'line'); os.write(1, b'<'); print('a', 'word', end=''); os.write(1, b'>')"
    )
    launched("python", "-c", program)
    assert launched.output == "a line\n<>a word"


def test_a_program_that_asked_for_no_buffer_has_none(launched):
    launched("python", "-u", "-c", "import os; print('a word', end=''); os.write(1, b'>')")
    assert launched.output == "a word>"


def test_a_program_without_standard_output_is_left_alone(launched):
    outcome = launched("sh", "-c", f"{sys.executable} -c 'import os; os.write(2, b\"on\")' >&-")
    assert (outcome.exit_code, launched.output) == (0, "on")


def test_a_launch_inside_a_launch_names_our_folder_once(tmp_path, monkeypatch):
    plan = Plan(run=str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "theirs")
    monkeypatch.setenv("PYTHONPATH", module.build_child_environment(plan, tmp_path, {})["PYTHONPATH"])
    folders = module.build_child_environment(plan, tmp_path, {})["PYTHONPATH"].split(os.pathsep)
    assert [os.path.basename(folder) for folder in folders] == ["inject", "theirs"]


def test_an_empty_pythonpath_does_not_become_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "")
    assert (
        os.pathsep not in module.build_child_environment(Plan(run=str(tmp_path)), tmp_path, {})["PYTHONPATH"]
    )


def test_a_command_that_does_not_exist_is_an_error_and_starts_nothing(launched):
    with pytest.raises(CommandNotFound, match="'no-such-command' was not found"):
        launched("no-such-command")
    assert not (launched.run / "output.txt").exists()


def test_a_script_without_an_interpreter_line_says_how_to_start_it(launched):
    launched.write("train", "echo hello\n").chmod(0o755)
    with pytest.raises(CommandNotFound, match=r"did you mean: sh \./train --lr 1"):
        launched("./train", "--lr", "1")


def test_progress_is_told(launched):
    launched.write(
        "train.py",
        f"import os, time\nrun = {str(launched.run)!r}\n"
        "for name, text in (('rank1', '8 nan'), ('rank0.worker1', '99 nan'), ('rank0', '12 0.25')):\n"
        "    open(f'{run}/{name}.progress', 'w').write(text + '\\n')\n"
        "while not os.path.exists('seen'):\n    time.sleep(0.01)\n",
    )

    def on_progress(progress):
        if (progress.step, progress.loss) == (12, 0.25):
            launched.write("seen", "")

    outcome = launched("python", "train.py", on_progress=on_progress, timeout=20)
    assert outcome.outcome == "finished"
    assert not list(launched.run.glob("*.progress"))


def test_an_error_of_the_callers_own_ends_the_command(launched):
    with pytest.raises(ZeroDivisionError):
        launched("sh", "-c", "echo $$; exec sleep 1000", on_progress=lambda progress: 1 // 0)
    assert not launched.output or not os.path.exists(f"/proc/{int(launched.output)}")


class TestStop:
    STOPS = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: open('checkpoint', 'w'))\n"
        "run, stems = sys.argv[1], sys.argv[2:]\n"
        "for stem in ('rank0', 'rank1'):\n    open(f'{run}/{stem}.trace.arrow', 'w')\n"
        "for stem in stems:\n    open(f'{run}/{stem}.stopped', 'w')\n"
        "print('stopped', flush=True)\n"
        "time.sleep(1000)\n"
    )

    def test_when_every_rank_has_stopped_the_command_is_ended(self, launched):
        launched.write("train.py", self.STOPS)
        outcome = launched(
            "python", "train.py", str(launched.run), "rank0", "rank1", stop_after=3, timeout=20
        )
        assert (outcome.outcome, outcome.error) == ("stopped", None)
        assert outcome.exit_code == -signal.SIGKILL
        assert not (launched.cwd / "checkpoint").exists()
        assert not list(launched.run.glob("*.stopped"))

    def test_one_rank_of_two_is_not_enough(self, launched):
        launched.write("train.py", self.STOPS)
        outcome = launched("python", "train.py", str(launched.run), "rank0", stop_after=3, timeout=1)
        assert outcome.outcome == "timeout"

    def test_without_stop_after_nobody_looks(self, launched):
        launched.write("train.py", self.STOPS)
        outcome = launched("python", "train.py", str(launched.run), "rank0", "rank1", timeout=1)
        assert outcome.outcome == "timeout"


def test_a_missing_working_directory_is_wrong_usage(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        launch(LaunchRequest(["true"]), Plan(run=str(tmp_path)), tmp_path / "gone")
