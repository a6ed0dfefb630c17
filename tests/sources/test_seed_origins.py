"""A seed that differs is followed to what it is made of: arguments, the environment, addresses, reads.

Covers `find_seed_site` of `edits/system_values.py`, and the refusal of `edits/seeds.py`.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import samerun
from samerun.explaining.explain import explain
from samerun.runs.difference import Row, Strength
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
        ("args.seed", "arguments", "parse_args"),
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


KEYED = """
import numpy as np
from dataclasses import dataclass

@dataclass(frozen=True)
class Config:
    name: str = "tiny"

    @property
    def key(self):
        return {key}

rng = np.random.default_rng(Config().key)
"""


@pytest.mark.parametrize(("key", "is_one"), [("hash(self) & 0xFFFF", True), ("len(self.name)", False)])
def test_a_seed_may_be_made_of_a_hash_elsewhere(tmp_path, key, is_one):
    program = Program(tmp_path, KEYED.format(key=key))
    given = differing("seed", "np.random.default_rng", program.at("default_rng"))
    found = find_sources()["hash-seed"].recognise(program.difference(given))
    assert (found and (found.call_site, found.strength)) == (
        (program.at("return"), Strength.POSSIBLE) if is_one else None
    )


COUNTED = """
import os
import numpy as np

class Feed:
    def __init__(self, store, rank):
        self.store, self.rank = store, rank
    def take(self):
        ticket = self.store.add("ticket", 1) - 1
        return ticket

def decode(chunk):
    return np.random.default_rng(chunk).random()

feed = Feed(make_store(), int(os.environ["RANK"]))
x = decode(feed.take())
"""


def test_a_seed_that_is_made_of_what_came_first_is_followed_there(tmp_path):
    """And not to a variable that both runs had alike."""
    program = Program(tmp_path, COUNTED)
    given = differing("seed", "np.random.default_rng", program.at("default_rng"))
    found = program.difference(given)
    taken = Row(0, "setup", "arrival", "Store.add", call_site=program.at("self.store.add"))
    found = replace(
        found,
        a=replace(
            found.a,
            evidence=(taken, *found.a.evidence),
            settings={**found.a.settings, "environment": {"RANK": "0"}},
        ),
        b=replace(
            found.b,
            evidence=(taken, *found.b.evidence),
            settings={**found.b.settings, "environment": {"RANK": "0"}},
        ),
    )
    best = explain(found)[0][0]
    assert (best.source, best.call_site, best.beyond_control) == ("worker-arrival", taken.call_site, True)
    assert "rank" in best.advice
    assert find_sources()["environment"].recognise(found) is None


METHOD = """
import torch

class Task{bases}:
    def seed(self):
        g = torch.Generator()
        g.manual_seed(hash(self) % 2**31)
"""


@pytest.mark.parametrize(("bases", "is_one"), [("", True), ("(str)", False), ("(torch.nn.Module)", True)])
def test_the_hash_of_self_is_its_address(tmp_path, bases, is_one):
    program = Program(tmp_path, METHOD.format(bases=bases))
    given = differing("seed", "torch.Generator.manual_seed", program.at("manual_seed"))
    found = find_sources()["memory-address"].recognise(program.difference(given))
    assert (found and found.call_site) == (program.at("manual_seed") if is_one else None)


def test_a_seed_that_is_made_of_an_address_becomes_a_constant(tmp_path):
    program = Program(tmp_path, METHOD.format(bases=""))
    given = differing("seed", "torch.Generator.manual_seed", program.at("manual_seed"))
    mended = program.mended("memory-address", given)
    assert mended == "-        g.manual_seed(hash(self) % 2**31)\n+        g.manual_seed(0)"


OWN = """
import os, random, time
import numpy as np
import torch

tag = random.Random(os.getpid()).random()
version = int(os.stat("x").st_mtime)
rng = np.random.default_rng([7, version])
"""


STORE = """
import os
import numpy as np

class Store:
    def __init__(self, seed):
        self.version = int(os.stat("x").st_mtime)
        self.rng = np.random.default_rng([seed, self.version])
