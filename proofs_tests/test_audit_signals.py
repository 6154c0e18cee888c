"""SIGTERM and SIGHUP end `icore audit` as Ctrl-C does: interrupted, sealed, status 3; a second signal ends it at once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import z3
from audit_desk import Scripted, desk
from conftest import CHECKOUT
from misbehaving import Server, serving, silent

from icore_kernel.audit import hosted
from icore_kernel.audit.hosted import run_on
from icore_kernel.cli_signals import MOMENT, ended_by_signals
from icore_kernel.prove.repair import _heeded
from icore_kernel.record.entry import Entry
from icore_kernel.record.jsonl import JsonlStore
from icore_kernel.record.store import open_store, read_entries
from icore_kernel.record.verify import verify

SIGNALS = [name for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)]
PLAIN = "from icore_kernel.cli import main\nmain()\n"
SLOW_TO_SEAL = "import time\nfrom icore_kernel.audit import hosted\nhosted.seal = lambda store, key: time.sleep(600)\n" + PLAIN


def _words(folder: Path, record: str, url: str) -> list[str]:
    """A run that waits for an answer that never comes."""
    desk(folder)
    target = record if "://" in record else str(folder / record)
    return ["audit", str(folder / "desk.icore"), "--host", f"http:{url}", "--model", "m", "--record", target]


def _asked(server: Server) -> None:
    """Until the run has put its first question: then it waits for the answer."""
    for _ in range(1_200):
        if server.requests:
            return
        time.sleep(0.05)
    raise AssertionError("the run does not begin")


@contextmanager
def auditing(folder: Path, record: str, code: str = PLAIN) -> Iterator[subprocess.Popen[bytes]]:
    with serving(silent) as server:
        command = [sys.executable, "-c", code, *_words(folder, record, server.url)]
        environment = {**os.environ, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'dsl'}"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as run:
            try:
                _asked(server)
                yield run
            finally:
                run.kill()


def _ended(record: Path) -> tuple[str, int]:
    entries = list(read_entries(record))
    return entries[-2].body["outcome"], verify(record).exit_status


@pytest.mark.parametrize("record", ["run.jsonl", "run.db"])
@pytest.mark.parametrize("name", SIGNALS)
def test_the_run_is_interrupted_and_sealed(name: str, record: str, tmp_path: Path) -> None:
    with auditing(tmp_path, record) as run:
        run.send_signal(getattr(signal, name))
        said, _ = run.communicate()
        assert (run.returncode, said.decode().splitlines()[-1].split(" · ")[0]) == (3, "interrupted")
    assert _ended(tmp_path / record) == ("interrupted", 0)


@pytest.mark.parametrize(("first", "second"), [("SIGTERM", "SIGTERM"), ("SIGINT", "SIGTERM"), ("SIGTERM", "SIGINT")])
def test_a_second_signal_ends_it_at_once(first: str, second: str, tmp_path: Path) -> None:
    """It would have been sealed in ten minutes: what is there is intact all the same."""
    with auditing(tmp_path, "run.jsonl", SLOW_TO_SEAL) as run:
        run.send_signal(getattr(signal, first))
        while run.poll() is None and not any(entry.kind == "end" for entry in read_entries(tmp_path / "run.jsonl")):
            time.sleep(0.05)
        time.sleep(2 * MOMENT)
        run.send_signal(getattr(signal, second))
        assert run.wait() == 128 + getattr(signal, second)
    assert verify(tmp_path / "run.jsonl").exit_status == 3


def test_signals_within_a_moment_are_one(tmp_path: Path) -> None:
    with auditing(tmp_path, "run.jsonl") as run:
        for name in SIGNALS:
            run.send_signal(getattr(signal, name))
        run.communicate()
        assert run.returncode == 3
    assert _ended(tmp_path / "run.jsonl") == ("interrupted", 0)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="SIGHUP is POSIX's")
def test_a_terminal_that_goes_away_leaves_a_sealed_record_and_no_verdict(tmp_path: Path) -> None:
    """Neither the run nor what went wrong can be printed any more: the status is 3 still, and not 1, which is a verdict."""
    with serving(silent) as server:
        words = _words(tmp_path, "run.jsonl", server.url)
        child, terminal = pty.fork()
        if child == 0:
            os.execve(sys.executable, [sys.executable, "-c", PLAIN, *words], {**os.environ, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'dsl'}"})
        _asked(server)
        os.close(terminal)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert _ended(tmp_path / "run.jsonl") == ("interrupted", 0)


# ---- within one process ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIGNALS)
def test_the_first_signal_interrupts_and_afterwards_all_is_as_before(name: str) -> None:
    before = [signal.getsignal(getattr(signal, name)) for name in SIGNALS]
    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        signal.raise_signal(getattr(signal, name))
        time.sleep(60)
    assert [signal.getsignal(getattr(signal, name)) for name in SIGNALS] == before
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="SIGHUP is POSIX's")
def test_what_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


class _Leaving:
    """SIGTERM comes while it is let go of."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_comes_while_an_object_is_let_go_of_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        leaving = _Leaving()
        del leaving
        time.sleep(60)


