"""What the random number generators share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from samerun import lineage
from samerun.answers import START, Answers
from samerun.editing.edit import Edit
from samerun.mersenne import MersenneState
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.runs.plan import Control
from samerun.runs.schema import takes_tasks
from samerun.sources.evidence import rows as _rows
from samerun.sources.patching import resumed
from samerun.sources.per_sample import seeder
from samerun.sources.source import Kind, Label, Settings, Source, Undo, Variant
from samerun.streams import stream_seed

if TYPE_CHECKING:
    from samerun.editing.user_program import Code


# What seeds the global generator does not reach it.
_OWN_ADVICE = "generator.manual_seed(0)  # the generator that this line draws from"


class Rng(Source):
    """A global generator: has a state that can be digested, captured and put back.

    Controlled by seeding it from its own stream, (seed, id, the process's place in the command). A program
    that calls samerun as a library has every process seeded alike, as by `torch.manual_seed(seed)`.
    """

    kind = Kind.RNG
    modes = ("seeded", "strict", "warn")
    seeded_by: ClassVar[tuple[str, ...]] = ()  # the functions that seed it, as named in "seed" rows
    mended_by: ClassVar[str]  # the function that seeds it in a patch, by its whole name
    save_lines: ClassVar[tuple[str, str]] = ("samerun.state.capture()", "samerun.state.restore({})")
    lost: ClassVar[Label | None] = None  # what a resume without its state draws; None: no audit looks for it
    feeds: ClassVar[frozenset[str]] = frozenset()  # the phases in which trainings draw from it
    in_forks: ClassVar[bool] = True  # whether a forked child may draw from it
    begins_in_forks: ClassVar[bool] = False  # whether a forked child has another state than its parent
    _is_given = False  # by the script, under a control

    @abstractmethod
    def capture(self) -> Any:
        """Its state now, as plain values (numbers, strings, bytes, tuples of these)."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Put back what `capture` gave."""

    @abstractmethod
    def reseed(self, seed: int) -> None:
        """Seed it with 64 bits."""

    def reseed_later(self, seed: int) -> None:
        """Seed it in the middle of a program, which may have read what it was seeded with at first."""
        self.reseed(seed)

    def reseed_as_users(self, seed: int) -> None:
        """Seed it as a script does, by `mended_by`. Raises UsageError for a seed that it refuses."""
        self.reseed(seed)

    def locate(self) -> MersenneState | None:
        """Where it is, so that its draws can be counted; None for one that is no MT19937."""
        return None

    def mark(self) -> int | None:
        """The mark of that place."""
        place = self.locate()
        return None if place is None else place.mark

    def control(self, control: Control) -> Undo | None:
        """Seed it from its stream; the undo restores the state of before.

        A compatible control seeds it as a script would. A child of the command still has a stream of its own,
        and so has a process that goes on from a checkpoint, unless the script has seeded it by then.
        """
        before = self.capture()
        place = lineage.get_launched_path()

        def make_seed() -> int:
            if seeder.is_making():  # by a task, which any worker may get: it was imported, or it goes on
                return seeder.make_seed(self.id, *resumed.get_path())
            here = lineage.get_launched_path() if self.begins_in_forks else place
            return stream_seed(control.seed, self.id, *resumed.get_path(), *here)

        self._is_given = control.compatible and not place
        seeder.note_begun(self.id)
        if self._is_given:
            seeder.note_given(self.id)
            self.reseed_as_users(control.seed)
        else:
            self.reseed(make_seed())

        def resume() -> None:
            if not self._is_given:
                self.reseed_later(make_seed())

        wait = resumed.call_when_resumed(resume)

        def undo() -> None:
            wait()
            self.restore(before)

        return undo

    def begin_again(self, state: Any) -> None:
        """Put back the state of the process's start, unless the script has seeded it by now."""
        if not self._is_given:
            self.restore(state)

    def give(self) -> None:
        """The script has seeded it: its numbers are the script's from now on."""
        self._is_given = True
        seeder.note_given(self.id)

    def give_back(self) -> None:
        """The script has put a state back, as of a checkpoint: that may be one which nobody seeded."""
        self._is_given = True
        seeder.note_put_back(self.id, self.digest() or b"")

    def see_read(self) -> None:
        """The script reads its state, which it may put back later."""
        seeder.note_read(self.id, self.digest() or b"")

    def replay(self, answers: Answers) -> Undo | None:
        """Keep or put back the state with which the process begins; the undo restores the one of before."""
        before = self.capture()
        if not before:  # no device that has one
            return None
        state = answers.ask(self.id, START, lambda: before)
        if state is before:
            return None
        self.restore(state)
        return lambda: self.restore(before)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another seed; what the script seeds it with later is mixed with it."""
        before = self.capture()
        self.reseed(stream_seed(value, self.id, *lineage.get_launched_path()))
        took()
        return lambda: self.restore(before)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Another seed."""
        return [Variant("another seed", 4242, likely=0.9)]

    def recognise(self, difference: Difference) -> Evidence | None:
        """Unequal state, drawn from, before the difference; its first differing draw when recorded."""
        found = self._recognise(difference)
        if found is None or found.advice is not None:
            return found
        if takes_tasks(difference.process):  # a seed of the program that made the pool may not reach it
            advice = f"{self.mended_by}(number)  # in the task, by what it is given: another number for each"
            return replace(found, advice=advice)
        rank = next((name for name in lineage.RANKS if name in difference.a.variables), None)
        if rank is not None:
            number = f'int(os.environ["{rank}"])'
            return replace(found, advice=f"{self.mended_by}({number})  # another one on each rank")
        if difference.a.beside.get(self.id):
            advice = f"{self.mended_by}(number)  # another one for each process that draws from it"
            return replace(found, advice=advice)
        return found

    def _recognise(self, difference: Difference) -> Evidence | None:
        if _is_its_origin(self.id, difference):
            assert difference.origin is not None
            reseeded = self._reseeded(difference)
            if reseeded is not None:
                return self._given(reseeded)
            if _rows.has_agreed(difference, self.id) and not difference.origin.own_generator:
                return self._from_system(difference, None)
            site = difference.origin.call_site or difference.call_site
            if difference.origin.own_generator:
                text = f"{difference.origin.op} drew from a generator of the script's own, in another state"
                return Evidence(self.id, Strength.PLAUSIBLE, text, site, advice=_OWN_ADVICE)
            return Evidence(
                self.id,
                Strength.SEEN,
                f"{difference.origin.op} drew from it, and its state already differed",
                site,
            )
        origin = difference.origin
        shared = origin is not None and origin.inputs_equal and not origin.own_generator
        if origin is not None and shared and (not origin.draws or origin.generator_differs):
            if origin.draws and _rows.find_first_differing(difference, "seed") is not None:
                return self._before_seeding(difference)  # that seed may have been drawn from it
            return None  # a kernel's doing, or a draw from another generator
        if origin is not None and origin.draws_other_size and origin.generator == self.id:
            return None  # its state was the same before that draw, and is another one by it
        first = difference.rng_first.get(self.id)
        given = self._from_system(difference, first)
        if given is not None:
            return given
        found = None
        if first is not None and first <= difference.step and self.id in difference.drawn:
            found = self._from_state(difference, first)
        return found or self._before_seeding(difference) or self._in_a_helper(difference)

    def _from_system(self, difference: Difference, first: int | None) -> Evidence | None:
        """The script had it take a seed of the system's."""
        unseeded = self._unseeded(difference, first)
        if unseeded is None:
            return None
        where = _format_site(unseeded.call_site)
        text = f"its seed was one that the system gave, another in each run{where}"
        return Evidence(
            self.id, Strength.STRONG, text, unseeded.call_site, advice=self._advise_unseeded(unseeded)
        )

    def _before_seeding(self, difference: Difference) -> Evidence | None:
        """Drawn from while nobody had seeded it, as in an import; its states agree by now."""
        draw = _find_first_draw(self.id, difference)
        if draw is None or difference.in_workers or not _rows.is_first_draw(difference.a, draw):
            return None
        text = f"other numbers were drawn from it{_format_site(draw.call_site)}, before it was seeded"
        fed = difference.phase in self.feeds
        return Evidence(self.id, Strength.STRONG if fed else Strength.PLAUSIBLE, text, draw.call_site)

    def _in_a_helper(self, difference: Difference) -> Evidence | None:
        """Drawn from by a program that the command runs, whose files the training may read.

        Or by the very process in which the difference is, which another one has started.
        """
        draws = _rows.list_differing(difference, "draw", (self.id,))
        draw = next(filter(_rows.is_in_helper, draws), None)
        what = "a program that the command runs"
        if draw is None and "." in difference.process and not difference.in_workers:
            first = _find_first_draw(self.id, difference)
            draw = first if first is not None and first.process == difference.process else None
            what = "a process that makes the data"
        if draw is None:
            return None
        advice = None
        if self.begins_in_forks and not _rows.is_in_program(draw):  # to seed it before has no effect there
            advice = f"{self.mended_by}(number)  # in that process, with another number for each"
        text = f"{what} drew other numbers from it{_format_site(draw.call_site)}"
        return Evidence(
            self.id,
            Strength.STRONG if difference.phase in self.feeds else Strength.PLAUSIBLE,
            text,
            draw.call_site,
            advice,
        )

    def _from_state(self, difference: Difference, first: int) -> Evidence | None:
        reseeded, draw = self._reseeded(difference), _find_first_draw(self.id, difference)
        # where its own draw comes first, the seed was made of that: one rank draws it for all of them
        if reseeded is not None and not (draw and _rows.is_first_draw(difference.a, draw)):
            return self._given(reseeded)
        first_draw = draw is not None and _rows.is_first_draw(difference.a, draw)
        elsewhere = draw is not None and draw.process != difference.process
        if _rows.has_agreed(difference, self.id) and not first_draw and not elsewhere:
            return None  # it was in the same state: something else decides how often it is drawn from
        if draw is not None:
            text = f"its first differing draw is in step {draw.step}{_format_site(draw.call_site)}"
            return Evidence(self.id, Strength.SEEN, text, draw.call_site)
        text = f"its state differs from step {first} on and it is used"
        return Evidence(
            self.id,
            Strength.STRONG if difference.phase in self.feeds else Strength.PLAUSIBLE,
            text,
            difference.call_site,
        )

    def is_plain_in(self, difference: Difference) -> bool:
        """Other numbers were drawn, for the first time in the step that differs or right before it.

        Or on a line that branches, where other numbers may do nothing for a while.
        """
        seen, draw = self.recognise(difference), _find_first_draw(self.id, difference)
        if seen is None or seen.strength < Strength.SEEN or draw is None or difference.in_workers:
            return False
        return draw.step >= difference.step - 1 or _rows.has_branch(difference.a, draw.call_site)

    def _unseeded(self, difference: Difference, first: int | None) -> Row | None:
        """Where the script has it take a seed of the system's, the states having been equal until then.

        A state is known at the start of each step alone: what comes of it in that step is seen before it.
        """
        rows = difference.a.rows("unseeded", self.id) if self.id in difference.drawn else []
        return next((row for row in rows if first is None or row.step <= first), None)

    def _advise_unseeded(self, row: Row) -> str | None:
        """A seed once, without that line: a constant there would have it draw the same numbers each time."""
        if row.call_site is None or ".worker" in row.process:
            return None
        if "." in row.process:
            return f"{self.mended_by}(number)  # at {row.call_site}: another number in each process"
        return f"{self.mended_by}(0)  # once, as the script begins, in the place of {row.call_site}"

    def _given(self, seeding: Row) -> Evidence:
        """The script seeds it, with another seed each time: the reason is where the seed comes from."""
        text = f"{seeding.name} was given another seed in each run{_format_site(seeding.call_site)}"
        return Evidence(self.id, Strength.PLAUSIBLE, text, seeding.call_site)

    def _reseeded(self, difference: Difference) -> Row | None:
        for name in self.seeded_by:
            found = _rows.find_first_differing(difference, "seed", name)
            if found is not None:
                return found
        return None

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """A seed where the script gives none, or another one each time; else a line after its imports."""
        from samerun.sources.edits import global_rngs

        given = self._reseeded(difference)
        return global_rngs.seed_global(self.id, self.mended_by, self.seeded_by, difference, code, given)


def _is_its_origin(id_: str, difference: Difference) -> bool:
    origin = difference.origin
    if origin is None or not origin.draws or not origin.generator_differs or not id_.startswith("torch-"):
        return False
    if origin.generator is not None:
        return id_ == origin.generator
    devices = [other for other in difference.rng_first if other.startswith("torch-")]
    return id_ in devices or (not devices and id_ == "torch-cpu")


def _find_first_draw(id_: str, difference: Difference) -> Row | None:
    """The first differing draw of all generators, when it is this one's."""
    found = _rows.find_first_differing(difference, "draw")
    return found if found is not None and found.name == id_ else None


def _format_site(site: str | None) -> str:
    return f" at {site}" if site else ""
