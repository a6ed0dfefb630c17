"""input-data and resume-state: what the runs read, and what they left behind.

Covers `input_data.py`, `resume_state.py` and `evidence/raced_files.py`.
"""

from dataclasses import replace

import pytest

from samerun.sources.input_data import InputData
from samerun.sources.resume_state import ResumeState
from samerun.sources.thread_scheduling import ThreadScheduling
from samerun.sources.torch_cpu import TorchCpu

from .differences import ONE, TWO, batch, operation, origin, row, side

data, resume, racing = InputData(), ResumeState(), ThreadScheduling()


def opened(path="data.bin", digest=ONE, value=8.0):
    return row("opened", "open", detail=path, digest=digest, value=value, call_site="train.py:4")


def written(path="data.bin"):
    return row("written", "open", detail=path)


def test_a_file_that_changed():
    found = data.recognise(batch(a=side(opened()), b=side(opened(digest=TWO))))
    assert (found.strength, found.call_site) == (1.0, "train.py:4")
    assert "data.bin" in found.text
    assert data.recognise(batch(a=side(opened()), b=side(opened()))) is None


def test_a_file_too_big_to_digest_is_told_by_its_size():
    a, b = side(opened(digest=None, value=8.0)), side(opened(digest=None, value=9.0))
    assert data.recognise(batch(a=a, b=b)).strength == 1.0
    assert data.recognise(batch(a=a, b=a)) is None


def test_another_file_is_not_a_changed_one():
    assert data.recognise(batch(a=side(opened("a")), b=side(opened("b", TWO)))) is None


def test_a_file_that_both_runs_made_themselves_is_a_consequence():
    a, b = side(written(), opened()), side(written(), opened(digest=TWO))
    assert data.recognise(batch(a=a, b=b)) is None


def test_programs_are_not_data():
    assert data.recognise(batch(a=side(opened("m.py")), b=side(opened("m.py", TWO)))) is None


def test_an_operation_with_equal_inputs_is_not_a_files_doing():
    changed = dict(a=side(opened()), b=side(opened(digest=TWO)))
    assert data.recognise(operation(**changed)) is None
    assert resume.recognise(operation(a=side(written()), b=side(opened()))) is None


def test_a_folder_that_gained_files():
    def listed(names, digest):
        return side(row("listing", "folder", detail="data", inputs=names, digest=digest))

    assert data.recognise(batch(a=listed(1, ONE), b=listed(2, TWO))).strength == 0.7
    assert data.recognise(batch(a=listed(1, ONE), b=listed(1, TWO))) is None  # listing-order


def test_a_checkpoint_that_the_first_run_left():
    found = resume.recognise(batch(a=side(written("last.pt")), b=side(opened("last.pt"))))
    assert (found.strength, found.call_site) == (1.0, "train.py:4")
    assert "last.pt" in found.text


def test_a_checkpoint_that_both_found_and_the_first_run_replaced():
    a = side(opened("last.pt"), written("last.pt"))
    assert resume.recognise(batch(a=a, b=side(opened("last.pt", TWO)))).strength == 1.0
    assert resume.recognise(batch(a=a, b=side(opened("last.pt")))) is None


@pytest.mark.parametrize(
    ("read_by_a", "named"),
    [
        ([opened("cache", ONE)], "state"),  # A made it, and read it as B did
        ([opened("cache", TWO)], "cache"),
        ([], "cache"),  # what A had of it was not seen
        ([opened("cache", ONE), opened("state", TWO)], "cache"),  # there is no other
    ],
)
def test_a_cache_that_the_first_run_read_as_the_second_comes_after_what_only_that_read(read_by_a, named):
    a = side(written("cache"), written("state"), *read_by_a)
    found = resume.recognise(batch(a=a, b=side(opened("cache", ONE), opened("state", TWO))))
    assert f"read {named}," in found.text


def test_a_file_that_says_how_many_values_are_drawn():
    """The generator is in the same state, so that the draw itself is no reason, nor is the generator."""
    wrote = side(row("written", "open", detail="study.db"))
    read = side(row("opened", "open", detail="study.db", call_site="train.py:3", digest=ONE))
    drawn = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    for differs, found in ((False, resume.id), (True, None)):
        given = origin("aten.uniform_", draws=True, generator_differs=differs, generator="torch-cpu")
        difference = operation(origin=given, a=wrote, b=read, **drawn)
        evidence = resume.recognise(difference)
        assert (None if evidence is None else evidence.source) == found
        assert (TorchCpu().recognise(difference) is None) == (not differs)


def test_a_file_that_each_run_writes_and_reads_back_is_no_resume():
    both = side(written("cache.bin"), opened("cache.bin"))
    assert resume.recognise(batch(a=both, b=both)) is None


def test_a_file_that_only_the_second_run_read():
    assert resume.recognise(batch(a=side(), b=side(opened("last.pt")))).strength == 0.7
    other = batch(a=side(opened("img3.png")), b=side(opened("img7.png")))
    assert resume.recognise(other).strength == 0.2  # another order, perhaps
    rng = dict(rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))
    assert resume.recognise(batch(a=side(), b=side(opened("img7.png")), **rng)) is None


