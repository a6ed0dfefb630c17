"""What every verb that makes an experiment does, shown by one that makes none."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from report.experiments import VARIED, studied

from samerun.cli.arguments import find_verbs
from samerun.cli.base import add_control_options, add_launch_options, add_steps_option, asked_control
from samerun.cli.experiment import ExperimentVerb, request_of
from samerun.cli.output import add_output_options
from samerun.errors import UsageError
from samerun.experiments.cost.result import CostResult


@dataclass
class Result:
    verdict: str

    def to_json(self):
        return {"verdict": self.verdict}


class Toy(ExperimentVerb):
    name = "toy"
    verdict = "differs"
    stopped_after: dict[str, str] | None = None
    request_made = False

    def add_options(self, parser):
        parser.add_argument("--controlled", action="store_true")
        add_steps_option(parser)
        add_control_options(parser)
        add_launch_options(parser)
        add_output_options(parser, "html")

    def request(self, options):
        self.request_made = True
        return request_of(options, asked_control(options))

    def experiment(self, request, options, runner):
        if self.stopped_after is not None:
            for run, outcome in self.stopped_after.items():
                runner.listener.run_ended(run, 3, outcome, 1.0)
            raise KeyboardInterrupt
        self.control = request.control
        return Result(self.verdict)

    def show(self, result, options, console):
        console.print(f"shown {result.verdict}")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    monkeypatch.chdir(tmp_path)
    return Toy()


def run(toy: Toy, *words: str) -> int:
    parser = argparse.ArgumentParser()
    toy.add_options(parser)
    options = parser.parse_args(words)
    options.command = ["true"]
    return toy.run(options)


@pytest.mark.parametrize("verdict, code", [("same", 0), ("differs", 1), ("unknown", 3)])
def test_it_shows_the_result_and_exits_by_its_verdict(toy, verdict, code, capsys):
    toy.verdict = verdict
    assert run(toy) == code
    assert capsys.readouterr().out == f"shown {verdict}\n"


def test_with_json_on_standard_output_the_text_goes_to_standard_error(toy, capsys):
    run(toy, "--json", "-")
    out, err = capsys.readouterr()
    assert json.loads(out) == {"verdict": "differs"} and err == "shown differs\n"


@pytest.mark.parametrize(
    "words, said",
    [
        (("--json", "no/result.json"), "--json no/result.json: there is no folder no"),
        (("--html", "-"), "--html -: this report goes to a file"),
        (("--seed", "1"), "--seed controls the sources, and toy leaves them alone; add --controlled"),
        (("--control", "clock"), "--control controls the sources, and toy leaves them alone"),
    ],
)
def test_mistakes_are_refused_before_anything_is_done(toy, words, said):
    with pytest.raises(UsageError) as caught:
        run(toy, *words)
    assert said in str(caught.value) and not toy.request_made


def test_the_control_is_the_one_that_was_asked_for(toy):
    run(toy)
    assert toy.control is None
    run(toy, "--controlled", "--seed", "5", "--mode", "warn", "--control", "clock")
    assert (toy.control.seed, toy.control.mode, toy.control.extra) == (5, "warn", ("clock",))


@pytest.mark.parametrize(
    "runs, kept",
    [({}, "no run was recorded"), ({"a": "finished", "b": "interrupted"}, "a (finished), b (interrupted)")],
)
def test_ctrl_c_says_which_runs_are_kept(toy, runs, kept, capsys):
    toy.stopped_after = runs
    assert run(toy) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("samerun: interrupted; ") and last.endswith(kept)


READS_NOTHING = """
import os, sys
sys.path.insert(0, {tests!r})
from cli.test_experiment import Toy, run
read, write = os.pipe()
os.close(read)
os.dup2(write, {fd})
toy = Toy()
toy.verdict = {verdict!r}
if {fd} == 2:
    toy.experiment = lambda request, options, runner: (
        [runner.listener.run_ended(str(number), 3, "finished", 1.0) for number in range(50)],
        Toy.experiment(toy, request, options, runner),
    )[-1]
os._exit(run(toy, "--json", "result.json"))
"""


@pytest.mark.parametrize("fd, verdict, code", [(1, "same", 0), (1, "differs", 1), (2, "same", 0)])
def test_a_reader_that_has_gone_changes_neither_the_exit_code_nor_the_files(tmp_path, fd, verdict, code):
    tests = str(Path(__file__).parents[1])
    script = READS_NOTHING.format(tests=tests, fd=fd, verdict=verdict)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert json.loads((tmp_path / "result.json").read_text()) == {"verdict": verdict}


PAGES = {
    "cost": lambda: CostResult("same", ("python", "train.py")),
    "study": studied,  # made where it is used: it imports scipy.stats
    "vary": lambda: VARIED,
}


def verbs_of_experiments() -> dict[str, ExperimentVerb]:
    return {name: verb for name, verb in find_verbs().items() if isinstance(verb, ExperimentVerb)}


def test_every_verb_whose_html_is_its_own_page_writes_it(tmp_path):
    found = []
    for name, verb in verbs_of_experiments().items():
        parser = argparse.ArgumentParser()
        verb.add_options(parser)
        if type(verb).write_files is ExperimentVerb.write_files and "--html" in parser.format_help():
            file = tmp_path / f"{name}.html"
            verb.write_files(PAGES[name](), argparse.Namespace(html=str(file)), None)
            assert f"samerun <span>{name}</span>" in file.read_text()
            found.append(name)
    assert found == sorted(PAGES)


def test_every_verb_of_an_experiment_has_its_text():
    for name, verb in verbs_of_experiments().items():
        if type(verb).show is ExperimentVerb.show:
            assert callable(importlib.import_module(f"samerun.report.text.{name}").show)
