"""The command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from samerun import lineage
from samerun.answers import Answers
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.runs.secrets_in_text import HIDDEN, hide_secrets
from samerun.sources.evidence import rows
from samerun.sources.source import Kind, Source, Undo

_NAME = "sys.argv"
_DIGITS = 3


class Arguments(Source):
    """The runs were started by other commands."""

    id = "arguments"
    summary = "the runs were started with other arguments"
    advice = "start both runs with the same command"
    kind = Kind.PROVENANCE
    controllable = False

    def recognise(self, difference: Difference) -> Evidence | None:
        """The commands of the manifests are not the same."""
        commands = [list(side.manifest.get("command") or ()) for side in (difference.a, difference.b)]
        if not all(commands):
            return None
        if commands[0] == commands[1]:
            return self._seeded(difference)
        only = [[word for word in commands[i] if word not in commands[1 - i]] for i in (0, 1)]
        said = [" ".join(map(str, words)) or "nothing" for words in only]
        text = f"only run A's command has {said[0]}, only run B's has {said[1]}"
        return Evidence(self.id, Strength.STRONG, text, of_other_program=True)

    def _seeded(self, difference: Difference) -> Evidence | None:
        """One command, whose program was given other arguments, by a shell script for example: a seed."""
        a, b = difference.a, difference.b
        both = [(a.argv, b.argv), *((a.programs[name], b.programs.get(name, ())) for name in a.programs)]
        changed = [pair for pair in both if pair[0] != pair[1] and all(pair)]
        found = (self._given(difference, *pair) for pair in changed)
        return next((item for item in found if item is not None), None)

    def _given(self, difference: Difference, a: Sequence[str], b: Sequence[str]) -> Evidence | None:
        from samerun.sources.edits import outside_values, shell_scripts, system_values

        found = system_values.find_seed_site(
            difference, lambda code, *at: outside_values.reads_arguments(*at)
        )
        given = {part for word in a for part in word.split("=")} - set(b)
        seed, site = found or _find_given(difference, given)
        if seed is None:
            return None
        text = f"{seed.name} got another seed in each run, at {seed.call_site}, from arguments"
        if found is not None:
            text = f"{text} at {site}"
        value = _write(seed)
        script = shell_scripts.find_argument(difference, a, b, value)
        if script is not None:
            text, site = f"{text}: {script.site} gives it {script.read}", script.site
        strength = Strength.SEEN if value in given or script is not None else Strength.PLAUSIBLE
        return Evidence(self.id, strength, text, site, "pass the same --seed")

    def replay(self, answers: Answers) -> Undo | None:
        """Keep the arguments of this program; in a replay, put those of the recorded run in their place.

        Paths stay: what a script names anew in each run (`mktemp -d`) is there in that run alone. So do
        secrets, which are not kept, and all that a program of Python under samerun passes on: that is made of
        what it has from other sources, or is true of this run alone (a port that is free now).
        """
        if lineage.find_parent_path(os.getppid()) is not None:
            return None
        now = sys.argv[1:]
        had = answers.recall(self.id, _NAME)
        words = now
        if had is not None and len(had) != len(now):
            answers.part(
                self.id, _NAME, "", f"it has {len(now)} arguments, and the recorded run had {len(had)}"
            )
        elif had is not None:
            words = [then if _can_be_given(then, word) else word for then, word in zip(had, now, strict=True)]
        if words != now:
            sys.argv[1:] = words
        answers.keep(self.id, _NAME, list(hide_secrets(("", *words))[1:]), given=words != now)
        return None


def _can_be_given(then: str, word: str) -> bool:
    return HIDDEN not in then and not any(mark in text for text in (then, word) for mark in "/\\")


def _find_given(difference: Difference, given: set[str]) -> tuple[Row | None, str | None]:
    """The first seed that differs and is one of the words that only run A was given, and its line.

    Of one with few digits that may be chance.
    """
    seeds = rows.list_differing(difference, "seed")
    words = {word for word in given if len(word) >= _DIGITS}
    seed = next((row for row in seeds if _write(row) in words), None)
    return seed, None if seed is None else seed.call_site


def _write(seed: Row) -> str | None:
    """A seed as it stands on a command line."""
    return None if seed.value is None else f"{seed.value:.0f}"
