"""Signals that ask a command to end: the first ends it as Ctrl-C does, so that what it writes is brought to its end; the second at once.

A signal that comes within a moment of the first is the same one: a terminal that closes sends SIGHUP by the kernel and by the shell, and a
wrapper hands on the Ctrl-C that the terminal sent to the whole group.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""SIGHUP is not on every system."""
MOMENT = 0.3
AGAIN = 0.01
"""Seconds, both."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """In here the first signal raises KeyboardInterrupt; one that comes later than `MOMENT` after it ends the process (128 + its number).

    A signal that was ignored before (nohup, a job in the background) stays ignored. Outside of the main thread nothing changes.
    """
    known = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    heeded = [number for number in known if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    if threading.current_thread() is not threading.main_thread() or not heeded:
        yield
        return
    raised = False
    later: list[threading.Timer] = []

    def again(number: int) -> None:
        if not raised:
            _send(number)

    def first(number: int, frame: FrameType | None) -> None:
        nonlocal raised
        if not raised and _in_finalizer(frame):
            later.append(threading.Timer(AGAIN, again, (number,)))
            later[-1].start()
        elif not raised:
            raised = True
            raise KeyboardInterrupt

    read, write = socket.socketpair()
    write.setblocking(False)
    before = {number: signal.getsignal(number) for number in heeded}
    watch = threading.Thread(target=_end_at_the_second, args=(read, frozenset(heeded)), daemon=True)
    outer = signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
    try:
        watch.start()
        for number in heeded:
            signal.signal(number, first)
        yield
    finally:
        # Nothing is sent any more once the handlers are as they were: it would end whoever comes next.
        for timer in later:
            timer.cancel()
            timer.join()
        signal.set_wakeup_fd(outer)
        write.close()
        watch.join()
        read.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def _send(number: int) -> None:
    """To the main thread: one that another thread sends to itself would not end a wait of the main thread."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


def _in_finalizer(frame: FrameType | None) -> bool:
    """Whether an object is being let go of: what is raised there is printed and forgotten (Z3's objects all do something as they go)."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


def _end_at_the_second(read: socket.socket, heeded: frozenset[int]) -> None:
    """Reads what the interpreter writes of every signal, also while the main thread is in a library and cannot look at any.

    Z3 ends a search at SIGINT alone, so the first of the others is followed by one, which changes nothing where Z3 is not at work.
    """
    began: float | None = None
    while told := read.recv(64):
        for number in heeded.intersection(told):
            if began is None:
                began = time.monotonic()
                if number != signal.SIGINT:
                    _send(signal.SIGINT)
            elif time.monotonic() - began > MOMENT:
                os._exit(128 + number)
