"""Whether a suite's tests end alike in every way that it was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from guests.suite import Suite, Told
from guests.ways import Ran

RECORDED = ("off", "ops")
ABSENT = "not run"
SHOWN = 30  # tests that part, of each suite


@dataclass(frozen=True)
class Parted:
    """One test that ends in another way than plain."""

    test: str
    way: str
    plain: str
    here: str
    why: str
    explained: Told | None


@dataclass(frozen=True)
class Judged:
    """One suite and what became of its tests."""

    suite: Suite
    ran: Mapping[str, Ran | None]
    flaky: tuple[str, ...]  # tests that differ between two plain runs, or are known to
    parted: tuple[Parted, ...]
    codes: Mapping[str, int]  # ways that exit otherwise than plain while no test parts

    @property
    def unexplained(self) -> list[Parted]:
        """What parts without a reason that is right."""
        return [each for each in self.parted if each.explained is None]

    def count(self, way: str) -> int:
        """How many tests part in this way, unexplained ones and others."""
        return sum(each.way == way for each in self.parted)

    def ratio(self, way: str) -> float | None:
        """The CPU time of this way over that of the plain run."""
        plain, here = self.ran["plain"], self.ran[way]
        return None if plain is None or here is None else here.cpu_s / plain.cpu_s

    def text(self) -> str:
        """What to print of it."""
        plain = self.ran["plain"]
        if plain is None:
            return f"{self.suite.name}: no plain run"
        counts = ", ".join(f"{n} {outcome}" for outcome, n in Counter(plain.outcomes.values()).most_common())
        ratios = {way: self.ratio(way) for way in ("off", "ops", "strict")}
        times = ", ".join(f"{way} {ratio:.2f}x" for way, ratio in ratios.items() if ratio is not None)
        lines = [f"{self.suite.name}: {len(plain.outcomes)} tests ({counts}); {plain.cpu_s:.0f} s; {times}"]
        lines += [f"  differs between plain runs: {test}" for test in self.flaky]
        lines += [
            f"  {way} exits with {code}, plain with {plain.exit_code}" for way, code in self.codes.items()
        ]
        for each in self.parted[:SHOWN]:
            reason = "UNEXPLAINED" if each.explained is None else each.explained.reason
            lines.append(f"  {each.way}: {each.test}: {each.plain} → {each.here} ({reason}) {each.why!r}")
        if len(self.parted) > SHOWN:
            lines.append(f"  and {len(self.parted) - SHOWN} more")
        return "\n".join(lines)


def judge(suite: Suite, ran: Mapping[str, Ran | None]) -> Judged:
    """Compare each way that was run with the plain run."""
    plain, again = ran["plain"], ran["again"]
    if plain is None:
        return Judged(suite, ran, (), (), {})
    other = set() if again is None else _differing(plain, again)
    known = {test for test in plain.outcomes if any(told.holds(test) for told in suite.flaky)}
    flaky = other | known
    parted: list[Parted] = []
    codes: dict[str, int] = {}
    for way in (*RECORDED, "strict"):
        here = ran[way]
        if here is None:
            continue
        differing = _differing(plain, here)
        for test in sorted(differing - flaky):
            explained = [told for told in suite.parts if told.way == way and told.holds(test)]
            outcome = here.outcomes.get(test, ABSENT)
            parted.append(
                Parted(
                    test=test,
                    way=way,
                    plain=plain.outcomes.get(test, ABSENT),
                    here=outcome,
                    why=here.why.get(test, plain.why.get(test, "")),
                    explained=next(iter(explained), None),
                )
            )
        if not differing and here.exit_code != plain.exit_code:
            codes[way] = here.exit_code
    return Judged(suite, ran, tuple(sorted(flaky)), tuple(parted), codes)


def _differing(one: Ran, other: Ran) -> set[str]:
    tests = one.outcomes.keys() | other.outcomes.keys()
    return {test for test in tests if one.outcomes.get(test) != other.outcomes.get(test)}
