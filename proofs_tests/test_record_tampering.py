"""What was changed in a sealed record is found: every byte, every line, every cut; and what a chain alone cannot find."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from record_lab import SMALL, Given, large, rewritten, sealed_lines

from icore_kernel.record.canonical import CanonicalError
from icore_kernel.record.chain import Chain, check_chain
from icore_kernel.record.entry import Entry, RecordError, make
from icore_kernel.record.seal import seal
from icore_kernel.record.store import open_store, read_lines
from icore_kernel.record.verify import verify

NIGHTLY = os.environ.get("ICORE_TESTS") == "nightly"

TELLING = b'\0\n\r "\\,:{}[]0189afntu\x7f\x80\xc3\xff'
"""Bytes with a meaning in JSON, in hexadecimal, in UTF-8."""


def other_bytes(byte: int) -> Iterator[int]:
    """What a byte is changed to: all others at night, else those a bit away and the telling ones."""
    others = range(256) if NIGHTLY else {*(byte ^ 1 << bit for bit in range(8)), *TELLING}
    return (other for other in others if other != byte)


def lines_of(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True) if b"\r" not in text else [line + b"\n" for line in text.split(b"\n")[:-1]] + [
        line for line in [text.rpartition(b"\n")[2]] if line
    ]  # fmt: skip


def test_every_changed_byte_of_a_sealed_record_is_found() -> None:
    text = b"".join(sealed_lines(SMALL))
    assert check_chain(lines_of(text)).sealed
    for at, byte in enumerate(text):
        for other in other_bytes(byte):
            changed = lines_of(text[:at] + bytes([other]) + text[at + 1 :])
            assert check_chain(changed).broken is not None, (at, other)


def test_every_byte_taken_away_or_put_in_is_found() -> None:
    text = b"".join(sealed_lines(SMALL))
    for at in range(len(text) + 1):
        for byte in b'\n "0\xff':
            assert not check_chain(lines_of(text[:at] + bytes([byte]) + text[at:])).sealed, (at, byte)
        if at < len(text):
            report = check_chain(lines_of(text[:at] + text[at + 1 :]))
            assert (report.broken is not None) == (at < len(text) - 1), at
            assert not report.sealed


def test_every_dropped_doubled_moved_or_swapped_line_is_found() -> None:
    lines = sealed_lines([*SMALL, *large(8)])
    last = len(lines) - 1
    for at, line in enumerate(lines):
        dropped = check_chain(lines[:at] + lines[at + 1 :])
        assert (dropped.broken is not None, dropped.sealed) == (at < last, False), at
        for to in range(len(lines) + 1):
            assert check_chain([*lines[:to], line, *lines[to:]]).broken is not None, (at, to)
    for one, other in combinations(range(len(lines)), 2):
        swapped = list(lines)
        swapped[one], swapped[other] = lines[other], lines[one]
        assert check_chain(swapped).broken is not None, (one, other)


def test_a_line_of_another_record_is_found() -> None:
    lines, others = sealed_lines(large(5, 0)), sealed_lines(large(5, 1))
    for at in range(len(lines)):
        assert check_chain([*lines[:at], others[at], *lines[at + 1 :]]).broken is not None
        assert check_chain([*lines[:at], *others[at:]]).sealed == (at == 0)


def test_a_cut_record_is_never_called_sealed(tmp_path: Path) -> None:
    lines = sealed_lines(SMALL)
    text = b"".join(lines)
    path = tmp_path / "run.jsonl"
    for cut in range(len(text)):
        whole = sum(cut >= len(b"".join(lines[:n])) for n in range(1, len(lines) + 1))
        report = check_chain(lines_of(text[:cut]))
        assert (report.sealed, report.broken, report.count) == (False, None, whole), cut
        if cut and (NIGHTLY or cut % 9 == 0):
            path.write_bytes(text[:cut])
            found = verify(path, checks=())
            assert (found.exit_status, found.chain, found.problems) == (3, report, ()), cut
    path.write_bytes(text)
    assert verify(path, checks=()).exit_status == 0


# On a large record: what comes before the change is checked once, since the check is a fold.


def snapshots(lines: Sequence[bytes]) -> list[tuple[int, str]]:
    chain, found = Chain(), [Chain()]
    for line in lines:
        chain.add(line)
        found.append(Chain(chain.count, chain.head))
    return [(one.count, one.head) for one in found]


def first_wrong(lines: Sequence[bytes], start: tuple[int, str], changed: Sequence[bytes], then: int) -> int | None:
    """The number (from 0) of the first wrong line, of lines up to `start`, those changed, and those from `then` on."""
    chain = Chain(*start)
    for number, line in enumerate([*changed, *lines[then : then + 2]], start=start[0]):
        try:
            chain.add(line)
        except CanonicalError:
            return number
    return None


def random_change(chance: random.Random, text: bytes) -> bytes:
    at = chance.randrange(len(text))
    byte = bytes([chance.choice([b for b in range(256) if b != text[at]])])
    return text[:at] + byte + text[at + 1 :]


def test_ten_thousand_random_changes_of_a_large_record_are_found() -> None:
    changes = 10_000
    lines = sealed_lines(large(5_000))
    before = snapshots(lines)
    chance = random.Random(1)
    for turn in range(changes):
        at = chance.randrange(len(lines))
        line = random_change(chance, lines[at])
        # A changed line break joins the line to the next one; a new one splits it.
        changed = lines_of(line if line.endswith(b"\n") else line + b"".join(lines[at + 1 : at + 2]))
        then = at + 1 if line.endswith(b"\n") else at + 2
        found = first_wrong(lines, before[at], changed, then)
        if at == len(lines) - 1 and not line.endswith(b"\n"):
            assert check_chain([*lines[:at], *changed]).broken is not None
        else:
            assert found is not None, (turn, at)
        if turn % (changes // 20) == 0:
            report = check_chain([*lines[:at], *changed, *lines[then:]])
            assert report.broken is not None
            assert found is None or report.broken[0] == found + 1, "the fold finds what the whole check finds"


# A database


def test_a_changed_byte_of_a_database_is_found_or_changes_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with open_store(path) as store:
        for kind, body in SMALL:
            store.append(kind, body)
        seal(store)
    lines, text = list(read_lines(path)), path.read_bytes()
    found = 0
    # The end of the first page has the text of the schema: damaged, SQLite says things that are no text.
    for at in {*range(0, len(text), 5 if NIGHTLY else 59), *range(4_010, 4_096, 1 if NIGHTLY else 3)}:
        for flip in (0xFF, 0x01):
            path.write_bytes(text[:at] + bytes([text[at] ^ flip]) + text[at + 1 :])
            try:
                status = verify(path, checks=()).exit_status
            except RecordError:
                status = 2
            for rest in ("-wal", "-shm"):
                path.with_name(path.name + rest).unlink(missing_ok=True)
            if status == 0:
                assert list(read_lines(path)) == lines, at
            found += status != 0
    assert found > 10
    path.write_bytes(text)
    assert verify(path, checks=()).exit_status == 0


def test_a_row_taken_from_a_database_is_found(tmp_path: Path) -> None:
    for seq in range(4):
        path = tmp_path / f"{seq}.db"
        with open_store(path) as store:
            for kind, body in SMALL:
                store.append(kind, body)
            seal(store)
        base = sqlite3.connect(path)
        base.execute("DELETE FROM entry WHERE seq = ?", (seq,))
        base.commit()
        base.close()
        assert verify(path, checks=()).exit_status == (3 if seq == 3 else 1)


# Forgeries: written anew, every hash computed again


def lies(entry: Entry) -> Given:
    """Every verdict in the record becomes another one."""
    if entry.kind == "end":
        return entry.kind, {**entry.body, "outcome": "reject"}
    return entry.kind, dict(entry.body)


def verified(tmp_path: Path, lines: Sequence[bytes], trusted: str | None = None) -> tuple[int, tuple[str, ...]]:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(lines))
    found = verify(path, trusted, ())
    return found.exit_status, found.problems


def test_without_a_signature_a_forgery_is_not_found(tmp_path: Path) -> None:
    """This is what a hash chain cannot do; the documentation says so."""
    lines = sealed_lines(SMALL)
    forged = rewritten(lines, lies)
    assert forged != lines
    assert b'"outcome":"reject"' in forged[2]
    assert verified(tmp_path, forged) == (0, ())


def test_an_entry_after_the_seal_is_refused_even_where_it_follows_in_the_chain() -> None:
    lines = sealed_lines(SMALL)
    chain = Chain()
    for line in lines:
        chain.add(line)
    for kind in ("commit", "seal"):
        _, line = make(chain.count, chain.head, kind, {})
        report = check_chain([*lines, line])
        assert report.broken == (5, "a line after the seal")
        assert not report.sealed
    assert check_chain([*lines, b"x"]).broken == (5, "a line after the seal")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"count": 2}, "about other entries"),
        ({"head": "0" * 64}, "about other entries"),
        ({"algorithm": "ed25519"}, "together, or none"),
        ({"key": "0" * 64}, "together, or none"),
        ({"more": 1}, "a seal has the keys algorithm, count, head, key, signature"),
    ],
)
def test_a_seal_that_is_none_is_refused(change: dict[str, object], says: str) -> None:
    lines = sealed_lines(SMALL)
    chain = Chain()
    for line in lines[:-1]:
        chain.add(line)
    body = {"algorithm": None, "count": 3, "head": chain.head, "key": None, "signature": None}
    assert make(3, chain.head, "seal", body)[1] == lines[-1]
    with pytest.raises(CanonicalError, match=says):
        chain.add(make(3, chain.head, "seal", {**body, **change})[1])
    assert chain.seal is None
    chain.add(lines[-1])
    assert chain.seal is not None


def test_true_is_not_the_number_one() -> None:
    lines = sealed_lines(SMALL[:1])
    chain = Chain()
    chain.add(lines[0])
    body = {"algorithm": None, "count": True, "head": chain.head, "key": None, "signature": None}
    with pytest.raises(CanonicalError, match="about other entries"):
        chain.add(make(1, chain.head, "seal", body)[1])
    chain.add(lines[1])
