"""`icore verify` and `icore keygen`: records as text and as JSON (schema `icore.verify/1`), and keys to sign them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import assert_never

import click

from icore_kernel.record import verify as verification
from icore_kernel.record.entry import Entry, RecordError
from icore_kernel.record.verify import Check, Signature, Verified, verify
from icore_kernel.report import paint
from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.verdict import ExitStatus
from icore_kernel.version import VERSION

VERIFY = "icore.verify/1"
_NAME, _WORD = 14, 10
"""Widths of the names of the rows, and of what each of them is found to be."""


def verify_record(target: str, key: str | None, as_json: bool) -> ExitStatus:
    """Verify, print as asked, and return 0 intact and sealed, 3 intact but not sealed, 1 broken, 2 no record."""
    from icore_kernel.cli_replay import no_saved_run

    try:
        no_saved_run(target)
        trusted = None if key is None else _public(key)
        found = verify(target, trusted, checks())
    except RecordError as wrong:
        return _wrong(wrong)
    if as_json:
        from icore_kernel.report.json import dump

        click.echo(dump(verified_record(found)))
    else:
        paint.write(verified_lines(found), sys.stdout)
    return ExitStatus(found.exit_status)


def checks() -> tuple[tuple[str, Check], ...]:
    """What is checked of the entries: definition 7 from the record alone, and everything by the package in it."""
    standing = verification.standing_checks()
    return (*standing, ("replay", _replayed)) if standing else ()


def _replayed(entries: Iterable[Entry]) -> list[str]:
    from icore_kernel.audit.replay import check

    return check(entries)


def _public(given: str) -> str:
    from icore_kernel.record.seal import public_key

    return public_key(given)


def _wrong(wrong: RecordError) -> ExitStatus:
    click.echo(str(wrong), err=True)
    return ExitStatus.BAD_INPUT


def verified_lines(found: Verified) -> Iterator[Line]:
    chain = found.chain
    yield line(Piece(found.record, Part.STRONG), f" · {number(chain.count, 'entry', 'entries')}")
    yield line()
    if chain.broken is not None:
        at, what = chain.broken
        yield _row("chain", Piece("broken", Part.BAD), f"line {at:,}: {what}")
    else:
        yield _row("chain", Piece("intact", Part.GOOD), f"head {chain.head}")
        yield from _seal_rows(found)
    for name, problems in found.checks:
        said = Piece("violated", Part.BAD) if problems else Piece("holds", Part.GOOD)
        yield _row(name, said, number(len(problems), "problem") if problems else "")
    yield line()
    if chain.broken is None and found.problems:
        for words in found.problems:
            yield line(f"  {words}")
        yield line()
    yield line(_last(found))


def _row(name: str, word: Piece, rest: str) -> Line:
    return line(f"  {name:<{_NAME}}", word, " " * max(_WORD - len(word.text), 2) if rest else "", rest)


def _seal_rows(found: Verified) -> Iterator[Line]:
    chain = found.chain
    if not chain.sealed:
        for words in found.unsure:
            yield _row("seal", Piece("unknown", Part.UNSURE), words)
        return
    yield _row("seal", Piece("intact", Part.GOOD), f"after {number(chain.count - 1, 'entry', 'entries')}")
    match found.signature:
        case Signature.GOOD if found.untrusted is not None:
            yield _row("signature", Piece("other", Part.BAD), f"by {found.signed_by}, not by the key of --key")
        case Signature.GOOD:
            trust = "" if found.trusted else " · whose key that is, is not known here: see --key"
            yield _row("signature", Piece("good", Part.GOOD), f"by {found.signed_by}{trust}")
        case Signature.WRONG:
            yield _row("signature", Piece("wrong", Part.BAD), "")
        case Signature.UNCHECKED:
            yield _row("signature", Piece("unknown", Part.UNSURE), "; ".join(found.unsure))
        case Signature.NONE if found.untrusted is not None:
            yield _row("signature", Piece("none", Part.BAD), "and one by the key of --key is expected")
        case Signature.NONE:
            yield _row("signature", Piece("none", Part.DIM), "whoever can write the record can have rewritten all of it")
        case _:
            assert_never(found.signature)


def _last(found: Verified) -> Piece:
    if found.only_untrusted and found.chain.sealed and not found.unsure:
        return Piece("intact and sealed, but not signed by the trusted key", Part.BAD)
    if found.problems:
        return Piece("broken", Part.BAD)
    if not found.chain.sealed:
        return Piece("intact, not sealed", Part.UNSURE)
    if found.unsure:
        return Piece("intact and sealed, signature not checked", Part.UNSURE)
    if found.signed_by is None:
        return Piece("intact and sealed, not signed", Part.GOOD)
    return Piece(f"intact, sealed and signed by {'the trusted key' if found.trusted else found.signed_by}", Part.GOOD)


def verified_record(found: Verified) -> dict[str, object]:
    """As JSON, schema `icore.verify/1`."""
    chain = found.chain
    return {
        "schema": VERIFY,
        "icore": VERSION,
        "record": found.record,
        "exit_status": found.exit_status,
        "entries": chain.count,
        "head": chain.head,
        "sealed": chain.sealed,
        "signature": found.signature.value,
        "signed_by": found.signed_by,
        "trusted": found.trusted,
        "broken": None if chain.broken is None else {"line": chain.broken[0], "what": chain.broken[1]},
        "tail": len(chain.tail),
        "checks": [{"name": name, "problems": list(problems)} for name, problems in found.checks],
        "problems": list(found.problems),
        "unsure": list(found.unsure),
    }


def make_key(path: Path) -> ExitStatus:
    """Write a new key and its public half, and print the latter."""
    from icore_kernel.record.seal import new_key

    try:
        key = new_key(path)
    except RecordError as wrong:
        return _wrong(wrong)
    click.echo(f"wrote {path}, to be kept secret, and {path}.pub; the public key is {key.public}")
    return ExitStatus.HOLDS
