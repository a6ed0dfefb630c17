"""What a verdict rests on, in one phrase."""

from __future__ import annotations

from collections.abc import Sequence

from samerun.comparing.comparison import Comparison

_WORDS = {
    "batch": "batch",
    "input": "model input",
    "output": "model output",
    "loss": "loss",
    "gradients": "gradient",
    "parameters": "parameter",
    "buffers": "buffer",
    "optimizer": "optimizer state",
    "saved": "saved file",
    "operation": "operation",
}


def count_steps(comparisons: Sequence[Comparison]) -> int:
    """How many optimizer steps all of them compared."""
    return min((item.scope.steps for item in comparisons), default=0)


def describe_scope(comparisons: Sequence[Comparison]) -> str:
    """For people: "3 runs, 90 steps, 1 rank: every batch, loss, gradient and parameter"."""
    counts = {what: min(item.scope.counts.get(what, 0) for item in comparisons) for what in _WORDS}
    compared = {_WORDS[what]: count for what, count in counts.items() if count}
    windows = [item.scope.window for item in comparisons if item.scope.window is not None]
    done = count_steps(comparisons)
    ranks = min((item.scope.ranks for item in comparisons), default=0)
    head = f"{len(comparisons) + 1} runs, {_count(done, 'step')}, {_count(ranks, 'rank')}"
    if not done:
        listed = [_count(count, word) for word, count in compared.items()]
        return f"{head}; {_join_words(listed)} compared" if listed else head
    more = ""
    if windows and compared.pop("operation", 0):  # of some steps alone
        more = f", and every operation {_name_steps(max(windows))}"
    return f"{head}: every {_join_words(list(compared))}{more}"


def _name_steps(window: tuple[int, int]) -> str:
    first, last = window
    if last == 0:
        return "of the first step"
    return f"of step {last}" if first == last else f"of steps {max(first, 0)} to {last}"


def _count(count: int, word: str) -> str:
    if count == 1:
        return f"1 {word}"
    return f"{count} {word}es" if word.endswith(("ch", "ss")) else f"{count} {word}s"


def _join_words(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "record"
