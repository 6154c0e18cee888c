"""One entry of a record: its number, the hash of the one before it, its own hash, its kind, its body.

The line of an entry is the canonical form of {"body", "hash", "kind", "prev", "seq"}; the hash is SHA-256 over the canonical
form of the same object without "hash". Numbers begin with 0, and the first entry's "prev" is `ZERO`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

from icore_kernel.record.canonical import LONGEST, CanonicalError, canonical, parse

ZERO = "0" * 64
FORMAT = "icore.record/1"
SEAL = "seal"

Body: TypeAlias = Mapping[str, Any]

_KIND = re.compile(r"[a-z][a-z-]{0,31}")
_HASH = re.compile(r"[0-9a-f]{64}")
_KEYS = frozenset({"body", "hash", "kind", "prev", "seq"})


class RecordError(Exception):
    """A record that cannot be read or written as asked; the message says which, and what to do where something can be done."""


def numbered(line: int) -> str:
    """The entry that should stand in a line, as messages call it: entries count from 0, and lines, as editors have them, from 1."""
    return f"entry {line - 1:,} (line {line:,})"


class BrokenRecord(RecordError):
    """A record whose lines are not a chain of entries. `line` counts from 1; `what` is wrong with it."""

    def __init__(self, record: str, line: int, what: str) -> None:
        super().__init__(f"{record}: {numbered(line)}: {what}")
        self.line, self.what = line, what


class SealedRecord(RecordError):
    """An entry for a record that is sealed."""

    def __init__(self, record: str) -> None:
        super().__init__(f"{record}: the record is sealed; nothing is added to it")


class BusyRecord(RecordError):
    """A record that another writer has."""

    def __init__(self, record: str) -> None:
        super().__init__(f"{record}: another program is writing this record")


class TakenRecord(RecordError):
    """A record that has entries, where a run is to begin one."""

    def __init__(self, record: str) -> None:
        super().__init__(f"{record}: there is a record already; a run has a record of its own: choose another name, or delete it")


@dataclass(frozen=True, slots=True)
class Entry:
    """`body` is what was given or read; it is not copied, and whoever holds it must not change it."""

    seq: int
    prev: str
    hash: str
    kind: str
    body: Body


def make(seq: int, prev: str, kind: str, body: Body) -> tuple[Entry, bytes]:
    """The entry that follows the one with hash `prev`, and its line with the line break. CanonicalError, see `canonical`."""
    if not _KIND.fullmatch(kind):
        raise CanonicalError(f"{kind!r} is no kind of entry: small letters and hyphens are expected")
    head = b'{"body":' + canonical(body)
    tail = b'"kind":"%b","prev":"%b","seq":%d}' % (kind.encode(), prev.encode(), seq)
    own = sha256(head + b"," + tail).hexdigest()
    line = b'%b,"hash":"%b",%b\n' % (head, own.encode(), tail)
    if len(line) > LONGEST:
        raise CanonicalError(f"an entry of {len(line):,} bytes; at most {LONGEST:,} are written")
    return Entry(seq, prev, own, kind, body), line


def read(line: bytes) -> Entry:
    """The entry of a line (without its line break). CanonicalError says what is wrong with any other."""
    value = parse(line)
    if not isinstance(value, dict) or value.keys() != _KEYS:
        raise CanonicalError(f"not an entry: the keys {', '.join(sorted(_KEYS))} are expected")
    body, own, kind, prev, seq = (value[key] for key in ("body", "hash", "kind", "prev", "seq"))
    if not isinstance(body, dict):
        raise CanonicalError("body is not an object")
    if not (isinstance(own, str) and _HASH.fullmatch(own) and isinstance(prev, str) and _HASH.fullmatch(prev)):
        raise CanonicalError("hash and prev must be 64 hexadecimal digits, in small letters")
    if not (isinstance(kind, str) and _KIND.fullmatch(kind)):
        raise CanonicalError("kind must be small letters and hyphens")
    if type(seq) is not int or seq < 0:
        raise CanonicalError("seq must be a number from 0")
    # The line is its own canonical form, so what is hashed is the line with one member cut out.
    tail = b'"kind":"%b","prev":"%b","seq":%d}' % (kind.encode(), prev.encode(), seq)
    member = b'"hash":"%b",' % own.encode()
    if sha256(line[: -len(member) - len(tail)] + tail).hexdigest() != own:
        raise CanonicalError("the hash is not that of the entry")
    return Entry(seq, prev, own, kind, body)