def test_a_file_that_a_helping_program_makes_is_a_consequence():
    made = row("written", "open", detail="data.bin", process="rank0.helper-12345678")
    a, b = side(opened(), made), side(opened(digest=TWO), made)
    assert data.recognise(batch(a=a, b=b)) is None
    assert resume.recognise(batch(a=a, b=b)) is None  # though run A wrote what run B read
    left = side(opened(), written())
    assert resume.recognise(batch(a=left, b=b)).strength == 1.0
    # a database is opened to be written as well
    a, b = side(opened(), written(), made), side(opened(digest=TWO), written(), made)
    assert resume.recognise(batch(a=a, b=b)) is None
    unmade = side(opened(digest=TWO), written())
    assert resume.recognise(batch(a=a, b=unmade)).strength == 1.0


def test_a_seed_made_of_how_many_runs_there_were():
    def said(names: int, seed: bytes, line: int = 6):
        listing = row("listing", "folder", detail="runs", inputs=names, digest=seed, call_site="train.py:5")
        return side(listing, row("seed", "torch.manual_seed", digest=seed, call_site=f"train.py:{line}"))

    drawn = dict(origin=origin(draws=True, generator_differs=True))
    found = resume.recognise(operation(a=said(1, ONE), b=said(2, TWO), **drawn))
    assert (found.strength, found.call_site) == (0.7, "train.py:5")
    assert resume.recognise(batch(a=said(1, ONE), b=said(2, TWO))).strength == 0.7
    assert resume.recognise(operation(a=said(1, ONE), b=said(1, TWO), **drawn)) is None  # another order
    assert resume.recognise(operation(a=said(1, ONE), b=said(2, ONE), **drawn)) is None  # not of the seed
    assert resume.recognise(operation(a=said(1, ONE, 60), b=said(2, TWO, 60), **drawn)) is None
    assert resume.recognise(operation(a=said(1, ONE), b=said(2, TWO))) is None  # a kernel's doing


def of_rank_1(step=8, digest=ONE, path="curriculum.pt"):
    columns = dict(step=step, phase="forward", detail=path, digest=digest, value=8.0)
    return row("opened", "open", call_site="train.py:29", process="rank1", **columns)


def of_rank_0(*steps, phase="forward", path="curriculum.pt"):
    given = [
        row("written", "rename", step=step, phase=phase, detail=path, call_site="train.py:23")
        for step in steps
    ]
    return replace(side(), elsewhere=tuple(given))


def on_rank_1(a, b, **columns):
    return batch(step=8, rank=1, process="rank1", a=a, b=b, **columns)


@pytest.mark.parametrize("reads", ["a", "b"])
def test_a_file_that_another_rank_of_the_run_writes_is_a_race(reads):
    wrote = of_rank_0(8, 16)
    read = replace(wrote, evidence=(of_rank_1(),))
    difference = on_rank_1(*((read, wrote) if reads == "a" else (wrote, read)))
    assert resume.recognise(difference) is None
    found = racing.recognise(difference)
    assert (found.strength, found.call_site) == (0.7, "train.py:29")
    assert "train.py:23" in found.text and "curriculum.pt" in found.text
    assert "barrier" in found.advice
    drawn = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    assert racing.recognise(replace(difference, **drawn)) is None


def test_other_content_of_a_file_that_another_rank_writes_is_not_data_that_changed():
    one, two = (replace(of_rank_0(8), evidence=(of_rank_1(digest=digest),)) for digest in (ONE, TWO))
    difference = on_rank_1(one, two)
    assert data.recognise(difference) is None
    assert resume.recognise(difference) is None
    assert racing.recognise(difference).strength == 0.4  # its writer may have had other content to write
    assert racing.recognise(on_rank_1(one, one)) is None


def test_what_a_worker_that_the_reading_process_started_writes_is_not_left():
    """Its steps are its own: it may train to its end before the process that waits for it makes a step."""
    wrote = row("written", "torch.save", step=60, phase="forward", detail="best.pt", process="rank0.Pool-1")
    read = row("opened", "open", step=0, phase="setup", detail="best.pt", digest=ONE, value=8.0)
    left = side(row("written", "torch.save", detail="best.pt"))
    other = replace(read, process="rank0", call_site="train.py:29")
    theirs = replace(side(other), elsewhere=(wrote,))
    assert resume.recognise(batch(a=left, b=theirs)) is None
    assert resume.recognise(batch(a=left, b=replace(theirs, elsewhere=()))) is not None


def test_what_another_rank_writes_only_later_was_left():
    left = of_rank_0(40)
    found = replace(left, evidence=(replace(of_rank_1(step=0), phase="setup"),))
    for wrote in (left, of_rank_0(0)):  # the second: after the setup, in which it was read
        difference = on_rank_1(wrote, replace(found, elsewhere=wrote.elsewhere))
        assert resume.recognise(difference).strength == 0.7
        assert racing.recognise(difference) is None
    one = replace(side(), evidence=(of_rank_1(),))
    assert data.recognise(on_rank_1(one, replace(one, evidence=(of_rank_1(digest=TWO),)))) is not None


@pytest.mark.parametrize(
    ("process", "found"),
    [("rank0", True), ("rank0.worker0", False), ("rank0.helper-ForkPoolWorker-2", False)],
)
def test_which_worker_has_read_what_by_then_is_no_sign_of_another_run(process, found):
    read = row(
        "opened", "open", detail="data/cat/033.png", call_site="train.py:9", digest=ONE, process=process
    )
    evidence = resume.recognise(batch(a=side(), b=side(read)))
    assert (evidence is not None) is found
