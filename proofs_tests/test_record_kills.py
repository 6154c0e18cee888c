"""A writer killed at any moment loses no entry that it was told is written (SIGKILL: nothing in the process runs after it)."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel.record.store import open_store, read_entries

KILLS = 200 if os.environ.get("ICORE_TESTS") == "nightly" else 8
A_FILE = 10
"""Kills of one record, which is gone on with after each, before the next record begins."""

# Small entries, and now and then one so large that it is not written in an instant.
WRITER = """
import os, random, sys
from icore_kernel.record.store import open_store
store = open_store(sys.argv[1])
chance = random.Random(int(sys.argv[2]))
while True:
    note = "x" * chance.choice([0, 50, 400, 5_000, 5_000_000 if chance.random() < 0.2 else 70_000])
    entry = store.append("commit", {"by": sys.argv[2], "note": note})
    os.write(1, b"%d %s\\n" % (entry.seq, entry.hash.encode()))
"""


def killed_writer(path: Path, turn: int, pause: float, code: str = WRITER) -> dict[int, str]:
    """Start a writer and kill it `pause` seconds after its first entry; the entries that it said are written, and their hashes."""
    command = [sys.executable, "-c", code, str(path), str(turn)]
    environment = {"PYTHONPATH": str(CHECKOUT), "PATH": os.environ.get("PATH", "")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        said = writer.stdout.readline()
        time.sleep(pause)
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.read()
        assert writer.wait() == -signal.SIGKILL, writer.stderr.read().decode()
    words = [line.split() for line in said.decode().splitlines(keepends=False) if said]
    return {int(seq): own for seq, own in words}


def lost(path: Path, acknowledged: dict[int, str]) -> list[int]:
    """The entries that were said to be written and are not in the record. Opening it is what a crashed run's successor does."""
    with open_store(path, create=False) as store:
        there = {entry.seq: entry.hash for entry in store.entries()}
        assert list(there) == list(range(store.head()[0]))
    return [seq for seq, own in acknowledged.items() if there.get(seq) != own]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL is POSIX's")
@pytest.mark.parametrize("name", ["run.jsonl", "run.db"])
def test_kills_lose_no_entry_that_was_acknowledged(tmp_path: Path, name: str) -> None:
    chance = random.Random(7)
    acknowledged: dict[int, str] = {}
    path = tmp_path / name
    tails = total = 0
    for turn in range(KILLS):
        if turn % A_FILE == 0:
            shutil.rmtree(path.parent if turn else tmp_path / "none", ignore_errors=True)
            folder = tmp_path / str(turn)
            folder.mkdir()
            path, acknowledged = folder / name, {}
        acknowledged |= killed_writer(path, turn, chance.uniform(0, 0.02))
        total = total + len(acknowledged)
        assert lost(path, acknowledged) == []
        tails += len(list(path.parent.glob("*.tail-*")))
    assert total > KILLS
    by = {entry.body["by"] for entry in read_entries(path)}
    assert len(by) == (KILLS - 1) % A_FILE + 1, "every writer went on with the record of those killed before it"
    if name == "run.jsonl" and KILLS == 200:
        assert tails, "no kill fell into the middle of a line: the test is too gentle"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL is POSIX's")
def test_a_writer_that_speaks_too_early_is_found_out(tmp_path: Path) -> None:
    """The test above can fail: this one acknowledges an entry before it is written."""
    eager = WRITER.replace("store = open_store", "print('0 early', flush=True); import time; time.sleep(9); store = open_store")
    path = tmp_path / "run.jsonl"
    open_store(path).close()
    assert lost(path, killed_writer(path, 0, 0.0, eager)) == [0]
