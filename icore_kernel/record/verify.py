"""Whether a record is what its writer says it is: chain, seal, signature, and the legality of what was committed.

Nothing is believed but the lines. The record is only read: a tail stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path

from icore_kernel.record.chain import ChainReport, check_chain
from icore_kernel.record.entry import ZERO, BrokenRecord, Entry, RecordError, numbered
from icore_kernel.record.seal import MissingExtra, WrongSignature, check_signature
from icore_kernel.record.store import read_entries, read_lines, shown

Check = Callable[[Iterable[Entry]], list[str]]
"""What looks at the entries of an intact chain and says what is wrong with them."""


class Unchecked(RecordError):
    """Raised by a check that cannot be made here, whatever the entries are. The message says why."""


class Signature(Enum):
    """`UNCHECKED`: there is one, and the library that checks it is not installed."""

    NONE = "none"
    GOOD = "good"
    WRONG = "wrong"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found of a record.

    * `signature`: of the seal; `signed_by`: the public key of a good one;
    * `checks`: of each further check its name and the problems it found;
    * `unchecked`: the further checks that could not be made, and why;
    * `problems`: why the record is broken, all that was found, the chain's first;
    * `unsure`: why it is not known to be whole, though nothing is wrong with what there is;
    * `untrusted`: the one of the problems that says that the signature is not by the key that is trusted; None where it is, or none is.
    """

    record: str
    chain: ChainReport
    signature: Signature
    signed_by: str | None
    trusted: bool
    checks: tuple[tuple[str, tuple[str, ...]], ...]
    problems: tuple[str, ...]
    unsure: tuple[str, ...]
    untrusted: str | None = None
    unchecked: tuple[tuple[str, str], ...] = ()

    @property
    def only_untrusted(self) -> bool:
        """Whether nothing is wrong but whose signature it is."""
        return self.untrusted is not None and self.problems == (self.untrusted,)

    @property
    def exit_status(self) -> int:
        """0 intact and sealed, 3 intact but not sealed (or the signature or something else could not be checked), 1 broken."""
        return 1 if self.problems else 3 if self.unsure or self.unchecked else 0


def standing_checks() -> tuple[tuple[str, Check], ...]:
    """What is checked of every record beyond its chain, by name."""
    from icore_kernel.record.checker import check

    return (("definition 7", check),)


def verify(target: str | Path, trusted: str | None = None, checks: Iterable[tuple[str, Check]] | None = None) -> Verified:
    """Verify a record. RecordError when there is none to read: no file, or an empty one.

    * `trusted`: the public key (64 hexadecimal digits) by which it must be signed;
    * `checks`: what to check beyond the chain, the seal and its signature; without it, the standing checks.
    """
    if checks is None:
        checks = standing_checks()
    try:
        chain = check_chain(read_lines(target))
    except BrokenRecord as wrong:
        chain = ChainReport(wrong.line - 1, ZERO, None, (wrong.line, wrong.what))
    if chain.broken is not None:
        number, what = chain.broken
        return Verified(shown(target), chain, Signature.NONE, None, False, (), (f"{numbered(number)}: {what}",), ())
    if not chain.count and not chain.tail:
        raise RecordError(f"{shown(target)}: empty: there is no record in it")
    problems: list[str] = []
    unsure: list[str] = []
    signature, signed_by = _signature(chain, problems, unsure)
    untrusted = _untrusted(signature, signed_by, trusted) if chain.sealed else None
    problems += [] if untrusted is None else [untrusted]
    asked = checks if chain.count else ()  # of nothing there is nothing to ask: it is not broken, and not whole
    answered: list[tuple[str, tuple[str, ...]]] = []
    unchecked: list[tuple[str, str]] = []
    for name, check in asked:
        try:
            answered.append((name, tuple(check(islice(read_entries(target), chain.count)))))
        except Unchecked as why:
            unchecked.append((name, str(why)))
    problems += [problem for _, found in answered for problem in found]
    good = trusted is not None and signed_by == trusted
    return Verified(
        shown(target), chain, signature, signed_by, good, tuple(answered), tuple(problems), tuple(unsure), untrusted, tuple(unchecked)
    )


def _signature(chain: ChainReport, problems: list[str], unsure: list[str]) -> tuple[Signature, str | None]:
    """The signature and the key of a good one; adds what is wrong, and what is not known."""
    if chain.tail:
        unsure.append(f"the last line is not whole: {len(chain.tail):,} bytes without a line break")
    if chain.seal is None:
        unsure.append("not sealed: entries may be missing at the end" if chain.count else "there are no entries")
        return Signature.NONE, None
    try:
        key = check_signature(chain.seal)
    except WrongSignature as wrong:
        problems.append(str(wrong))
        return Signature.WRONG, None
    except MissingExtra as missing:
        unsure.append(f"the signature was not checked: {missing}")
        return Signature.UNCHECKED, None
    return Signature.NONE if key is None else Signature.GOOD, key


def _untrusted(signature: Signature, key: str | None, trusted: str | None) -> str | None:
    """Why a signature that is not wrong is not that of the key that is trusted."""
    if trusted is None or key == trusted or signature in {Signature.WRONG, Signature.UNCHECKED}:
        return None
    return f"{'not signed' if key is None else f'signed by {key}'}; a signature by {trusted} is expected"