"""


def test_each_seed_that_differs_is_followed(tmp_path):
    """A generator of the script's own may be for a name: the reason is behind another."""
    program = Program(tmp_path, OWN)
    tag = differing("seed", "random.Random", program.at("tag ="))
    rng = differing("seed", "np.random.default_rng", program.at("rng ="))
    read = differing("system", "os.stat", program.at("version ="))
    difference = program.difference(tag, read, rng)
    assert find_sources()["system-reads"].recognise(difference).call_site == program.at("version =")
    assert find_sources()["process-id"].recognise(difference).call_site == program.at("tag =")


def test_of_a_seed_of_several_numbers_that_which_differs_becomes_a_constant(tmp_path):
    program = Program(tmp_path, STORE)
    rng = differing("seed", "np.random.default_rng", program.at("rng ="))
    read = differing("system", "os.stat", program.at("version ="))
    mended = program.mended("system-reads", read, rng)
    line = "        self.rng = np.random.default_rng([seed, {}])"
    assert mended == f"-{line.format('self.version')}\n+{line.format('0')}"


def test_the_only_line_that_reads_it_is_the_origin(tmp_path):
    program = Program(tmp_path, "import os, torch\nname = os.urandom(4)\n\ntorch.manual_seed(load())\n")
    read = differing("entropy", "os.urandom", program.at("name ="))
    seed = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    found = find_sources()["os-entropy"].recognise(program.difference(read, seed))
    assert (found.strength, found.call_site) == (0.7, program.at("name ="))


def test_seeds_of_the_scripts_own_generators_are_noted(observed):
    observed(find_sources()["numpy-generator"])
    observed(find_sources()["torch-cpu"])
    notes = observed(find_sources()["python-random"])
    np.random.default_rng(3)
    np.random.default_rng([3, 4])
    np.random.default_rng(np.random.PCG64(3))  # whose seed was given elsewhere
    torch.Generator().manual_seed(5)
    random.Random(6)
    torch.manual_seed(7)
    seeds = [(note.name, note.value) for note in notes.rows if note.what == "seed"]
    assert seeds == [
        ("np.random.default_rng", 3.0),
        ("np.random.default_rng", None),
        ("torch.Generator.manual_seed", 5.0),
        ("random.Random", 6.0),
        ("torch.manual_seed", 7.0),
    ]


def test_a_seed_is_noted_also_where_the_ledger_of_draws_stands_between(observed):
    notes = observed(find_sources()["numpy-generator"])
    place = Path(samerun.__file__).parent / "recording" / "draws" / "ledger.py"
    passed_on = eval(compile("lambda make, seed: make(seed)", str(place), "eval"))
    passed_on(np.random.default_rng, 3)
    assert [(note.what, note.name) for note in notes.rows] == [("seed", "np.random.default_rng")]


def test_a_default_that_callers_replace_is_not_edited(tmp_path):
    """One of them may pass None as well."""
    script = """
    import numpy as np

    class Seeds:
        def __init__(self, entropy=None):
            self.root = np.random.SeedSequence(entropy)

    Seeds({given})
    """
    for given, line in (
        ("", "def __init__(self, entropy=0):"),
        ("load()", "0 if entropy is None else entropy"),
    ):
        folder = tmp_path / (given or "none").strip("()")
        folder.mkdir()
        program = Program(folder, script.format(given=given))
        made = Row(
            step=0,
            phase="setup",
            what="unseeded",
            name="numpy-generator",
            call_site=program.at("SeedSequence("),
        )
        assert line in program.mended("numpy-generator", made)


@pytest.mark.parametrize("detail", ["of another program", None])
def test_the_number_of_a_shell_that_started_it_is_beyond_control(tmp_path, detail):
    program, _ = seeded(tmp_path, "value", "os.getppid()")
    given = differing("seed", "torch.manual_seed", program.at("manual_seed"))
    read = differing("identity", "os.getppid", program.at("value ="), detail=detail)
    found = find_sources()["process-id"].recognise(program.difference(read, given))
    assert (found.call_site, found.beyond_control) == (program.at("value ="), detail is not None)


def test_the_number_of_a_parent_without_samerun_is_noted_as_such(observed):
    notes = observed(find_sources()["process-id"])
    os.getppid()
    assert [note.detail for note in notes.rows] == ["of another program"]


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
    assert "--seed 0" in said and program.at("manual_seed") in said


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
