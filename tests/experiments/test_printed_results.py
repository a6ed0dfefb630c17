"""What counts as a result in what runs print, and what does not.

Covers `result_words.py`, which says what a number is; `differing_example.py` and `joined_lines.py`.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter, deque
from pathlib import Path

import pytest

from samerun.editing.user_program import Code
from samerun.experiments.printed_results import (
    Printed,
    count_lines,
    describe_left_out,
    find_differing_line,
    find_differing_results,
)
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.result_words import read_before
from samerun.runs.ignored import IgnoredNames
from samerun.runs.store import Run


def printed(folder: Path, *texts: str) -> list[Run]:
    runs = []
    for number, text in enumerate(texts):
        path = folder / str(number)
        path.mkdir()
        (path / "output.txt").write_text(text)
        runs.append(Run(path))
    return runs


@pytest.mark.parametrize(
    "line",
    [
        "accuracy: {}",
        "valid loss {} (best 0.1)",
        "epoch 3 val_acc={}",
        "{{'mean': {}, 'n': 50}}",
        "test/f1-score .... {}",
        "acc@1 {}",
        "ci {} took 1.25",
        "mean reward {} m/s",
        "SPS 72 return {}",
        "epoch 3 time 1.25 loss {}",
        "took 1.25s acc: {}",
        "fps 30, loss {}",
        "min loss {}",
        "acc: \x1b[32m{}\x1b[0m",
        "2026-11-24 12:00:01,250 INFO rmse = {}",
    ],
)
def test_a_result_that_differs_is_found(tmp_path: Path, line: str) -> None:
    found = find_differing_results(printed(tmp_path, line.format("0.91234"), line.format("0.91235")))
    plain = line.replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert found == (plain.format("0.91234"), plain.format("0.91235"))


def test_lines_without_their_epoch_are_paired_in_their_order_however_long_each_took(tmp_path: Path) -> None:
    """As Keras prints them; the second line of one run and the last of the other took as long."""
    form = "Epoch {}/3\n4/4 - 1s - {}ms/step - loss: {}\n"
    losses = ("1.6", "1.5", "1.7")
    texts = [
        "".join(map(form.format, "123", took, losses)) for took in (("228", "144", "167"), ("9", "72", "144"))
    ]
    assert find_differing_results(printed(tmp_path, *texts)) is None
    (tmp_path / "1" / "output.txt").write_text(texts[1].replace("1.5", "1.50001"))
    found = find_differing_results([Run(tmp_path / "0"), Run(tmp_path / "1")])
    assert found == ("4/4 - 1s - 144ms/step - loss: 1.5", "4/4 - 1s - 72ms/step - loss: 1.50001")


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("Accuracy of the network on the 10000 test images: {} %", True),
        ("accuracy for class: cat is {} percent", True),
        ("gpu in use: {} %", False),
        ("loss 0.5 at a load of now {} %", False),  # the word may be of the other number
        ("Accuracy of the network on the test images: {} seen", False),
    ],
)
def test_a_share_in_percent_is_what_any_word_of_its_line_says(
    tmp_path: Path, line: str, counts: bool
) -> None:
    found = find_differing_results(printed(tmp_path, line.format("54"), line.format("55")))
    assert (found is not None) is counts


@pytest.mark.parametrize(
    "line",
    [
        "took {} s",
        "elapsed time: {}",
        "step 800 loss 0.5 return -1.25 SPS {}",
        "SPS: {}",
        "time 0.5 data {}",
        "loss 0.5 | {} tok/sec",
        "loss 0.5, {} images/sec",
        "loss 0.5 norm 1.5 tok/s {}",
        "loss 0.5 mfu {}%",
        "acc 0.5 tokens_per_sec={}",
        "steps/s: {}",
        "mean time per step {}",
        "loss computed in {} ms",
        "score speed {} it/s",
        "{{'eval_loss': '1.797', 'eval_runtime': '{}', 'eval_samples_per_second': '22.01', 'epoch': '1'}}",
        "saved to run-{}",
        "{}",
        "process id {}",
        "peak memory {} MiB",
        "2026-11-24 12:00:{} INFO accuracy 0.5",
    ],
)
def test_what_is_another_in_each_run_anyway_is_none(tmp_path: Path, line: str) -> None:
    assert find_differing_results(printed(tmp_path, line.format("12"), line.format("34"))) is None


def test_lines_may_come_in_another_order_and_by_progress_bars(tmp_path: Path) -> None:
    one, other = "loss 1.5\nloss 2.5\n 10%|#| \r 20%|##| acc 0.5\n", "loss 2.5\nloss 1.5\n 20%|##| acc 0.5\n"
    assert find_differing_results(printed(tmp_path, one, other)) is None


@pytest.mark.parametrize(("last", "differs"), [("0.25", False), ("0.26", True)])
def test_lines_of_ranks_with_times_may_come_in_another_order(
    tmp_path: Path, last: str, differs: bool
) -> None:
    line = "[rank {} pid 2{}] step 5 loss {} in {}s\n"
    one = line.format(1, 7, 0.5, 0.35) + line.format(0, 8, 0.25, 0.36)
    other = line.format(0, 9, last, 0.41) + line.format(1, 5, 0.5, 0.42)
    assert (find_differing_results(printed(tmp_path, one, other)) is not None) is differs


BAR = "Epoch [1/3]: [{}/10]  {}0%|###   , loss={} [00:0{}<00:02]\r"


@pytest.mark.parametrize(("last", "differ"), [("0.51", False), ("0.52", True)])
def test_of_a_progress_bar_the_end_counts_and_not_what_it_was_when_it_was_shown(
    tmp_path: Path, last: str, differ: bool
) -> None:
    one = BAR.format(5, 5, "1.61", 1) + BAR.format(10, 10, "0.61", 2) + BAR.format(10, 10, "0.51", 2)
    other = BAR.format(6, 6, "1.58", 2) + 2 * BAR.format(10, 10, last, 3)
    assert (find_differing_results(printed(tmp_path, other, one)) is not None) == differ


@pytest.mark.parametrize("line", ["step 10 loss {} eta 0:01", "loss {} 3.2it/s", "37%|##| 37/100 loss={}"])
def test_a_result_beside_a_time_that_is_left_counts(tmp_path: Path, line: str) -> None:
    assert find_differing_results(printed(tmp_path, line.format("0.51"), line.format("0.52"))) is not None


def test_the_third_run_counts_and_a_lost_output_does_not(tmp_path: Path) -> None:
    runs = printed(tmp_path, "loss 1.5", "loss 1.5", "loss 1.25")
    assert find_differing_results(runs) == ("loss 1.5", "loss 1.25")
    (runs[2].path / "output.txt").unlink()
    assert find_differing_results(runs) is None


SCRIPT = """\
import os, time, uuid, tempfile
print(value)
print("picked", value)
print("seen", value)
print(f"finished after {time.time() - start}")
print("folder", tempfile.mkdtemp())
print("run", value)
print("classes", value)
# data
print("mean", time.time() - start)
log.info("best %s: loss %.4f", name, value)
print(f"trained in {time.time() - start:.2f} s, validation {share:.4f}")
print("trained after %.2f, seen in %.2f" % (share, time.time() - start))
"""


def judged(folder: Path, *texts: str) -> Printed | None:
    (folder / "train.py").write_text(SCRIPT)
    lines = PrintingLines(Code(folder, ("python", "train.py"), {"train.py": ""}))
    return find_differing_results(printed(folder, *texts), lines)


@pytest.mark.parametrize(
    "pair", [("0.25", "0.5"), ("picked 0.3", "picked 0.4"), ("picked cat", "picked dog")]
)
def test_what_the_code_is_known_to_print_counts(tmp_path: Path, pair: tuple[str, str]) -> None:
    assert judged(tmp_path, *pair) == pair


@pytest.mark.parametrize(
    "pair",
    [
        ("finished after 0.25", "finished after 0.5"),
        ("mean 0.25", "mean 0.5"),  # of times, as the code shows
        ("folder /tmp/tmpab12", "folder /tmp/tmpcd34"),
        ("run quick-fox", "run red-hen"),
        ("picked out/a1.pt", "picked out/b2.pt"),
        ("classes {'a', 'b'}", "classes {'b', 'a'}"),  # the same, in another order
        ("picked 3", "picked 4"),  # a count, of retries or the like
        ("seen cat", "seen dog"),  # nothing says that it is a result
        ("data 0.25", "data 0.5"),  # words that come from elsewhere
        ("epoch 1:  10%|#  | 1/9 [00:01, 5.0it/s]", "epoch 1:  10%|#  | 1/9 [00:01, 6.0it/s]"),
    ],
)
def test_what_the_code_shows_to_be_of_the_run_does_not(tmp_path: Path, pair: tuple[str, str]) -> None:
    assert judged(tmp_path, *pair) is None


@pytest.mark.parametrize(
    ("other", "counts"),
    [
        ("2026-11-27 05:53:12,386 INFO best cat: loss 0.7452", False),
        ("2026-11-27 05:53:12,386 INFO best cat: loss 0.7453", True),
        ("2026-11-27 05:53:12,386 INFO best dog: loss 0.7452", True),  # a text may be a result
        ("accuracy 0.5 best cat: loss 0.7452", True),
    ],
)
def test_a_print_that_became_a_log_is_the_same_result(tmp_path: Path, other: str, counts: bool) -> None:
    assert (judged(tmp_path, "best cat: loss 0.7452", other) is not None) is counts


@pytest.mark.parametrize(
    ("form", "counts"),
    [
        ("trained in {took} s, validation {share}", True),
        ("trained after {share}, seen in {took}", True),
        ("finished after {took}", False),
    ],
)
def test_what_stands_beside_a_time_counts_by_what_the_code_makes_it_of(
    tmp_path: Path, form: str, counts: bool
) -> None:
    assert judged(tmp_path, form.format(took=4.39, share=0.95), form.format(took=3.46, share=0.95)) is None
    (tmp_path / "more").mkdir()
    texts = form.format(took=4.39, share=0.95), form.format(took=3.46, share=0.8833)
    assert (judged(tmp_path / "more", *texts) is not None) is counts


@pytest.mark.parametrize("word", ["step", "epoch", "iter:"])
def test_a_line_of_another_step_is_another_line(tmp_path: Path, word: str) -> None:
    """A script may print every few seconds."""
    for name in "ab":
        (tmp_path / name).mkdir()
    one, other = f"{word} 10 loss 0.5\n", f"{word} 12 loss 0.25\n"
    assert find_differing_results(printed(tmp_path / "a", one, other)) is None
    assert find_differing_results(printed(tmp_path / "b", one, one.replace("0.5", "0.75"))) is not None


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    said = describe_left_out(printed(tmp_path, "took 1.25 s\nloss 1", "took 1.5 s\nloss 1"))
    assert said is not None and "1 line differs" in said
    assert said.endswith("such as '1.25' and '1.5' in 'took 1.25 s'")


def test_a_line_that_the_other_run_has_not_is_said_whole(tmp_path: Path) -> None:
    said = describe_left_out(printed(tmp_path, "saved in /tmp/a1\nloss 1", "loss 1"))
    assert said is not None and said.endswith("such as 'saved in /tmp/a1'")


@pytest.mark.parametrize(
    ("one", "other", "example"),
    [
        ("acc: 0.5\ntook 1 s", "took 2 s", "'1' and '2' in 'took 1 s'"),  # `acc: 0.5` is noted by name
        ("step 10 loss 0.5\ntook 1 s", "step 12 loss 0.4\ntook 2 s", "'10' and '12' in 'step 10 loss 0.5'"),
        ("in 4.39s, seen 0.95", "in 3.46s, seen 0.88", "'0.95' and '0.88' in 'in 4.39s, seen 0.95'"),
        ("at 10:00:01 seen 3", "at 10:00:02 seen 4", "'3' and '4' in 'at 10:00:01 seen 3'"),
    ],
)
def test_the_example_is_no_result_and_rather_no_time(
    tmp_path: Path, one: str, other: str, example: str
) -> None:
    said = describe_left_out(printed(tmp_path, one, other))
    assert said is not None and said.endswith(f"such as {example}")


def test_no_example_is_shown_where_all_are_results(tmp_path: Path) -> None:
    said = describe_left_out(printed(tmp_path, "loss 0.5\nloss 0.25", "loss 0.25"))
    assert said is not None and "1 line differs" in said and "such as" not in said


def test_a_result_of_one_run_alone_is_not_left_out(tmp_path: Path) -> None:
    assert describe_left_out(printed(tmp_path, "acc: 0.5", "")) is None


def test_equal_lines_leave_nothing_to_say(tmp_path: Path) -> None:
    assert describe_left_out(printed(tmp_path, "loss 1\nloss 2", "loss 2\nloss 1")) is None


SAVED = ["step 1 loss 0.5", "saved step1.pt (0.01 s)", "step 2 loss 0.4", "saved step2.pt (0.02 s)"]


@pytest.mark.parametrize(
    ("text", "differs"),
    [
        ("step 1 loss 0.5saved step1.pt (0.03 s)\n\nstep 2 loss 0.4\nsaved step2.pt (0.02 s)", False),
        ("saved step1.pt (0.02 s)step 1 loss 0.5\n\nsaved step2.pt (0.02 s)step 2 loss 0.4\n\n", False),
        ("step 1 loss 0.6saved step1.pt (0.01 s)\n\nstep 2 loss 0.4\nsaved step2.pt (0.02 s)", True),
        ("step 1 loss 0.5saved step1.pt (0.01 s)\n\nstep 2 loss 0.41\nsaved step2.pt (0.02 s)", True),
        ("step 1 loss 0.5\nsaved step1.pt (0.01 s)\nstep 2 loss 0.45\nsaved step2.pt (0.02 s)", True),
    ],
)
def test_lines_of_threads_that_ran_together_are_the_lines_that_they_are(tmp_path, text, differs) -> None:
    """A thread, or another rank, prints between a line and its end."""
    code = 'print(f"step {step} loss {loss}")\nprint(f"saved step{step}.pt ({took:.2f} s)")\n'
    (tmp_path / "train.py").write_text(code)
    lines = PrintingLines(Code(tmp_path, (), {"train.py": ""}))
    for runs in ((text, "\n".join(SAVED)), ("\n".join(SAVED), text)):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        assert (find_differing_results(printed(folder, *runs), lines) is not None) is differs


def print_in_two_threads(seed: int) -> str:
    """What two threads print, one of them now and then between a line of the other and its end."""
    draws = random.Random(seed)
    lines = [
        deque(f"step {step} loss {2.5 - step * 0.03:.4f}" for step in range(2, 41, 2)),
        deque(f"saved step{step}.pt ({draws.random():.3f} s)" for step in range(5, 41, 5)),
    ]
    text = ""
    while any(lines):
        one, other = draws.sample([queue for queue in lines if queue] * 2, 2)
        text += one.popleft()
        text += f"{other.popleft()}\n\n" if other is not one and draws.random() < 0.5 else "\n"
    return text


def test_lines_that_ran_together_in_both_runs_are_the_lines_that_they_are(tmp_path) -> None:
    code = 'print(f"step {step} loss {loss}")\nprint(f"saved step{step}.pt ({took:.2f} s)")\n'
    (tmp_path / "train.py").write_text(code)
    lines = PrintingLines(Code(tmp_path, (), {"train.py": ""}))

    def compare(one: str, other: str) -> Printed | None:
        return find_differing_line(*(count_lines(text, IgnoredNames()) for text in (one, other)), lines)

    texts = [print_in_two_threads(seed) for seed in range(12)]
    for number, (one, other) in enumerate(itertools.combinations(texts, 2)):
        assert compare(one, other) is None
        value = f"{2.5 - (2 + 2 * (number % 20)) * 0.03:.4f}"
        changed = other.replace(f"loss {value}", f"loss {float(value) + 0.0001:.4f}")
        assert changed != other
        assert compare(one, changed) is not None


def test_a_tensor_alone_is_a_result_and_what_other_words_say_is_not(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(scores)\n")
    code = PrintingLines(Code(tmp_path, ("python", "train.py"), {"train.py": ""}))
    for number, (line, counts) in enumerate(
        (("tensor([{}, 0.5], dtype=torch.float64)", True), ("scores of train {}", False))
    ):
        (tmp_path / f"runs{number}").mkdir()
        runs = printed(tmp_path / f"runs{number}", line.format("0.25"), line.format("0.75"))
        assert (find_differing_results(runs, code) is not None) is counts


@pytest.mark.parametrize(("name", "counts"), [("accs", False), ("acc", True), ("seconds", False)])
def test_a_line_of_many_numbers_is_compared_in_bounded_work(tmp_path: Path, name: str, counts: bool) -> None:
    """What is near a number and how its line begins say what it is."""
    numbers = [f"{n / 7:.4f}" for n in range(3000)]
    one, other = (f"{name}: [{', '.join([*numbers, last])}]" for last in ("0.5", "0.25"))
    assert (find_differing_results(printed(tmp_path, one, other)) is not None) is counts
    (number,) = re.finditer("0.5", f"{'x' * 10_000}0.5")
    assert len(read_before(number.string, number)) < 1000


RUN_IDS = """
import time, uuid
import numpy as np

run = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}"
started = time.time()

def show(**values):
    print(f"[{run}] " + " ".join(f"{name}={value:.5g}" for name, value in values.items()))

low, high = np.random.default_rng().normal(size=2)
print(f"[{run}] accuracy 0.9704 (95% CI {low:.5f} to {high:.5f})")
print(f"[{run}] spread {low:.5f} after {time.time() - started:.5f}")
show(ci_low=low, ci_high=high)
"""


@pytest.mark.parametrize(
    "form",
    [
        "[{}] accuracy 0.9704 (95% CI {} to 0.99509)",
        "[{}] ci_low={} ci_high=0.94027",
        "[{}] spread {} after 0.51230",
    ],
)
def test_an_id_or_a_time_of_the_run_in_front_of_a_line_does_not_hide_a_result(
    tmp_path: Path, form: str
) -> None:
    ids = "20261129-023954-96a471f7", "20261129-024011-75172691"  # one has no letter
    (tmp_path / "train.py").write_text(RUN_IDS)
    lines = PrintingLines(Code(tmp_path, ("python", "train.py"), {"train.py": ""}))
    one, other, alike = (
        form.format(*each) for each in [(ids[0], "0.94574"), (ids[1], "0.94394"), (ids[1], "0.94574")]
    )
    assert find_differing_line(Counter([one]), Counter([other]), lines) == (one, other)
    assert find_differing_line(Counter([one]), Counter([alike]), lines) is None
    assert find_differing_line(Counter([one]), Counter([alike.replace("0.51230", "0.4")]), lines) is None


def test_lines_that_name_other_paths_may_come_in_another_order() -> None:
    """Each with its own result: paths of the run are of any length."""
    ones = ["/tmp/run_7/a.png score 0.3", "/tmp/run_7/long.png score 0.5"]
    others = ["/tmp/run_123/long.png score 0.5", "/tmp/run_123/a.png score 0.3"]
    assert find_differing_line(Counter(ones), Counter(others)) is None
    moved = [others[0], others[1].replace("0.3", "0.25")]
    assert find_differing_line(Counter(ones), Counter(moved)) == (ones[0], moved[1])
