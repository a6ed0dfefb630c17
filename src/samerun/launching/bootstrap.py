"""Inside each process of a recorded command: observe and control the sources, then begin recording.

Nothing of ours that fails may reach the user's code; it is written into the run's folder instead. The one
exception is a control that can no longer take effect: going on would break the promise, so the process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from samerun import callsite, lineage, set_variables, torch_version, wrapping
from samerun.errors import SamerunError, TooLate, TorchNeeded, UsageError
from samerun.import_hook import ImportHook
from samerun.interruption import ended_by, is_the_scripts
from samerun.launching.frozen_imports import leave_importers_out, unfreeze_where_seen
from samerun.launching.marker_files import PYTHON_SEEN, TORCH_SEEN, mark, name_marker
from samerun.recording import start as start_recording
from samerun.runs.plan import Plan
from samerun.runs.recorder_errors import NO_TORCH, complain
from samerun.sources.base.rng import Rng
from samerun.sources.source import Source

if TYPE_CHECKING:
    from samerun.answers import Answers
    from samerun.recording.evidence_log import Journal
    from samerun.recording.sealed_copy import Seal


def start_from(text: str) -> None:
    """Start the plan that SAMERUN_PLAN holds. Raises SystemExit(2) when a control comes too late."""
    start(Plan.from_json(text))


def start(plan: Plan) -> None:
    """Act on the plan now, and on each module that sources name once it is imported.

    Raises SystemExit(2) when a control comes too late.
    """
    mark(plan.run, PYTHON_SEEN)
    if plan.hash_seed is not None and plan.tier != "none":
        from samerun.sources import hash_seed

        with contextlib.suppress(Exception):  # it goes on as it is, and its records say so
            hash_seed.make_known(plan.run, plan.hash_seed)
    _print_by_lines()
    process = _Process(plan)
    _started.append(process)
    process.begin()


def begin_cells() -> None:
    """The first cell of a notebook is about to run: what its kernel drew as it started counts for nothing."""
    for process in _started:
        process.put_back()


def end_cells() -> None:
    """The last cell of a notebook has run: what is recorded is complete, however its kernel ends."""
    for process in _started:
        process.end()


def _print_by_lines() -> None:
    """Pass on what is printed line by line, as a terminal shows it: our pipe would hold it back.

    Not unbuffered: a print of several words would then be torn by what other processes print.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def _list_modules(source: Source) -> tuple[str, ...]:
    return (source.hooks_into, *source.also_hooks_into)


def _is_of_torch(module: str) -> bool:
    return module.partition(".")[0] == "torch"


_started: list[_Process] = []


