"""The chain of a record: each entry's number is one more than that of the entry before it, and `prev` is that one's hash.

What this shows and what it does not: whoever can write the file can also write a new chain. Only a signed seal, checked
against a key that is known from elsewhere, tells the two apart (README.md beside this file).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from icore_kernel.record.canonical import LONGEST, CanonicalError, end_of_value
from icore_kernel.record.entry import SEAL, ZERO, Entry, read

BEGINNING = b'{"body":'
"""Of every entry's line: its first key in canonical form."""
_SEAL_KEYS = frozenset({"algorithm", "count", "head", "key", "signature"})


class Chain:
    """A fold over lines: `add` takes the next one. After an error it is where it was before."""

    __slots__ = ("count", "head", "seal")

    def __init__(self, count: int = 0, head: str = ZERO, seal: Entry | None = None) -> None:
        self.count, self.head, self.seal = count, head, seal

    def add(self, line: bytes) -> Entry:
        """The entry of a line with its line break. CanonicalError where it does not follow those before it."""
        if self.seal is not None:
            raise CanonicalError("a line after the seal")
        if not line.endswith(b"\n"):
            raise CanonicalError("the line is not whole")
        entry = read(line[:-1])
        if entry.seq != self.count:
            raise CanonicalError(f"entry {entry.seq:,} where entry {self.count:,} is expected")
        if entry.prev != self.head:
            raise CanonicalError("prev is not the hash of the entry before")
        if entry.kind == SEAL:
            _check_seal(entry, self.count, self.head)
            self.seal = entry
        self.count, self.head = self.count + 1, entry.hash
        return entry


def _check_seal(entry: Entry, count: int, head: str) -> None:
    """The shape of a seal, and that it is about the entries before it. Its signature: `seal.check_signature`."""
    body = entry.body
    if body.keys() != _SEAL_KEYS:
        raise CanonicalError(f"a seal has the keys {', '.join(sorted(_SEAL_KEYS))}")
    if type(body["count"]) is not int or body["count"] != count or body["head"] != head:
        raise CanonicalError("the seal is about other entries than those before it")
    signature = [body["algorithm"], body["key"], body["signature"]]
    if any(part is None for part in signature) and any(part is not None for part in signature):
        raise CanonicalError("a seal has algorithm, key and signature together, or none of them")


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What the lines of a record are as a chain.

    * `count`, `head`: of the intact entries from the beginning on (all of them, where nothing is broken); ZERO for none;
    * `seal`: the entry that seals them;
    * `broken`: the number of the first wrong line, from 1, and what is wrong;
    * `tail`: the bytes of a last line that has no line break: an entry that was being written, or was cut.
    """

    count: int
    head: str
    seal: Entry | None
    broken: tuple[int, str] | None = None
    tail: bytes = b""

    @property
    def sealed(self) -> bool:
        return self.broken is None and self.seal is not None and not self.tail


def check_chain(lines: Iterable[bytes]) -> ChainReport:
    """Check lines with their line breaks; only the last may lack it. It stops at the first that is wrong."""
    chain, tail = Chain(), b""
    for number, line in enumerate(lines, start=1):
        if not tail and not line.endswith(b"\n") and chain.seal is None and len(line) <= LONGEST:
            tail = line
            continue
        try:
            if tail:
                raise CanonicalError("a line after one that is not whole")
            chain.add(line)
        except CanonicalError as wrong:
            return ChainReport(chain.count, chain.head, chain.seal, broken=(number, str(wrong)), tail=tail)
    if tail and (end := end_of_value(tail)) is not None and end < len(tail):  # no cut leaves this: something stands for the line break
        return ChainReport(
            chain.count, chain.head, chain.seal, broken=(chain.count + 1, f"byte {end}: a line break is expected"), tail=tail
        )
    if not chain.count and tail and not (tail.startswith(BEGINNING) or BEGINNING.startswith(tail)):
        return ChainReport(0, ZERO, None, broken=(1, "not a record: this is not how an entry begins"), tail=tail)
    return ChainReport(chain.count, chain.head, chain.seal, tail=tail)
