"""What words say of a number, a value or a text: a result, a statistic, something else, or nothing known."""

from __future__ import annotations

import re

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*\w)|\bnan\b|\b[-+]?inf\b")
_NAMES = (
    "loss losses acc accuracy error err f1 auc auroc ap map precision recall score mean std ci median var "
    "variance mse rmse mae r2 bleu rouge ppl perplexity bpc wer cer iou miou dice psnr ssim fid nll elbo kl "
    "reward rewards return returns correlation likelihood logit logits prob probs probability probabilities "
    "pred preds prediction predictions predicted metric metrics accuracies scores best correct wrong tp fp "
    "tn fn"
)
_OTHER_NAMES = (
    "time runtime took elapsed eta sec secs second seconds minutes hours duration latency speed "
    "throughput fps sps tps qps mfu tflops ms date pid port memory mem size id"
)
_RESULTS, _OTHERS = frozenset(_NAMES.split()), frozenset(_OTHER_NAMES.split())
_PER_SECOND = frozenset(["per", "s"])  # samples_per_s
_STATISTICS = frozenset(["mean", "std", "ci", "median", "var", "variance"])  # of times as well
_THINGS = (  # whose number in a second is a speed; not metres, which a policy may be judged by
    r"(?:it|iter|step|batch|sample|example|ex|item|seq|sequence|sent|sentence|word|tok|token|im|img|image|frame"
    r"|clip|req|request|episode|update|graph|node|edge|point|row|record)s?"
)
_UNIT = re.compile(
    r"\s*(?:s|ms|us|ns|sec\w*|min\w*|h|hours?|s/it|[kKMGT]i?B|bytes|[fst]ps|"
    + _THINGS
    + r"/s(?:ec\w*)?)\b|\s*/s"
)
# A measure with its unit: no number by the pattern above, and none of a result.
MEASURE = re.compile(r"(?<![\w.])\d[\d.,:]*(?:[mun]?s|sec|min|h|[kKMGT]i?B|fps|it)(?:/\w+)?\b")
_FRACTION = re.compile(r"\d\.\d")
_SHARE = re.compile(r"\s*(?:%(?!\|)|percent\b)")
WORD = re.compile(r"[a-z][\w@/.-]*")
PART = re.compile(r"[a-z]+\d?")
_WORDS_OF_RUNS = "run name id session experiment host hostname user device version path file dir"
_ABOUT_RUN = frozenset(_WORDS_OF_RUNS.split())
TURNS = frozenset(["step", "epoch", "iter", "iteration", "batch", "round", "episode", "update", "fold"])
_COUNTED = re.compile(r"(?:step|epoch|iter|iteration|episode)s?")
_WORDS_OF_TEXTS = (
    "predicted predictions sample samples generated text answer answers label labels class classes best "
    "winner picked selected chosen choice top nearest ranking ranked order decoded translation caption "
    "summary"
)
_TEXTS = frozenset(_WORDS_OF_TEXTS.split())
_OF_FILES = frozenset(["timestamp", "datetime", "started", "finished", "created", "uuid", "hash"])
_WORDS_OF_TIMES = (
    "time times runtime runtimes duration durations elapsed latency latencies seconds secs timestamp "
    "timestamps ms throughput fps"
)
_TIMES = frozenset(_WORDS_OF_TIMES.split())
_WORDS_BESIDE_TIMES = "train training test val eval total wall clock per each start end all list"
_BESIDE_TIMES = frozenset([*_WORDS_BESIDE_TIMES.split(), "epochs", "steps", "array"])
_FARTHEST = 300  # characters


def classify_text(words: str) -> str:
    """The same of a text that differs, by its words or its name."""
    parts = set(PART.findall(words.lower()))
    if parts & _ABOUT_RUN:
        return "other"
    return "result" if parts & (_RESULTS | _TEXTS) else "unknown"


def names_text(words: str) -> bool:
    """Whether a text among these words may be a result itself, such as a class or an answer."""
    return bool(set(PART.findall(words.lower())) & (_TEXTS | {"prediction"}))


def is_of_time(name: str) -> bool:
    """Whether a name says that its numbers are times, and nothing else: `times`, `epoch_seconds`."""
    parts = set(PART.findall(name.lower()))
    return bool(parts & _TIMES) and parts <= _TIMES | TURNS | _BESIDE_TIMES


def counts_turns(name: str) -> bool:
    """Whether a name says that its number counts the steps or epochs of a training: `best_epoch`."""
    return any(map(_COUNTED.fullmatch, PART.findall(name.lower())))


def classify_name(name: str) -> str:
    """What a name says of its value: "result", "statistic", "other" or "unknown"."""
    parts = set(PART.findall(name.lower()))
    if parts & (_OTHERS | _ABOUT_RUN | _OF_FILES) or parts >= _PER_SECOND:
        return "other"
    return _name_kind(parts)


def read_before(line: str, number: re.Match[str]) -> str:
    """What may say what a number is, in small letters: the beginning of the line, and what stands before it.

    Not all of it: a line may hold a million numbers.
    """
    start = number.start()
    if start <= 2 * _FARTHEST:
        return line[:start].lower()
    return f"{line[:_FARTHEST]} {line[start - _FARTHEST : start]}".lower()


def classify_number(line: str, number: re.Match[str]) -> str:
    """What a number is: by a unit after it, its own words, or those before another number that it follows.

    Of a share in percent all words count, unless they may be of another number:
    "Accuracy of the network on the 10000 test images: 54 %".
    """
    if _UNIT.match(line, number.end()):
        return "other"
    before = MEASURE.sub("0", read_before(line, number))
    own = _classify_words(re.split(NUMBER, before)[-1])
    found = _classify_words(before) if own == "unknown" else own
    is_share = _SHARE.match(line, number.end()) and not _FRACTION.search(before)
    if found == "unknown" and is_share:
        return _classify_words(before, most=len(before))
    return found


def _classify_words(text: str, most: int = 2) -> str:
    parts = {part for word in WORD.findall(text)[-most:] for part in PART.findall(word)}
    return "other" if parts & _OTHERS or parts >= _PER_SECOND else _name_kind(parts)


def _name_kind(parts: set[str]) -> str:
    if not parts & _RESULTS:
        return "unknown"
    return "result" if parts & _RESULTS - _STATISTICS else "statistic"
