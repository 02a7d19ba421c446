"""Signals that interrupt are held back where they'd do harm, and lost nowhere."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from deploy.programs import interrupts


def test_ctrl_c_waits_for_the_end_of_the_block() -> None:
    reached = []

    def interrupted_twice() -> None:
        with interrupts.deferred():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("end")
        reached.append("never")

    with pytest.raises(KeyboardInterrupt):
        interrupted_twice()
    assert reached == ["end"]


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in interrupts.SIGNALS]
    with interrupts.deferred(), interrupts.deferred():
        pass
    assert [signal.getsignal(number) for number in interrupts.SIGNALS] == before


def test_sigterm_interrupts_and_tells_its_number() -> None:
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    try:
        interrupts.raise_on_termination()
        with pytest.raises(KeyboardInterrupt, match="SIGTERM") as caught:
            os.kill(os.getpid(), signal.SIGTERM)
        assert getattr(caught.value, "number", None) == signal.SIGTERM
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        interrupts.raise_on_termination()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_other_threads_are_let_through() -> None:
    reached = threading.Event()

    def block() -> None:
        with interrupts.deferred():
            reached.set()

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert reached.is_set()