def test_in_another_thread_nothing_changes() -> None:
    found: list[Any] = []

    def look() -> None:
        with ended_by_signals():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]


def test_a_search_of_z3_ends_at_sigterm_too() -> None:
    """Its search takes SIGINT for itself, and says only that it gave up; of SIGTERM it hears nothing."""
    solver = z3.Solver(ctx=z3.Context())
    x, y, w = (z3.Int(name, ctx=solver.ctx) for name in "xyw")
    solver.add(x * x * x + y * y * y + w * w * w == 114, *(z3.And(v > -(10**6), v < 10**6) for v in (x, y, w)))
    for name in ("SIGINT", "SIGTERM"):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), getattr(signal, name)))
        with pytest.raises(KeyboardInterrupt), ended_by_signals():
            timer.start()
            _heeded(solver, solver.check())
        timer.join()


class _Twice(JsonlStore):
    """Ctrl-C as the first entry has been written, and again before or after the end is."""

    before = False
    times = 0

    def append(self, kind: str, body: Any) -> Entry:
        ends = kind == "end" and self.times == 1
        if ends and self.before:
            self.times += 1
            raise KeyboardInterrupt
        entry = super().append(kind, body)
        if ends or self.times == 0:
            self.times += 1
            raise KeyboardInterrupt
        return entry


@pytest.mark.parametrize("before", [True, False])
def test_an_interruption_of_the_end_leaves_a_sealed_record_with_one_end(before: bool, tmp_path: Path) -> None:
    with _Twice(tmp_path / "run.jsonl") as store, pytest.raises(KeyboardInterrupt):
        store.before = before
        run_on(store, desk(tmp_path), lambda _: Scripted({}))
    assert [e.kind for e in read_entries(tmp_path / "run.jsonl")] == ["open", "end", "seal"]
    assert _ended(tmp_path / "run.jsonl") == ("interrupted", 0)


@pytest.mark.parametrize("before", [True, False])
def test_an_interruption_of_the_seal_leaves_it_set(before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it was written, or after."""
    seal, calls = hosted.seal, []

    def interrupted(store: Any, key: Any) -> Entry:
        calls.append(key)
        if len(calls) > 1:
            return seal(store, key)
        if not before:
            seal(store, key)
        raise KeyboardInterrupt

    monkeypatch.setattr(hosted, "seal", interrupted)
    with open_store(tmp_path / "run.jsonl") as store, pytest.raises(KeyboardInterrupt):
        run_on(store, desk(tmp_path), lambda _: Scripted({}), budget=0)
    assert len(calls) == 1 + before
    assert _ended(tmp_path / "run.jsonl") == ("incomplete", 0)
