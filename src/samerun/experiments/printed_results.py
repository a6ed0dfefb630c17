"""Results that runs print and that no record holds: a metric of an unseeded bootstrap, an evaluation by hand.

A number counts as a result where the word before it says so. Times, speeds and sizes are another in each run
and say nothing of the training; of a number without such a word it is not known what it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from samerun.runs import untrusted
from samerun.runs.store import Run

_MOST_BYTES = 4 << 20  # of the end of what a run printed
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*\w)|\bnan\b|\b[-+]?inf\b")
_NAMES = (
    "loss losses acc accuracy error err f1 auc auroc ap map precision recall score mean std ci median var "
    "variance mse rmse mae r2 bleu rouge ppl perplexity bpc wer cer iou miou dice psnr ssim fid nll elbo kl "
    "reward return correlation likelihood logit prob probability prediction metric"
)
_OTHER_NAMES = (
    "time took elapsed eta sec secs second seconds min minutes hours duration latency speed throughput fps "
    "ms date pid port memory mem size id"
)
_RESULTS, _OTHERS = frozenset(_NAMES.split()), frozenset(_OTHER_NAMES.split())
_UNIT = re.compile(
    r"\s*(?:s|ms|us|ns|sec\w*|min\w*|h|hours?|it/s|s/it|[kKMGT]i?B|bytes|samples/s|fps)\b|\s*/s"
)
_CLOCK = re.compile(r"\d{1,4}[-/:]\d{1,2}[-/:]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?")
_WORD = re.compile(r"[a-z][\w@/.-]*")
_PART = re.compile(r"[a-z]+\d?")


class Printed(NamedTuple):
    """A line that one run printed and the other did not, alike but for a result in it."""

    one: str
    other: str


def find_differing_results(runs: Sequence[Run]) -> Printed | None:
    """The first line whose results differ between the first run and another; None where none is seen to."""
    first, *others = [_read_lines(run) for run in runs]
    if first is None:
        return None
    for lines in others:
        if lines is None or lines == first:
            continue
        found = _compare(list((first - lines).elements()), list((lines - first).elements()))
        if found is not None:
            return found
    return None


def _read_lines(run: Run) -> Counter[str] | None:
    """How often each line was printed: processes may print in another order each time."""
    try:
        text = untrusted.read_end(run.path / "output.txt", _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return Counter(line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip())


def _compare(ones: Sequence[str], others: Sequence[str]) -> Printed | None:
    by_words: dict[str, list[str]] = {}
    for line in others:
        by_words.setdefault(_NUMBER.sub("#", line), []).append(line)
    for line in ones:
        left = by_words.get(_NUMBER.sub("#", line))
        if left and _has_another_result(line, other := left.pop(0)):
            return Printed(line, other)
    return None


def _has_another_result(one: str, other: str) -> bool:
    if _CLOCK.search(one):
        one, other = _CLOCK.sub("", one), _CLOCK.sub("", other)
    pairs = zip(_NUMBER.finditer(one), _NUMBER.finditer(other), strict=False)
    return any(a.group() != b.group() and _is_result(one, a) for a, b in pairs)


def _is_result(line: str, number: re.Match[str]) -> bool:
    """Whether the last words before a number call it a result, and no unit after it makes it a time."""
    if _UNIT.match(line, number.end()):
        return False
    words = _WORD.findall(line[: number.start()].lower())[-2:]
    parts = {part for word in words for part in _PART.findall(word)}
    return not parts & _OTHERS and bool(parts & _RESULTS)
