"""Requests to end, counted while a command runs, and signals that are kept for the command."""

from __future__ import annotations

import signal
import threading

from samerun.launching.interrupts import Interrupts


def test_requests_are_counted_and_the_handlers_put_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert (interrupts.count, interrupts.last) == (2, signal.SIGTERM)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_what_is_the_commands_is_kept_for_it_and_ctrl_c_is_ours() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with Interrupts(passes_on=True) as interrupts:
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.raise_signal(number)
        assert (interrupts.count, interrupts.count_all(), interrupts.last) == (1, 2, signal.SIGINT)
        assert interrupts.take() == [signal.SIGTERM, signal.SIGUSR1]
        assert (interrupts.take(), interrupts.count_all()) == ([], 1)
    assert signal.getsignal(signal.SIGUSR1) == before


def test_what_is_no_request_to_end_is_left_alone_unless_it_is_passed_on() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP)]
    with Interrupts():
        during = [signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP)]
    assert during == before


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGHUP)
        assert (interrupts.count, signal.getsignal(signal.SIGHUP)) == (0, signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_thread_sets_no_handlers() -> None:
    before, during = signal.getsignal(signal.SIGINT), []

    def enter() -> None:
        with Interrupts():
            during.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert during == [before]
