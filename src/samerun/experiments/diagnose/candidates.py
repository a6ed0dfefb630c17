"""Holds the candidates for one first difference against further runs: which of them removes it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samerun.comparing.comparison import Comparison
from samerun.controls import is_contradicted
from samerun.editing.edit import NoEdit
from samerun.experiments.check.zoom import Zoom
from samerun.experiments.diagnose.controlled_runs import ControlledRuns, Prepared, ProofRuns
from samerun.experiments.diagnose.edited_copy import make_edited_copy
from samerun.experiments.diagnose.replays import Replays
from samerun.experiments.replayed import judge_parted
from samerun.experiments.trials import stop_at_first
from samerun.explaining.cause import Cause, Findings, make_cause
from samerun.explaining.confirm import SURE, is_free, judge, points
from samerun.explaining.delta_debugging import find_smallest
from samerun.explaining.explain import explain
from samerun.explaining.line_map import map_site
from samerun.explaining.locate import locate_cause
from samerun.explaining.patch import Patch, patch
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Plan
from samerun.runs.store import Run
from samerun.sources.base.system_value import World
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Kind

_NOT_ALL = "the runs still differ with every controllable source controlled"
_BY_CHANCE = "runs with {} controlled agreed at first, then differed; the agreement was chance"
_LITTLE = 2.0  # times a run that stops; two of these are saved where whole ones are the proof
_START_S = 3.0  # until a script has imported torch and trains
_MOST_EDITED = 2  # sources that are tried by a patch, too
_UNSEEN = "controlling it removes the difference, although nothing that was recorded points to it"


class Candidates:
    """Holds the candidates for one difference against further runs."""

    def __init__(
        self,
        settled: ControlledRuns,
        closer: Zoom,
        evidence: Sequence[Evidence],
        *,
        certain: bool,
        to_the_end: bool,
        already_refuted: Sequence[Evidence] = (),
    ) -> None:
        self._settled = settled
        self._closer = closer
        self._certain = certain  # the difference is always there: two runs without it are enough
        self._to_the_end = to_the_end  # runs that part later prove nothing
        self._already_refuted = already_refuted  # alone; several together are still to be tried
        self._evidence = {item.source: item for item in (*already_refuted, *evidence)}
        self._proven: dict[frozenset[str], ProofRuns] = {}
        self._replays = Replays(settled, closer, self._evidence, to_the_end=to_the_end)
        self._refuted: list[Evidence] = []  # the code with a patch for one of these parts where it did

    def can_try(self, source: str) -> bool:
        """Whether a trial can tell something: it can be controlled, and is not yet."""
        settled = self._settled
        known = find_sources().get(source)
        if known is None or source in settled.controlled():
            return False
        way, base = settled.way(source), settled.trials.request.control
        if way == "control":
            return not (is_contradicted(source) or known.is_controlled_by(base))
        if self._replays.can_prove(source):
            return True
        return settled.start is not None and (way == "fresh" or bool(self._edits((source,))))

    def can_try_alone(self, source: str) -> bool:
        """Whether it can be tried, and has better evidence than what may be by luck.

        Where something races, what hardly anything points to is tried with all the others: that they do not
        help tells as much in fewer runs.
        """
        found = self._evidence.values()
        return self.can_try(source) and (
            points(self._evidence[source]) or not is_free(list(filter(points, found)))
        )

    def _edits(self, sources: Sequence[str]) -> list[tuple[Difference, Cause]]:
        """The causes among these that only a patch controls; [] when no edit can."""
        difference = self._closer.difference
        causes = [
            (difference, make_cause(self._evidence[source]))
            for source in sources
            if source in self._evidence
            and self._settled.way(source) == "patch"
            and not self._replays.can_prove(source)
        ]
        settled = self._settled
        made = patch([*settled.patched, *causes], settled.trials.request.folder, settled.by_edit())
        if not causes or made is None or any(cause.source in made.cannot for _, cause in causes):
            return []
        return causes

    def trial(self, sources: tuple[str, ...], count: int) -> Comparison:
        """Runs with these controlled, whole where that is likely to be the proof already."""
        if len(sources) == 1 and (contradicts := self._replays.refute(sources[0])) is not None:
            return contradicts
        likely = not self._proven or (len(sources) == 1 and self._is_short())
        return self._told(self._record(sources, count, None if likely else self._closer.stop_after))

    def _told(self, proven: ProofRuns) -> Comparison:
        """What runs say, at the lines of the code of now: an edit of theirs may have moved them."""
        difference, settled = proven.comparison.difference, self._settled
        if difference is None or proven.patch is None or difference.call_site is None:
            return proven.comparison
        folder = settled.trials.request.folder
        now = patch(settled.patched, folder, settled.by_edit())
        site = map_site(difference.call_site, proven.patch.files, {} if now is None else now.files, folder)
        return replace(proven.comparison, difference=replace(difference, call_site=site))

    def _is_short(self) -> bool:
        """Whether a whole run takes little longer than one that stops at the difference."""
        runs = self._settled.trials.recorded.values()
        whole = [run.duration_s for run in runs if run.outcome == "finished"]
        stopped = [run.duration_s for run in runs if run.outcome == "stopped"]
        return bool(whole) and min(whole) < _LITTLE * min(stopped, default=_START_S)

    def _mends(self, comparison: Comparison) -> bool:
        return judge(comparison, self._closer.difference, to_the_end=self._to_the_end) == "mended"

    def _record(self, sources: Sequence[str], count: int, stop: int | None) -> ProofRuns:
        settled = self._settled
        stop = None if self._to_the_end else stop
        asked, count = count, self._needed(count)
        before = self._proven.get(frozenset(sources))
        agreed: Sequence[Run] = ()
        if self._certain and before is not None and before.comparison.verdict == "same":
            stop = None if before.whole and self._is_short() else stop
            agreed = before.runs if before.whole == (stop is None) else ()
            if len(agreed) >= count:
                return before
        named = sources if len(sources) < 5 else (*sources[:3], f"{len(sources) - 3} more")
        plan = Plan(window=self._closer.window, stop_after=stop, control=settled.control(*sources))
        replayed = tuple(filter(self._replays.can_prove, sources))
        with settled.prepared(sources, self._edits(sources)) as prepared:
            if replayed:
                run = self._replays.find_repeated(plan, prepared)
                plan, prepared = self._replays.give(run, replayed, plan, prepared)
                agreed = agreed or self._replays.list_alike(run, sources, plan)
            stage = f"{'replaying' if replayed == tuple(sources) else 'confirming'} {' + '.join(named)}"
            goes_on = self._mends if asked >= SURE else stop_at_first
            proven = settled.further(stage, count, plan, prepared, agreed, goes_on)
        if replayed and proven.comparison.difference is not None:
            comparison = judge_parted(proven.runs[-1], proven.comparison, replayed)
            proven = replace(proven, comparison=comparison)
        self._proven[frozenset(sources)] = proven
        return proven

    def _needed(self, count: int) -> int:
        if self._certain and count < SURE:
            return self._settled.needed(2)
        if self._closer.window is None:  # it was seen once, in the two runs that part
            count = max(count, 3)
        return self._settled.needed(count)

    def patched(self) -> Findings | None:
        """The best candidate, when the code with its edits and those of all causes before repeats itself.

        Mostly that is the last cause: these runs then prove it and its patch in one. When they part where
        they did, the next candidate has its turn.
        """
        for item in self._list_new()[:_MOST_EDITED]:
            if self._replays.refute(item.source) is not None:
                self._refuted.append(item)
                continue
            proven = self._with_patch(item)
            if proven is None:
                return None
            if proven.comparison.verdict == "same":
                return Findings(
                    (make_cause(item, confirmed=True),), (), tuple(map(make_cause, self._refuted))
                )
            if judge(self._told(proven), self._closer.difference, to_the_end=self._to_the_end) != "still":
                return None
            self._refuted.append(item)
        return None

    def _with_patch(self, item: Evidence) -> ProofRuns | None:
        """Runs of the code with the edits for a candidate and all causes before; None: that tells nothing."""
        settled, difference = self._settled, self._closer.difference
        if settled.start is None or item.source in settled.controlled():
            return None
        wanted = [*settled.causes, (difference, make_cause(item))]
        made = patch(wanted, settled.trials.request.folder, settled.by_edit())
        if made is None or not made.diff or made.cannot or self._rivalled(item, made):
            return None
        request, seen = settled.trials.request, item.strength >= Strength.SEEN
        plan = Plan(window=None if self._is_late() and seen else self._closer.window, control=request.control)
        stage = f"checking the code with a patch for {item.source}"
        try:
            with make_edited_copy(settled.start, made, request.command) as copy:
                prepared = Prepared(request.workspace.within(copy), made)
                proven = settled.further(stage, self._needed(2 if seen else 3), plan, prepared)
        except NoEdit:  # a file to edit is linked to, and too large to be copied
            return None
        if proven.comparison.verdict == "same":
            settled.patch = replace(made, verified=True, runs=tuple(run.id for run in proven.runs))
            settled.edited.add(item.source)
            self._proven[frozenset([item.source])] = proven
        return proven

    def _is_late(self) -> bool:
        """Whether the window is behind the first step: its operations take time, and are no longer needed."""
        return self._closer.window is not None and self._closer.window[1] > 0

    def in_turn(self) -> list[Evidence]:
        """The candidates, those last whose patch did not help: their controls reach further."""
        return sorted(self._list_new(), key=lambda item: item in self._refuted)

    def _list_new(self) -> list[Evidence]:
        return [item for item in self._evidence.values() if item not in self._already_refuted]

    def _rivalled(self, best: Evidence, made: Patch) -> bool:
        """Whether the patch for another candidate changes a line of this one: either may mend both.

        Not where the line reads a clock or the like: it feeds a generator, which is no reason beside it. Nor
        where that is weaker evidence from the very line at which this one was seen directly, or where no runs
        could tell them apart: neither has another way to be controlled than an edit of that line.
        """
        settled, difference = self._settled, self._closer.difference
        known = find_sources()
        source = known[best.source]
        edited = settled.way(best.source) == "patch"
        read = isinstance(source, World) and source.is_read_in(difference, _list_changed(made))
        for item in self._evidence.values():
            if item is best or item in self._refuted or not points(item):
                continue
            if read and known[item.source].kind is Kind.RNG:
                continue
            if edited and settled.way(item.source) == "patch":
                continue
            if (
                best.strength >= Strength.SEEN > item.strength
                and item.call_site == best.call_site is not None
            ):
                continue
            wanted = [*settled.causes, (difference, make_cause(item))]
            other = patch(wanted, settled.trials.request.folder, settled.by_edit())
            if other is not None and _list_changed(other) & _list_changed(made):
                return True
        return False

    def edited(self, findings: Findings) -> Findings:
        """A patch reaches what the control of a source may not, such as a generator of the script's own."""
        settled = self._settled
        if settled.start is None:
            return findings
        before = {item.source for item in self._already_refuted}
        unreached = (cause for cause in findings.causes if self._is_unreached(cause))
        known = find_sources()
        new = [
            cause
            for cause in (*findings.ruled_out, *unreached)
            if cause.source not in before and not known[cause.source].reaches_all
        ]
        for cause in new[:_MOST_EDITED]:
            settled.edited.add(cause.source)
            if self._edits((cause.source,)) and self._mends(self.trial((cause.source,), 3)):
                left = tuple(other for other in findings.ruled_out if other is not cause)
                return replace(findings, causes=(replace(cause, confirmed=True),), ruled_out=left)
            settled.edited.discard(cause.source)
        return findings

    def _is_unreached(self, cause: Cause) -> bool:
        found = self._evidence.get(cause.source)
        return found is not None and found.in_library

    def read(self, findings: Findings) -> Findings:
        """What the system gives, where the code reads it before the runs part: mostly it does no harm."""
        evidence = list(self._evidence.values())
        if (self._to_the_end and is_free(evidence)) or any(
            item.strength >= Strength.SEEN for item in evidence
        ):
            return findings
        for id_, source in find_sources().items():
            held = self._settled.way(id_) == "control" or self._replays.can_prove(id_)
            if id_ in self._evidence or not isinstance(source, World) or not held:
                continue
            reads = source.reads(self._closer.difference)
            if not reads or not self.can_try(id_) or not self._mends(self.trial((id_,), 3)):
                continue
            if self._is_sure((id_,)):  # most scripts read a clock for their log
                name = reads[-1].name
                text = f"{name} is read before the runs diverge; with it controlled, the difference is gone"
                found = Evidence(id_, Strength.SLIGHT, text, reads[-1].call_site)
                return replace(findings, causes=(make_cause(found, confirmed=True),))
        return findings

    def everything(self, findings: Findings) -> Findings:
        """Controls all that can be controlled, then as little of it as mends the difference."""
        if findings.causes and self._evidence[findings.causes[0].source].strength >= Strength.SEEN:
            return findings  # seen directly, and there is no way to control it
        ids = [id_ for id_ in find_sources() if self._settled.way(id_) == "control" and self.can_try(id_)]
        ids.sort(key=lambda id_: (id_ not in self._evidence, id_))
        if not ids or not self._all_mend(tuple(ids)):
            left = [cause for cause in findings.causes if cause.source not in ids or self._points(cause)]
            causes = tuple(left) or findings.causes
            return replace(findings, causes=causes, notes=(*findings.notes, _NOT_ALL))
        known = {
            next(iter(key))
            for key, proven in self._proven.items()
            if len(key) == 1 and judge(self._told(proven), self._closer.difference) == "still"
        }
        likely = [id_ for id_ in ids if id_ in self._evidence or find_sources()[id_].kind is Kind.RNG]
        if 1 < len(likely) < len(ids) and self._mends(self.trial(tuple(likely), 3)):
            ids = likely  # mostly several generators, of which not each one's draws were recorded
        needed = find_smallest(ids, lambda part: self._mends(self.trial(tuple(part), 3)), fail_alone=known)
        pointed = all(id_ in self._evidence and points(self._evidence[id_]) for id_ in needed)
        if not pointed and not self._is_sure(needed):
            return replace(findings, notes=(*findings.notes, _BY_CHANCE.format(" and ".join(needed))))
        named = [
            make_cause(
                self._evidence.get(id_) or self._unseen(id_),
                confirmed=True,
                together=len(needed) > 1,
            )
            for id_ in needed
        ]
        ruled_out = tuple(cause for cause in findings.ruled_out if cause.source not in needed)
        return replace(findings, causes=tuple(named), ruled_out=ruled_out)

    def _points(self, cause: Cause) -> bool:
        return points(self._evidence[cause.source])

    def _all_mend(self, sources: tuple[str, ...]) -> bool:
        """Whether runs agree with all these controlled; where something races, many of them, to their end."""
        if self._to_the_end or self._is_free():
            return self._record(sources, SURE, None).comparison.verdict == "same"
        return self._mends(self.trial(sources, 3))

    def _is_free(self) -> bool:
        """Whether something without a control points to itself: here, or where runs with some held parted."""
        parted = (proven.comparison.difference for proven in self._proven.values())
        left = [item for each in parted if each is not None for item in explain(each)[0]]
        return is_free([*self._evidence.values(), *filter(points, left)])

    def _is_sure(self, sources: Sequence[str]) -> bool:
        """Whether as many runs agree as it takes where nothing that was recorded points to a source."""
        proven = self._record(sources, SURE, self._closer.stop_after)
        return self._mends(self._told(proven))

    def _unseen(self, id_: str) -> Evidence:
        """What is known of a source that nothing pointed to: where the code reads it, or would be edited."""
        difference, source = self._closer.difference, find_sources()[id_]
        found = Evidence(id_, Strength.LAST_RESORT, _UNSEEN)
        reads = source.reads(difference) if isinstance(source, World) else []
        site = reads[-1].call_site if reads else None
        folder = self._settled.trials.request.folder
        return replace(found, call_site=site or locate_cause(difference, make_cause(found), folder))

    def proof(self, findings: Findings) -> ProofRuns | None:
        """Whole runs with the confirmed causes controlled, in which the difference is gone."""
        ids = tuple(cause.source for cause in findings.causes if cause.confirmed)
        if not ids:
            return None
        proven = self._proven[frozenset(ids)]
        if proven.whole:
            return proven
        again = self._record(ids, 2, None)
        return again if self._mends(self._told(again)) else None


def _list_changed(made: Patch) -> set[str]:
    """The lines that a patch changes or takes out, as they were."""
    return {
        line[1:] for line in made.diff.splitlines() if line.startswith("-") and not line.startswith("---")
    }
