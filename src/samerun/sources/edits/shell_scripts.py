"""What a shell script or a Makefile gives a program that is another value in each run, and its line there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from samerun.runs import untrusted
from samerun.runs.difference import Difference
from samerun.runs.source_lines import is_shell_script

# What gives another value in each run, in the words of sh, bash, zsh and make.
_READS = re.compile(
    r"\$\{?S?RANDOM\b|(?<=\(\()[^)]*\bS?RANDOM\b|/dev/u?random\b|/proc/sys/kernel/random/\w+"
    r"|(?<![\w.-])(shuf|uuidgen|mktemp)(?![\w.-])|\bsort\s+(-\w+\s+)*(-\w*R\b|--random-sort)|\bopenssl\s+rand\b"
    r"|\bjot\s+-r\b|\brand\(\)|(?<![\w-])date(?=\s+[-+]|\s*[)`])|\$\{?EPOCH(SECONDS|REALTIME)\b|\$\{?SECONDS\b"
    r"|\$\$(?![\w{(])|\$\{?(BASHPID|PPID)\b"
)
_PIECE = r"\"(?:\\.|[^\"\\])*\"|'[^']*'|`[^`]*`|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|[^\s;&|\"'`()]"
_VALUE = rf"(?:{_PIECE})+"
_NAMES = re.compile(r"\$[{(]?([A-Za-z_]\w*)")
_SCRIPTS = re.compile(r"[\w./-]+\.(?:ba|z)?sh\b")
_FILES = re.compile(r"[\w./-]*\w\.\w+")
_JOINED = "\v"  # a continued line: white space, and counted as the end of a line still
_ENDS = re.compile(r"[\n\v]")
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*$")
_DEEPEST = 6
_MOST_SCRIPTS = 8
_MOST_WORDS = 64
_MOST_BYTES = 256 << 10  # of a script that people write


class Given(NamedTuple):
    """Where a script reads what it passes on."""

    site: str  # as call sites are, "run.sh:4"
    read: str  # "$RANDOM"


class _Script(NamedTuple):
    path: str  # relative to the working directory
    text: str  # without comments, each line where it was

    def site(self, offset: int) -> str:
        return f"{self.path}:{len(_ENDS.findall(self.text, 0, offset)) + 1}"


def find_argument(
    difference: Difference, a: Sequence[str], b: Sequence[str], value: str | None
) -> Given | None:
    """The line of the command's script that reads what it passes as an argument, another one in each run.

    `a` and `b` are the command lines of a program in both runs, `value` what it was given in run A, where
    that is known. None where no script of the command reads it.
    """
    scripts = _read_scripts(difference)
    if not scripts:
        return None
    options = _list_options(a, b, value)
    for option in options:
        found = _find_at(scripts, rf"(?<!\S){re.escape(option)}(?:=|\s+)({_VALUE})")
        if found is not None:
            return found
    if options:
        return None
    program = next((word for word in a[1:] if not word.startswith("-")), "")
    name = re.escape(PurePath(program).name)
    return _find_at(scripts, rf"{name}\S*(?=\s)([^\n;&|]*)") if name else None


def find_variable(difference: Difference, name: str) -> Given | None:
    """The same of a variable of the environment."""
    return _find_variable(_read_scripts(difference), name, _DEEPEST)


def find_file(difference: Difference, path: str, started: Sequence[str] = ()) -> Given | None:
    """The same of what a script writes into a file; `started`: scripts that the code itself may start."""
    return _find_written(_read_scripts(difference, started), PurePath(path).name, _DEEPEST)


def _find_written(scripts: Sequence[_Script], name: str, depth: int) -> Given | None:
    """The read in a line that writes a file of this name, or the files that the line reads."""
    into = rf"(>|\s-o\s?|\s--output[= ])\s*([^\s;&|<>]*[^\w.\s;&|<>-])?{re.escape(name)}(?![\w.-])"
    for script in scripts:
        for match in re.finditer(rf"(?m)^.*{into}.*$", script.text):
            line = match[0]
            if (found := _find_read(scripts, script, match.span(), depth)) is not None:
                return found
            others = {PurePath(other).name for other in _FILES.findall(line)} - {name}
            for other in sorted(others) if depth else ():
                if (found := _find_written(scripts, other, depth - 1)) is not None:
                    return found
    return None


def _list_options(a: Sequence[str], b: Sequence[str], value: str | None) -> list[str]:
    """The options that were given another value, the one that was given `value` first; none by position."""
    found: list[tuple[bool, str]] = []
    for at, (one, other) in enumerate(zip(a, b, strict=False)):
        if one == other:
            continue
        name, equals, given = one.rpartition("=")
        option = name if equals else a[at - 1] if at else ""
        if equals or option.startswith("-"):
            found.append(((given if equals else one) != value, option))
    return [option for _, option in sorted(found, key=lambda item: item[0])]


def _read_scripts(difference: Difference, more: Sequence[str] = ()) -> list[_Script]:
    """The scripts that the command starts, `more`, and those that they name."""
    manifest = difference.a.manifest
    command, folder = [str(word) for word in manifest.get("command") or ()], str(manifest.get("cwd") or "")
    if command and PurePath(command[0]).name in ("make", "gmake"):
        command = ["Makefile", "makefile", "GNUmakefile"]
    words = command[:_MOST_WORDS]
    within = [name for word in words if " " in word for name in _SCRIPTS.findall(word)]  # bash -c "…"
    waiting, found = [*words, *within, *more], list[_Script]()
    while waiting and folder and len(found) < _MOST_SCRIPTS:
        path = PurePath(waiting.pop(0)).as_posix()
        text = _read_script(Path(folder, path)) if path not in {script.path for script in found} else None
        if text is not None:
            found.append(_Script(path, text))
            beside = PurePath(path).parent
            named = _SCRIPTS.findall(text)
            waiting += [item for name in named for item in (name, (beside / PurePath(name).name).as_posix())]
    return found


def _read_script(path: Path) -> str | None:
    try:
        text = untrusted.read_text(path, _MOST_BYTES, errors="replace")
    except OSError:
        return None
    if not is_shell_script(path, text):
        return None
    return _COMMENT.sub("", text).replace(_JOINED, " ").replace("\\\n", _JOINED)


def _find_at(scripts: Sequence[_Script], pattern: str) -> Given | None:
    """What the group of the pattern leads to, wherever it is found."""
    for script in scripts:
        for match in re.finditer(pattern, script.text):
            if (found := _find_read(scripts, script, match.span(1), _DEEPEST)) is not None:
                return found
    return None


def _find_read(
    scripts: Sequence[_Script], script: _Script, span: tuple[int, int], depth: int
) -> Given | None:
    """The read within a piece of text, or within what its variables were set to."""
    read = _READS.search(script.text, *span)
    if read is not None:
        return Given(script.site(read.start()), read[0].strip())
    for name in dict.fromkeys(_NAMES.findall(script.text, *span)) if depth else ():
        if (found := _find_variable(scripts, name, depth - 1)) is not None:
            return found
    return None


def _find_variable(scripts: Sequence[_Script], name: str, depth: int) -> Given | None:
    for script in scripts:
        for match in _list_settings(script.text, name):
            if (found := _find_read(scripts, script, match.span(1), depth)) is not None:
                return found
    return None


def _list_settings(text: str, name: str) -> Iterator[re.Match[str]]:
    """Where a variable is set: NAME=value, NAME ?= value of make, for NAME in values, read NAME < file."""
    yield from re.finditer(rf"(?<![\w$-]){name}\s*[:?+!]?=[ \t]*({_VALUE})", text)
    yield from re.finditer(rf"\bfor\s+{name}\s+in\s+([^\n;]*)", text)
    yield from re.finditer(rf"(?m)^(.*\bread\s+(?:-\w+\s+)*{name}\b.*)$", text)