class _Process:
    """The plan at work in this process."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._journal: Journal | None = None
        self._answers: Answers | None = None
        self._sources: list[Source] = []
        self._controlled: set[str] = set()
        self._recording = False
        self._sealed: Seal | None = None
        self._begun: list[tuple[Rng, Any]] = []  # what was done to a generator at the start, by its state
        self._without_torch = False  # it was asked for and is not there
        self._torch_outdated = False

    def begin(self) -> None:
        if self._plan.folder is not None:
            callsite.show_from(self._plan.folder, self._plan.root or "")
        if self._plan.root is not None:
            from samerun.digest.values import digest_as_in_original
            from samerun.launching.copies.imports_from_copy import import_from_copy
            from samerun.recording.sealed_copy import seal

            self._sealed = seal(
                self._plan.root, self._plan.folder or os.getcwd(), self._plan.run, self._plan.kept_since
            )
            digest_as_in_original(self._plan.root)
            import_from_copy(self._plan.root)
        if self._plan.tier != "none":
            self._try("the record of evidence", self._open_journal, broken=True)
            self._try("the variables that were set", set_variables.remember)
        self._try("the catalogue of sources", self._find_sources, broken=True)
        watched = {name for source in self._sources for name in _list_modules(source) if name}
        if self._plan.control is not None or self._plan.vary or self._plan.tier != "none":
            self._try("following processes", self._follow_processes)
            watched.add(lineage.MULTIPROCESSING)
        if self._sealed is not None:
            watched |= self._sealed.watched
        if self._plan.tier != "none":
            self._try("keeping what sources give", self._open_answers)
        hook = ImportHook(
            watched | start_recording.list_watched(self._plan), self._imported, self._importing, self._missing
        )
        self._act("")
        if self._plan.control is not None or self._plan.replay is not None or self._plan.vary:
            self._try("keeping the first states", self._keep_first)
        hook.install()
        atexit.register(self._at_exit)
        self._try("following the end of forks", self._watch_forks)
        if self._plan.lines:
            self._try("following lines", self._follow_lines)
        if self._plan.asked:
            self._try("looking at what is hashed", self._watch_hashed)

    def _follow_lines(self) -> None:
        from samerun.recording.lines import follow

        follow.start(self._plan.run, self._plan.given)

    def _watch_hashed(self) -> None:
        from samerun.recording.lines import hashed

        if self._journal is not None:
            hashed.watch(self._journal, self._plan.asked)

    def _open_journal(self) -> None:
        from samerun.recording.evidence_log import Journal

        self._journal = Journal(self._plan)
        start_recording.prepare(self._journal)

    def _open_answers(self) -> None:
        from samerun.answers import Answers

        if self._plan.hash_seed is not None:
            from samerun.sources import hash_seed

            hash_seed.hide_given(self._plan.hash_seed)
        replay = self._plan.replay
        self._answers = Answers(
            self._plan.run,
            None if replay is None else replay.run,
            lambda source: replay is not None and replay.holds(source),
        )

    def _find_sources(self) -> None:
        from samerun.sources.catalogue import find_sources

        self._sources = list(find_sources().values())
        if self._plan.control is not None:
            from samerun.controls import select_sources

            self._controlled = {source.id for source in select_sources(self._plan.control)}

    @contextlib.contextmanager
    def _importing(self, module: str) -> Iterator[None]:
        """While torch is imported, no garbage is collected, and what is there then is passed over later.

        It stays, so collections of it take time and free nothing. See docs/decisions/0011.
        """
        if module != "torch" or self._journal is None:
            yield
            return
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
            leave_importers_out()
            atexit.register(unfreeze_where_seen)
            gc.freeze()
        except (ImportError, OSError) as error:
            self._missing(module, error)
            raise
        finally:
            if collects:
                gc.enable()

    def _missing(self, module: str, error: BaseException | None = None) -> None:
        """Tell of a torch that is not there, once: it may be why the run has no records."""
        if module == "torch" and not self._without_torch:
            self._without_torch = True
            complain(self._plan.run, torch_version.absent(error), name=NO_TORCH)

    def _imported(self, module: str) -> None:
        if _is_of_torch(module) and self._is_outdated():
            return
        if module == lineage.MULTIPROCESSING:
            self._try("following processes", lambda: lineage.follow_multiprocessing(sys.modules[module]))
        self._act(module)
        if self._sealed is not None:
            self._sealed.seal_module(module)
        if module == "torch":
            mark(self._plan.run, TORCH_SEEN)
        if module in start_recording.list_watched(self._plan):
            self._try("the recorder", lambda: self._record(module), broken=True)

    def _is_outdated(self) -> bool:
        """Whether this process has a torch that is too old: it is left alone, and the run reports it.

        Raises SystemExit(2) where the plan controls what is torch's: that cannot be kept.
        """
        if self._torch_outdated:
            return True
        why = torch_version.outdated(sys.modules.get("torch"))
        if why is None:
            return False
        self._torch_outdated = True
        if any(_is_of_torch(source.hooks_into) for source in self._sources if source.id in self._controlled):
            error = TorchNeeded(
                f"this training cannot be controlled: {why}, or train without control: "
                "samerun run --mode off -- …"
            )
            complain(self._plan.run, str(error))
            _end_with(error)
        complain(self._plan.run, f"nothing was recorded: {why}", broken=True)
        return True

    def _act(self, module: str) -> None:
        """Observe, then control, each source that waits for `module` ("": for nothing)."""
        for source in self._sources:
            if module not in _list_modules(source):
                continue
            self._try(f"observing {source.id}", lambda source=source: self._observe(source))  # type: ignore[misc]
            if source.id in self._controlled:
                self._try(f"controlling {source.id}", lambda source=source: self._control(source))  # type: ignore[misc]
            else:
                self._try(f"keeping what {source.id} gives", lambda source=source: self._replay(source))  # type: ignore[misc]
            self._try(f"following {source.id}", lambda source=source: self._follow(source))  # type: ignore[misc]
        for source in self._sources:
            if source.hooks_into == module and source.id in self._plan.vary:
                self._try(f"varying {source.id}", lambda source=source: self._vary(source), broken=True)  # type: ignore[misc]

    def _keep_first(self) -> None:
        known = [source for source in self._sources if isinstance(source, Rng) and not source.hooks_into]
        self._begun = [(source, source.capture()) for source in known]

    def put_back(self) -> None:
        """Put the generators that were there at the start back to where they were then."""
        for source, state in self._begun:
            self._try(f"putting {source.id} back", functools.partial(source.begin_again, state))

    def _observe(self, source: Source) -> None:
        if self._journal is not None:
            source.observe(self._journal)

    def _follow(self, source: Source) -> None:
        if self._journal is not None and isinstance(source, Rng):
            self._journal.generators.follow(source)

    def _replay(self, source: Source) -> None:
        if self._answers is not None:
            source.replay(self._answers)

    def _control(self, source: Source) -> None:
        if self._plan.control is None:
            return
        try:
            source.control(self._plan.control)
        except UsageError as error:
            complain(self._plan.run, f"controlling {source.id}: {error}")
            is_started = bool(lineage.get_place())  # by the user's program, which is not to fail for it
            if not (is_started and isinstance(error, TooLate) and source.when_late == "warn"):
                _end_with(error)

    def _vary(self, source: Source) -> None:
        source.vary(
            self._plan.vary[source.id], functools.partial(mark, self._plan.run, name_marker(source.id))
        )

    def _record(self, module: str) -> None:
        if module == "torch" and self._plan.clock is not None:
            from samerun.recording.steps import step_timer

            step_timer.start(self._plan)
        if self._journal is not None:
            self._recording |= module == "torch"
            start_recording.act_on_import(self._plan, self._journal, module)

    def _try(self, what: str, act: Callable[[], None], *, broken: bool = False) -> None:
        """Act; `broken`: without it this process is not recorded whole."""
        try:
            act()
        except Exception as error:
            if is_the_scripts(error):
                raise
            complain(self._plan.run, f"{what} failed: {type(error).__name__}: {error}", broken=broken)

    def end(self) -> None:
        """Write what is recorded, to its end."""
        if self._answers is not None:
            self._answers.flush()
        if self._journal is not None and self._journal.sink is not None:
            self._try("ending the records", self._journal.sink.finish)

    def _at_exit(self) -> None:
        if self._answers is not None:
            self._answers.flush()
        unseen = "torch" in sys.modules and not self._recording and not self._torch_outdated
        if unseen and self._journal is not None:
            complain(
                self._plan.run,
                "torch was imported past samerun's import hook (the program changes sys.meta_path), "
                "so nothing was recorded",
                broken=True,
            )
        if self._journal is not None and "torch" not in sys.modules:
            self._try("telling of a program that does not train", functools.partial(_leave, self._journal))
        _keep_interrupt()

    def _follow_processes(self) -> None:
        needed: dict[str, str] = {}  # when a controlled process starts
        for source in self._sources:
            if self._plan.control is not None and source.id in self._controlled:
                with contextlib.suppress(UsageError):  # the program has set another value since
                    needed.update(source.environment(self._plan.control))
        lineage.begin(self._plan.run, needed)

    def _watch_forks(self) -> None:
        """A fork mostly leaves by os._exit, as those of multiprocessing do: no atexit function runs there."""
        born = os.getpid()

        def leave(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if os.getpid() != born and self._journal is not None:
                self._try("reporting of a fork", functools.partial(_leave, self._journal))
            return original(*args, **kwargs)

        wrapping.wrap_attribute(os, "_exit", leave)
        if self._journal is not None:
            os.register_at_fork(before=_import_helper_process, after_in_child=self._follow_fork)
            self._journal.on_event = self._keep_on_disk

    def _keep_on_disk(self, what: str, site: str | None) -> None:
        """At the first event of a program: it may never train, and be ended by a signal."""
        if self._journal is not None:
            self._journal.on_event = None
            if "torch" not in sys.modules:  # else the recorder keeps what there is
                _import_helper_process().keep_on_disk(self._journal, until_trace=True)
                self._journal.count_event(what, site)

    def _follow_fork(self) -> None:
        if self._journal is not None:
            _import_helper_process().keep_on_disk(self._journal)


def _keep_interrupt() -> None:
    """Let a process that an uncaught KeyboardInterrupt ends end by SIGINT, as a shell's loop needs it.

    CPython forgets it when a text is executed afterwards, as a dataclass that is imported does
    (`run_eval_code_obj` in Python/pythonrun.c), and sees it again when one raises it.
    """
    if ended_by() is KeyboardInterrupt:
        with contextlib.suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")


def _leave(journal: Journal) -> None:
    _import_helper_process().leave(journal)


def _import_helper_process() -> ModuleType:
    """Not at the start, since most programs need nothing of it; before a fork, where nothing can be imported
    that another thread was importing.
    """
    from samerun.recording import helper_process

    return helper_process


def _end_with(error: SamerunError) -> NoReturn:
    print(f"samerun: {error}", file=sys.stderr, flush=True)
    raise SystemExit(2)
