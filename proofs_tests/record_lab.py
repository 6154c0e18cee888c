"""Records to test on: small and large, whole and sealed; and the ways to write them anew that a forger has."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from icore_kernel.record.chain import check_chain
from icore_kernel.record.entry import ZERO, Entry, make, read
from icore_kernel.record.memory import MemoryStore
from icore_kernel.record.seal import PrivateKey, seal

Given = tuple[str, dict[str, Any]]

SMALL: tuple[Given, ...] = (
    ("open", {"state": {"a": 0, "b": "offen · é"}, "request": None}),
    ("commit", {"t": 1, "update": "add", "rate": "3/2", "outside": "\n\u2028\U0001f600"}),
    ("end", {"outcome": "accept", "ok": True}),
)


def sealed_lines(entries: Sequence[Given], key: PrivateKey | None = None) -> list[bytes]:
    """The lines of a record of these entries, and its seal."""
    with MemoryStore() as store:
        for kind, body in entries:
            store.append(kind, body)
        seal(store, key)
        return list(store.lines())


def large(number: int, seed: int = 0) -> list[Given]:
    chance = random.Random(seed)
    return [
        ("commit", {"t": t, "agent": chance.choice("ABC"), "note": "n" * chance.randrange(120), "state": {"x": chance.randrange(9)}})
        for t in range(number)
    ]


def rewritten(lines: Sequence[bytes], change: Callable[[Entry], Given]) -> list[bytes]:
    """The record written anew, every entry changed as asked and every hash computed again: nothing in the chain gives it away."""
    prev, written = ZERO, []
    for seq, line in enumerate(lines):
        kind, body = change(read(line[:-1]))
        if kind == "seal":
            body = {**body, "count": seq, "head": prev}
        entry, new = make(seq, prev, kind, body)
        prev = entry.hash
        written.append(new)
    return written


def whole(path: Path) -> list[Entry]:
    """The entries of a file whose chain is intact and has no tail."""
    lines = path.read_bytes().splitlines(keepends=True)
    report = check_chain(lines)
    assert report.broken is None
    assert not report.tail
    return [read(line[:-1]) for line in lines]
