"""A seed that differs is followed to what it is made of: arguments, the environment, addresses, reads.

Covers `find_seed_site` of `edits/system_values.py`, and the refusal of `edits/seeds.py`.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from samerun.explaining.explain import explain
from samerun.runs.difference import Row
from samerun.sources.catalogue import find_sources

from .mending import Program, differing

PARSED = """
import argparse, os, random, sys, time
import torch

class Plain:
    pass

class Named:
    def __hash__(self): return 3
    def __eq__(self, other): return True

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
value = {value}
torch.manual_seed({seed})
"""


def seeded(folder, seed, value="0", argv=(("--seed", "5"), ("--seed", "6")), number=5.0):
    program = Program(folder, PARSED.format(seed=seed, value=value))
    given = differing("seed", "torch.manual_seed", program.at("manual_seed"), value=number)
    rng = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    found = program.difference(given, **rng)
    words = [("python", "train.py", *each) for each in argv]
    return program, replace(found, a=replace(found.a, argv=words[0]), b=replace(found.b, argv=words[1]))


@pytest.mark.parametrize(
    ("seed", "source", "line"),
    [
        ("args.seed", "arguments", "manual_seed"),
        ("int(sys.argv[1])", "arguments", "manual_seed"),
        ("int(os.environ['SEED'])", "environment", "manual_seed"),
        ("int(os.getenv('SEED', '1'))", "environment", "manual_seed"),
        ("value", "memory-address", "value ="),
        ("time.time_ns()", "clock", "manual_seed"),
    ],
)
def test_the_origin_comes_before_the_generator(tmp_path, seed, source, line):
    program, difference = seeded(tmp_path, seed, "id(object()) % 1000")
    found = explain(difference)[0]
    assert (found[0].source, found[0].call_site) == (source, program.at(line))
    (rng,) = (item for item in found if item.source == "torch-cpu")
    assert rng.strength < found[0].strength and rng.strength == 0.4


@pytest.mark.parametrize(
    ("made", "is_one"), [("Plain()", True), ("object()", True), ("Named()", False), ("'text'", False)]
)
def test_the_hash_of_an_object_is_its_address(tmp_path, made, is_one):
    program, difference = seeded(tmp_path, "value", f"hash({made})")
    found = find_sources()["memory-address"].recognise(difference)
    assert (found and found.call_site) == (program.at("value =") if is_one else None)


def test_a_seed_that_is_not_among_the_arguments_is_less_sure(tmp_path):
    _, difference = seeded(tmp_path, "args.seed", number=1234.0)
    assert find_sources()["arguments"].recognise(difference).strength == 0.4


def test_equal_arguments_are_no_cause(tmp_path):
    _, difference = seeded(tmp_path, "args.seed", argv=(("--seed", "5"),) * 2)
    assert find_sources()["arguments"].recognise(difference) is None
    _, difference = seeded(tmp_path, "random.getrandbits(8)")
    assert find_sources()["arguments"].recognise(difference) is None


@pytest.mark.parametrize(
    "seed", ["args.seed", "args.seed + 1", "int(sys.argv[1])", "int(os.environ['SEED'])"]
)
def test_a_seed_from_outside_stays_in_force(tmp_path, seed):
    program, _ = seeded(tmp_path, seed)
    given = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    said = program.refused("torch-cpu", given)
    assert "pass the same --seed" in said and program.at("manual_seed") in said


def test_a_seed_that_the_script_makes_itself_is_fixed(tmp_path):
    program, _ = seeded(tmp_path, "value", "random.getrandbits(8)")
    given = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    assert program.mended("torch-cpu", given) == "-torch.manual_seed(value)\n+torch.manual_seed(0)"


@pytest.mark.parametrize(
    "read",
    ["int.from_bytes(open('/dev/urandom', 'rb').read(4), 'big')", "np.fromfile('/dev/random', count=1)[0]"],
)
def test_entropy_that_is_read_as_a_file(tmp_path, read):
    program, _ = seeded(tmp_path, "value", read)
    opened = Row(step=0, phase="setup", what="entropy", name="/dev/urandom", call_site=program.at("value ="))
    given = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    found = find_sources()["os-entropy"].recognise(program.difference(opened, given))
    assert (found.strength, found.call_site, found.beyond_control) == (1.0, program.at("value ="), True)


def test_opening_a_file_of_entropy_is_noted_and_no_other_device(notes):
    from samerun.recording.opened_files import Files

    notes.plan = SimpleNamespace(run="/nowhere")
    files = Files(notes)
    for path in ("/dev/urandom", b"/dev/random", "/dev/zero"):
        files.opened((path, "rb", 0))
    assert [(note.what, note.name) for note in notes.rows] == [
        ("entropy", "/dev/urandom"),
        ("entropy", "/dev/random"),
    ]
