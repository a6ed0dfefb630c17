"""Where a training is: which optimizer step, and which phase of it."""

from __future__ import annotations

import threading

import torch

from samerun.recording import process_identity

_grad_is_on = torch.is_grad_enabled


class _Local(threading.local):
    """What is true of one thread."""

    def __init__(self) -> None:
        self.paused = False  # the recorder itself computes
        self.compiled = False  # code of torch.compile runs, which is recorded as one operation
        self.loading = False  # a DataLoader with workers is at work: its operations move with their timing
        self.inside = False  # a root module is running: what it does under no_grad is still its forward
        self.closure = False  # an optimizer is in a step that was given a closure
        # A thread of the script's that has not trained so far: it saves, evaluates or loads meanwhile, and
        # where the training is says nothing about it.
        self.beside = False
        self.phase = "evaluation"  # of such a thread
        self.beside = _is_beside()  # last: what that asks may itself be recorded, in this thread


class StepCursor:
    """Where the training of one process is, as each of its threads sees it.

    `step` counts the optimizer steps done; `phase` is where the training is in one.
    """

    def __init__(self) -> None:
        self.step = 0
        self.local = _Local()
        self._phase = "setup"  # of the threads that train
        self.began = False  # a forward pass with gradients, whose backward pass is still to come
        self.site: str | None = None  # the user's line of all that happens now, where one line does it all
        self._worker = False
        self.child = process_identity.is_child()  # whether multiprocessing started this process
        self._prepared = not self.child

    @property
    def phase(self) -> str:
        """Where this thread is in a step."""
        return self.local.phase if self.local.beside else self._phase

    @phase.setter
    def phase(self, phase: str) -> None:
        if self.local.beside:
            self.local.phase = phase
        else:
            self._phase = phase

    def trains(self) -> None:
        """This thread trains: what it does is a part of the steps, from here on."""
        self.local.beside = False

    def where(self) -> tuple[int, str]:
        """The step and phase of what happens now.

        Evaluation belongs to the step that it follows. Outside root modules, code under no_grad counts as
        evaluation, once training has begun; not where a loss is being made, which may need it for targets.
        """
        local = self.local
        phase = local.phase if local.beside else self._phase
        if phase == "forward" and not (_grad_is_on() or local.inside or self.began):
            phase = "evaluation"
        if phase == "evaluation" or phase == "end":
            return max(self.step - 1, 0), phase
        return self.step, phase

    @property
    def in_worker(self) -> bool:
        """Whether this process is a DataLoader worker, whose records are evidence only."""
        if self.child and not self._worker:  # it becomes one a moment after it was born
            self._worker = process_identity.is_in_worker()
        return self._worker

    @property
    def prepared(self) -> bool:
        """Whether it is known what this process is to do: perhaps to be a DataLoader worker."""
        if not self._prepared:
            self._prepared = process_identity.is_prepared()
        return self._prepared

    def forked(self) -> None:
        """This is a child that begins where its parent was."""
        self._prepared = True
        self._worker = False
        self.child = True
        self.local.beside = False  # the thread that forked is the child's main one


def _is_beside() -> bool:
    """Whether this is a thread that the script started; those of torch's own are none of Python's."""
    own = threading.get_ident()
    if own == threading.main_thread().ident:
        return False
    known = next((thread for thread in threading.enumerate() if thread.ident == own), None)
    return known is not None and not isinstance(known, threading._DummyThread)
