"""The line of a shell script or Makefile that gives a program another value in each run.

Covers `edits/shell_scripts.py`, and what `arguments.py` and `environment.py` make of it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest

from samerun import lineage, set_variables
from samerun.answers import Answers
from samerun.explaining.explain import explain
from samerun.runs.answers import Answer, encode, read_all_answers
from samerun.runs.difference import Difference, Row, Side
from samerun.runs.source_lines import read_source
from samerun.sources.arguments import Arguments
from samerun.sources.edits.shell_scripts import find_argument, find_variable
from samerun.sources.environment import Environment

from .mending import Program, differing

A = ("python", "train.py", "--epochs", "2", "--seed", "4711")
B = ("python", "train.py", "--epochs", "2", "--seed", "815")


ADVICE = {"arguments": "pass the same --seed", "environment": "S=1  # at run.sh:1: one value for all runs"}


def difference_of(folder, files, command=("bash", "run.sh"), a=A, b=B):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    manifest = {"command": list(command), "cwd": str(folder)}
    sides = [Side(manifest=manifest, argv=argv) for argv in (a, b)]
    return Difference(0, "setup", "parameters", a=sides[0], b=sides[1])


def given(difference, value):
    return find_argument(difference, difference.a.argv, difference.b.argv, value)


@pytest.mark.parametrize(
    ("text", "line", "read"),
    [
        ("python train.py --seed $RANDOM\n", 1, "$RANDOM"),
        ("N=1\nS=${RANDOM}\necho $N\npython train.py --seed=$S\n", 2, "${RANDOM"),
        ("s=$((RANDOM % 1000))\nfor e in 1 2; do\n  python train.py --epochs $e --seed $s\ndone\n", 1, None),
        (
            "export S=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')\npython train.py --seed \"$S\"\n",
            1,
            "/dev/urandom",
        ),
        ("python train.py \\\n  --epochs 2 \\\n  --seed $(date +%s)\n", 3, "date"),
        ("for s in $(shuf -i 1-99 -n 3); do\npython train.py --seed $s\ndone\n", 1, "shuf"),
        ("S=`uuidgen | cksum | cut -c1-4`\npython train.py --seed $S\n", 1, "uuidgen"),
        ("S=$(awk 'BEGIN{srand(); print int(rand()*100)}')\npython train.py --seed $S\n", 1, "rand()"),
        ("read S < <(shuf -i 1-9)\npython train.py --seed $S\n", 1, "shuf"),
        ("A=$$\nB=$A\npython train.py --seed ${B:-0}\n", 1, "$$"),
        ("# S=$RANDOM\nS=5 # or $RANDOM\npython train.py --seed $S --name $RANDOM\n", None, None),
        ("S=5\npython train.py --seed $S --day --date 1\n", None, None),
    ],
)
def test_the_line_that_reads_what_an_option_is_given(tmp_path, text, line, read):
    found = given(difference_of(tmp_path, {"run.sh": text}), "4711")
    assert (found and found.site) == (line and f"run.sh:{line}")
    assert read is None or found.read == read


def test_the_option_that_was_given_the_seed_is_looked_for_first(tmp_path):
    script = "OUT=$(mktemp -d)\nSEED=$RANDOM\npython train.py --out $OUT --seed $SEED\n"
    a, b = (("python", "train.py", "--out", f"/tmp/{n}", "--seed", n) for n in ("4711", "815"))
    difference = difference_of(tmp_path, {"run.sh": script}, a=a, b=b)
    assert given(difference, "4711").site == "run.sh:2"
    assert given(difference, None).site == "run.sh:1"


def test_an_argument_by_position_is_what_the_program_is_started_with(tmp_path):
    a, b = (("python", "train.py", n) for n in ("4711", "815"))
    script = "NAME=$(date +%s)\nmkdir $NAME\nseed=${1:-$RANDOM}\npython train.py $seed\n"
    assert given(difference_of(tmp_path, {"run.sh": script}, a=a, b=b), None).site == "run.sh:3"


def test_scripts_that_a_script_names_and_makefiles_are_read(tmp_path):
    files = {"go.sh": ". conf/env.sh\npython train.py --seed $RUN\n", "conf/env.sh": "X=1\nRUN=$$\n"}
    assert given(difference_of(tmp_path, files, ("sh", "go.sh")), None).site == "conf/env.sh:2"
    said = ("bash", "-c", "cd . && bash go.sh -x && python report.py")
    assert given(difference_of(tmp_path, files, said), None).site == "conf/env.sh:2"
    makefile = {"Makefile": "SEED = 5\n\ntrain:\n\tpython train.py --seed $$RANDOM\n"}
    assert given(difference_of(tmp_path, makefile, ("make", "train")), None).site == "Makefile:4"
    assert given(difference_of(tmp_path, {}, ("python", "-m", "launch")), None) is None


def test_what_a_variable_of_the_environment_is_set_to(tmp_path):
    difference = difference_of(tmp_path, {"run.sh": "export A=3\nSEED=$RANDOM python train.py\n"})
    assert find_variable(difference, "SEED").site == "run.sh:2"
    assert find_variable(difference, "A") is None


def test_no_link_is_followed_and_only_scripts_are_read(tmp_path):
    (tmp_path / "secret").write_text("#!/bin/sh\npython train.py --seed $RANDOM\n")
    (tmp_path / "run.sh").symlink_to(tmp_path / "secret")
    assert given(difference_of(tmp_path, {}), None) is None
    text = "python train.py --seed $RANDOM\n"
    assert given(difference_of(tmp_path, {"notes.txt": text}, ("cat", "notes.txt")), None) is None


def test_the_line_is_shown(tmp_path):
    (tmp_path / "run.sh").write_text("S=$RANDOM\n")
    (tmp_path / "notes.txt").write_text("S=$RANDOM\n")
    assert read_source("run.sh:1", str(tmp_path)) == (["S=$RANDOM"], 1)
    assert read_source("notes.txt:1", str(tmp_path)) is None


PARTS = 'sort -R "$1" > "$2/all.tmp"\nhead -5 "$2/all.tmp" | sort > "$2/fit.txt"\n'


@pytest.mark.parametrize(
    ("script", "code", "line"),
    [
        ("shuf data/all.txt > data/fit.txt\npython train.py\n", "", "run.sh:1"),
        ("shuf -o data/fit.txt data/all.txt\n", "", "run.sh:1"),
        ("N=$RANDOM\npython train.py\nhead -$N all.txt >data/fit.txt\n", "", "run.sh:1"),
        (
            "python train.py\n",
            "subprocess.run(['sh', 'tools/parts.sh', 'all.txt', 'data'])\n",
            "tools/parts.sh:1",
        ),
        ("shuf all.txt > data/all.shuf\nhead data/all.shuf > data/fit.txt\n", "", "run.sh:1"),
        ("sort all.txt > data/fit.txt\nshuf all.txt > other.txt\n", "", None),
        ("shuf all.txt > fit.txt.bak\ncp data/fit.txt kept.txt\n", "", None),
        ("shuf data/fit.txt > kept.txt\nshuf all.txt > unfit.txt\n", "", None),
    ],
)
def test_a_file_that_a_script_makes_anew_is_the_doing_of_its_line(tmp_path, script, code, line):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "parts.sh").write_text(PARTS)
    (tmp_path / "run.sh").write_text(script)
    program = Program(tmp_path, code + "open('data/fit.txt')\n", argv=("bash", "run.sh"))
    read = differing("opened", "open", program.at("open"), detail="data/fit.txt")
    found = program.difference(read, phase="data", what="batch")
    best = explain(found)[0][0]
    source = "input-data" if line is None else "system-reads"
    assert (best.source, best.call_site) == (source, line or program.at("open"))
    refused = program.refused(source, read, site=best.call_site, phase="data", what="batch")
    assert (line or "keep the data fixed") in refused


SEEDED = """
import argparse, os
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
torch.manual_seed({seed})
"""


@pytest.mark.parametrize(
    ("seed", "script", "source", "line"),
    [
        ("args.seed", "S=$RANDOM\npython train.py --seed $S\n", "arguments", "run.sh:1"),
        ("int(os.environ['S'])", "export S=$RANDOM\npython train.py --seed 1\n", "environment", "run.sh:1"),
        ("args.seed", 'python train.py --seed "$1"\n', "arguments", "train.py:5"),
    ],
)
def test_the_cause_of_a_seed_has_the_line_of_the_script(tmp_path, seed, script, source, line):
    (tmp_path / "run.sh").write_text(script)
    program = Program(tmp_path, SEEDED.format(seed=seed), argv=("bash", "run.sh"))
    given = differing("seed", "torch.manual_seed", program.at("manual_seed"), value=4711.0)
    found = program.difference(given, rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    if source == "arguments":
        found = replace(found, a=replace(found.a, argv=A), b=replace(found.b, argv=B))
    best = explain(found)[0][0]
    assert (best.source, best.call_site) == (source, line)
    assert best.advice == ADVICE[source]


@pytest.mark.parametrize(
    ("code", "conf", "line"),
    [
        ("print('STAMP')\n", "", "run.sh:2"),
        ("open('conf.ini')\n", "[run]\nname = ${STAMP}\n", "run.sh:2"),
        ("open('conf.ini')\n", "[run]\nname = ${TIMESTAMP}\n", None),
    ],
)
def test_a_variable_that_the_script_sets_anew_is_a_cause_where_the_code_or_a_file_names_it(
    tmp_path, code, conf, line
):
    (tmp_path / "run.sh").write_text("A=1\nexport STAMP=$(date +%s)\npython train.py\n")
    (tmp_path / "conf.ini").write_text(conf)
    program = Program(tmp_path, code, argv=("bash", "run.sh"))
    found = program.difference(Row(0, "setup", "opened", "open", detail="conf.ini"))
    a, b = ({"STAMP": digest, "SHLVL": "2"} for digest in ("00000001", "00000002"))
    changed = replace(found, a=replace(found.a, variables=a), b=replace(found.b, variables=b))
    best = Environment().recognise(changed)
    assert (best and best.call_site) == line
    assert best is None or best.advice == "STAMP=1  # at run.sh:2: one value for all runs"
    assert Environment().recognise(replace(changed, b=replace(changed.b, variables=a))) is None


def test_a_seed_that_is_a_word_of_the_command_line_is_an_argument_however_it_gets_there(tmp_path):
    program = Program(tmp_path, "import conf, torch\ntorch.manual_seed(conf.load()['seed'])\n")
    given = differing("seed", "torch.manual_seed", program.at("manual_seed"), value=4711.0)
    found = program.difference(given)
    a, b = (("python", "train.py", f"seed={n}") for n in ("4711", "815"))
    either = replace(found, a=replace(found.a, argv=a), b=replace(found.b, argv=b))
    assert Arguments().recognise(either).call_site == program.at("manual_seed")
    other = replace(
        found, a=replace(found.a, argv=b), b=replace(found.b, argv=a)
    )  # not what it was seeded with
    assert Arguments().recognise(other) is None


def start(folder, words, replayed=None):
    """What a program with these arguments has for its own, and what is kept of them."""
    folder.mkdir()
    old, sys.argv = sys.argv, ["train.py", *words]
    try:
        answers = Answers(str(folder), replayed and str(replayed), lambda source: True)
        Arguments().replay(answers)
        answers.flush()
        return sys.argv[1:]
    finally:
        sys.argv = old


def test_a_replay_gives_the_arguments_of_the_recorded_run_but_paths_and_secrets(tmp_path):
    first = start(tmp_path / "a", ["--seed", "4711", "--out", "/tmp/x1", "--token", "abc"])
    assert first == ["--seed", "4711", "--out", "/tmp/x1", "--token", "abc"]
    again = start(tmp_path / "b", ["--seed", "815", "--out", "/tmp/x2", "--token", "abd"], tmp_path / "a")
    assert again == ["--seed", "4711", "--out", "/tmp/x2", "--token", "abd"]
    given = [answer for answer in read_all_answers(tmp_path / "b") if answer.what == "given"]
    assert [answer.source for answer in given] == ["arguments"]
    kept = [answer.value for answer in read_all_answers(tmp_path / "a")]
    assert "abc" not in str(kept) and "4711" in str(kept)


def test_equal_arguments_are_not_given_and_another_number_of_them_parts(tmp_path):
    start(tmp_path / "a", ["--seed", "4711"])
    assert start(tmp_path / "b", ["--seed", "4711"], tmp_path / "a") == ["--seed", "4711"]
    assert {answer.what for answer in read_all_answers(tmp_path / "b")} == {"kept"}
    assert start(tmp_path / "c", ["--seed"], tmp_path / "a") == ["--seed"]
    assert "parted" in {answer.what for answer in read_all_answers(tmp_path / "c")}


def give(folder, monkeypatch, given, replayed=None):
    """The variables of a program that a script started with these, and what is kept of them."""
    folder.mkdir()
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(set_variables, "_set", dict.fromkeys(given, "00000000"))
    answers = Answers(str(folder), replayed and str(replayed), lambda source: True)
    Environment().replay(answers)
    answers.flush()
    return {name: os.environ[name] for name in given}


def test_a_replay_gives_the_numbers_that_a_script_set_and_nothing_that_must_be_true_now(
    tmp_path, monkeypatch
):
    then = {"SEED": "11", "MASTER_PORT": "1", "NAME": "run-a", "OMP_NUM_THREADS": "1"}
    now = {"SEED": "12", "MASTER_PORT": "2", "NAME": "run-b", "OMP_NUM_THREADS": "2"}
    assert give(tmp_path / "a", monkeypatch, then) == then
    assert give(tmp_path / "b", monkeypatch, now, tmp_path / "a") == {**now, "SEED": "11"}
    kept = [(answer.name, answer.value) for answer in read_all_answers(tmp_path / "a")]
    assert kept == [("SEED", "11")]
    assert "given" in {answer.what for answer in read_all_answers(tmp_path / "b")}


def test_what_a_program_of_python_passes_on_is_not_given(tmp_path, monkeypatch):
    give(tmp_path / "a", monkeypatch, {"SEED": "11"})
    start(tmp_path / "c", ["--port", "1"])
    monkeypatch.setattr(lineage, "find_parent_path", lambda number: ())
    assert give(tmp_path / "b", monkeypatch, {"SEED": "12"}, tmp_path / "a") == {"SEED": "12"}
    assert start(tmp_path / "d", ["--port", "2"], tmp_path / "c") == ["--port", "2"]


def test_an_argument_of_a_program_that_makes_the_data(tmp_path):
    text = "#!/bin/bash\npython prepare.py --seed $RANDOM\npython train.py\n"
    same = ("python", "train.py")
    difference = difference_of(tmp_path, {"run.sh": text}, a=same, b=same)

    def run(side, seed):
        seeded = Row(
            0,
            "setup",
            "seed",
            "random.Random",
            call_site="prepare.py:3",
            digest=seed.encode(),
            value=float(seed),
        )
        programs = {"rank0.helper-1": ("python", "prepare.py", "--seed", seed)}
        return replace(side, programs=programs, evidence=(replace(seeded, process="rank0.helper-1"),))

    def recognised(a, b):
        return Arguments().recognise(replace(difference, a=run(difference.a, a), b=run(difference.b, b)))

    found = recognised("4711", "815")
    assert (found.strength, found.call_site) == (1.0, "run.sh:2")
    assert recognised("4711", "4711") is None


def test_a_text_that_a_script_set_is_never_given_to_another_run(tmp_path):
    """Its value was not kept, so a replay would refute what it cannot try."""
    files = {
        "run.sh": "export NAME=run-$(date +%s)\npython train.py\n",
        "train.py": "import os\nos.environ['NAME']\n",
    }
    difference = difference_of(tmp_path, files, a=("python", "train.py"), b=("python", "train.py"))
    run = tmp_path / "run"
    run.mkdir()
    difference.a.manifest["plan"] = {"run": str(run)}

    def recognised():
        sides = [
            replace(side, variables={"NAME": text}, settings={"code": {"train.py": ""}})
            for side, text in ((difference.a, "aa"), (difference.b, "bb"))
        ]
        return Environment().recognise(replace(difference, a=sides[0], b=sides[1]))

    found = recognised()
    assert (found.call_site, found.beyond_control) == ("run.sh:1", True)
    kept = Answer((), "environment", "NAME", "", "17")
    (run / "0123456789abcdef.answers").write_bytes(encode(kept))
    assert recognised().beyond_control is False
