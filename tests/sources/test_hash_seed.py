import os
import subprocess
import sys

import pytest

from samerun.runs.plan import Control
from samerun.sources.hash_seed import HashSeed

from .differences import ONE, TWO, batch, operation, origin, row, side, weights

source = HashSeed()


def iterates(**variables):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"} | variables
    code = "print(*{f'item{n}' for n in range(50)})"
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout


def test_breaks_and_mends(monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    assert iterates() != iterates()
    fixed = source.environment(Control(seed=1))
    assert iterates(**fixed) == iterates(**fixed) != iterates(**source.environment(Control(seed=2)))


@pytest.mark.parametrize("own", ["0", "7", "4294967295"])
def test_a_users_own_number_is_kept(monkeypatch, own):
    monkeypatch.setenv("PYTHONHASHSEED", own)
    assert source.environment(Control()) == {"PYTHONHASHSEED": own}


@pytest.mark.parametrize("own", ["", "random"])
def test_no_number_is_replaced(monkeypatch, own):
    monkeypatch.setenv("PYTHONHASHSEED", own)
    assert source.environment(Control())["PYTHONHASHSEED"].isdecimal()


@pytest.mark.parametrize("flag", ["-E", "-I"])
def test_a_number_that_python_ignores_controls_nothing(flag):
    code = """
from samerun.errors import TooLate
from samerun.runs.plan import Control
from samerun.sources.hash_seed import HashSeed
try:
    HashSeed().control(Control())
except TooLate as error:
    print(error, HashSeed().describe())
"""
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    said = subprocess.check_output([sys.executable, flag, "-c", code], env=env, text=True)
    assert "this python ignores PYTHONHASHSEED" in said
    assert "{'randomized': True, 'PYTHONHASHSEED': None}" in said


def test_describes_what_the_process_was_started_with():
    code = (
        "import os; os.environ['PYTHONHASHSEED'] = '5'\n"
        "from samerun.sources.hash_seed import HashSeed\nprint(HashSeed().describe())"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "'randomized': True" in done.stdout
    done = subprocess.run(
        [sys.executable, "-c", code], env=env | {"PYTHONHASHSEED": "0"}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "{'randomized': False, 'PYTHONHASHSEED': '0'}"


def said(value, *rows, **manifest):
    return side(*rows, settings={"hash-seed": {"PYTHONHASHSEED": value}}, **manifest)


@pytest.mark.parametrize(
    ("values", "strength"),
    [((None, None), 0.4), (("1", "2"), 0.4), (("1", None), 0.4), (("1", "1"), None), (("0", "0"), None)],
)
def test_recognises_seeds_that_were_not_the_same(values, strength):
    found = source.recognise(batch(a=said(values[0]), b=said(values[1])))
    assert (found and found.strength) == strength


def test_does_not_recognise_what_another_source_explains():
    assert source.recognise(operation()) is None
    assert source.recognise(batch(phase="forward", what="output")) is None
    assert source.recognise(weights(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))) is None
    for what in ("seed", "opened", "listing"):
        a, b = (said(None, row(what, "x", digest=digest)) for digest in (ONE, TWO))
        assert source.recognise(batch(a=a, b=b)) is None
        assert source.recognise(batch(a=a, b=a)).strength == 0.4


def test_what_seeds_a_worker_of_a_pool_explains_no_order_of_the_training():
    a, b = (
        said(None, row("seed", "np.random.seed", digest=digest, process="rank0.helper-ForkPoolWorker-1"))
        for digest in (ONE, TWO)
    )
    assert source.recognise(batch(a=a, b=b)).strength == 0.4


def test_seeds_that_come_in_another_order_explain_nothing():
    """A set's elements seed the generators that make their data."""

    def seeded(*digests):
        return said(
            None, *(row("seed", "default_rng", call_site="train.py:4", digest=each) for each in digests)
        )

    assert source.recognise(batch(a=seeded(ONE, TWO), b=seeded(TWO, ONE))).strength == 0.4
    assert source.recognise(batch(a=seeded(ONE, TWO), b=seeded(TWO, TWO))) is None
    assert source.recognise(batch(a=seeded(ONE), b=seeded(TWO))) is None


def test_a_generator_of_the_scripts_own_that_is_seeded_by_a_hash(tmp_path):
    (tmp_path / "train.py").write_text("g = torch.Generator().manual_seed(hash('cat'))\n")
    for differs, strength in ((True, 0.7), (False, None)):
        drawn = origin(draws=True, generator_differs=differs, own_generator=True, call_site="train.py:1")
        found = source.recognise(operation(origin=drawn, a=said(None, cwd=str(tmp_path)), b=said(None)))
        assert (None if found is None else found.strength) == strength


def test_files_opened_in_another_order_explain_nothing():
    """They come in the order of the set: the same files, each with the same content."""

    def opened(first, second, digest=TWO):
        named = ((path, ONE if path.endswith("a.pt") else digest) for path in (first, second))
        rows = [
            row("opened", "open", call_site="train.py:4", detail=path, digest=held) for path, held in named
        ]
        return said(None, *rows)

    assert source.recognise(batch(a=opened("a.pt", "b.pt"), b=opened("b.pt", "a.pt"))).strength == 0.4
    assert source.recognise(batch(a=opened("a.pt", "b.pt"), b=opened("b.pt", "a.pt", ONE))) is None
    # in a folder that has another name in each run they can only be matched by their order
    assert source.recognise(batch(a=opened("1/a.pt", "1/b.pt"), b=opened("2/b.pt", "2/a.pt"))) is None


def test_a_generator_that_nobody_drew_from_does_not_hide_it():
    assert source.recognise(weights(rng_first={"torch-cpu": 0})).strength == 0.4


def test_the_line_of_code_tells(tmp_path):
    (tmp_path / "train.py").write_text("x = 1\nrandom.seed(hash('run'))\nfor word in set(words): pass\n")
    a, b = (
        said(None, row("seed", "random.seed", call_site="train.py:2", digest=digest), cwd=str(tmp_path))
        for digest in (ONE, TWO)
    )
    found = source.recognise(batch(a=a, b=b))
    assert (found.strength, found.call_site) == (0.7, "train.py:2")
    found = source.recognise(batch(a=said(None, cwd=str(tmp_path)), b=said(None), call_site="train.py:3"))
    assert (found.strength, found.call_site) == (0.7, "train.py:3")


@pytest.mark.parametrize(
    ("text", "strength", "site"),
    [
        ("x = 1\nwords = set(text)\n", 0.4, "train.py:2"),
        ("for word in {w for w in text}: pass\n", 0.4, "train.py:1"),
        ("words = sorted(text)\n", 0.1, "train.py:5"),
        ("class Sample: pass\nsamples = {Sample()}\n", 0.1, "train.py:5"),
    ],
)
def test_code_that_hashes_makes_it_likelier(tmp_path, text, strength, site):
    (tmp_path / "train.py").write_text(text)
    a = side(settings={"hash-seed": {"PYTHONHASHSEED": None}, "code": {"train.py": "00"}}, cwd=str(tmp_path))
    found = source.recognise(batch(a=a, b=a))
    assert (found.strength, found.call_site) == (strength, site)
