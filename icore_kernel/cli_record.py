"""`icore verify` and `icore keygen`: records as text and as JSON (schema `icore.verify/1`), and keys to sign them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import assert_never

import click

from icore_kernel.cli_rules import Rules, rules_of
from icore_kernel.record import verify as verification
from icore_kernel.record.checker import MOST
from icore_kernel.record.entry import Entry, RecordError, numbered
from icore_kernel.record.store import read_entries
from icore_kernel.record.verify import Check, Signature, Verified, verify
from icore_kernel.report import paint
from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.verdict import ExitStatus
from icore_kernel.version import VERSION

VERIFY = "icore.verify/1"
_NAME, _WORD = 14, 10
"""Widths of the names of the rows, and of what each of them is found to be."""


def verify_record(
    target: str, key: str | None, as_json: bool, package: Path | None = None, theory: Path | None = None, every: bool = False
) -> ExitStatus:
    """Verify, print as asked, and return 0 intact and sealed, 3 intact but not sealed or by another theory, 1 broken, 2 no record."""
    from icore_kernel.cli_check import Wrong, refuse
    from icore_kernel.cli_replay import no_saved_run

    try:
        no_saved_run(target)
        trusted = None if key is None else _public(key)
        found = verify(target, trusted, checks())
        rules = None
        if found.chain.broken is None and found.chain.count:
            rules = rules_of(islice(read_entries(target), 1), package, theory)
    except RecordError as wrong:
        return _wrong(wrong)
    except Wrong as wrong:
        return refuse(wrong, Path(target), VERIFY if as_json else None)
    if as_json:
        from icore_kernel.report.json import dump

        click.echo(dump(verified_record(found, rules)))
    else:
        paint.write(verified_lines(found, rules, package, every), sys.stdout)
    return status_of(found, rules)


def status_of(found: Verified, rules: Rules | None) -> ExitStatus:
    if found.problems or (rules is not None and rules.problems):
        return ExitStatus.VIOLATED
    return ExitStatus.UNKNOWN if found.unsure or found.unchecked or (rules is not None and rules.unsure) else ExitStatus.HOLDS


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
    click.echo(paint.visible(str(wrong)), err=True)
    return ExitStatus.BAD_INPUT


def verified_lines(found: Verified, rules: Rules | None = None, package: Path | None = None, every: bool = False) -> Iterator[Line]:
    """`every`: all that is wrong with the entries, and not only the first with the number of the others."""
    chain = found.chain
    yield line(Piece(found.record, Part.STRONG), f" · {number(chain.count, 'entry', 'entries')}")
    yield line()
    if chain.broken is not None:
        at, what = chain.broken
        yield _row("chain", Piece("broken", Part.BAD), f"{numbered(at)}: {what}")
    else:
        yield _row("chain", Piece("intact", Part.GOOD), f"head {chain.head}")
        yield from _seal_rows(found)
    for name, problems in found.checks:
        said = Piece("violated", Part.BAD) if problems else Piece("holds", Part.GOOD)
        least = "at least " if len(problems) >= MOST else ""  # the checker says no more of them
        yield _row(name, said, f"{least}{number(len(problems), 'problem')}" if problems else "")
    for name, why in found.unchecked:
        yield _row(name, Piece("unknown", Part.UNSURE), why)
    yield from [] if rules is None else _rule_rows(rules, package)
    yield line()
    wrong = _wrong_lines(found, rules, every) if chain.broken is None else []
    if wrong:
        yield from (line(f"  {words}") for words in wrong)
        yield line()
    yield line(_last(found, rules))


_ENTRY = re.compile(r"entry (\d+) \(([a-z-]+)\): ")


def _wrong_lines(found: Verified, rules: Rules | None, every: bool) -> list[str]:
    """What is wrong, one thing a line. Of the entries only the first unless `every`: after one that is forged, all may differ."""
    of_entries = sorted((problem for _, problems in found.checks for problem in problems), key=_entry_of)
    others = [problem for problem in found.problems if problem not in of_entries]
    said = [_ENTRY.sub(lambda at: f"entry {at[1]} ({at[2]}, line {int(at[1]) + 1}): ", problem) for problem in of_entries]
    if not every and len(said) > 1:
        first, last = _entry_of(of_entries[1]), _entry_of(of_entries[-1])
        where = f"in entry {first}" if first == last else f"in entries {first} to {last}"
        said[1:] = [f"and {number(len(said) - 1, 'more problem')}, {where}, which may follow from it: --all prints all"]
    return [*others, *said, *(rules.problems if rules is not None else ())]


def _entry_of(problem: str) -> int:
    at = _ENTRY.match(problem)
    return -1 if at is None else int(at[1])


def _rule_rows(rules: Rules, package: Path | None) -> Iterator[Line]:
    """By whose theory, where that is not the installed one or one was given; about which package, where one was given."""
    match rules.theory:
        case "given":
            yield _row("theory", Piece("same", Part.GOOD), "that of --theory")
        case "other" if rules.unsure:
            yield _row("theory", Piece("unknown", Part.UNSURE), "it brings its own, which is not the installed one: see --theory")
        case "other":
            yield _row("theory", Piece("other", Part.BAD), "it brings its own, which is not that of --theory")
    whole = f"{package} with {rules.settings}" if rules.settings else str(package)
    match rules.package:
        case "same":
            yield _row("package", Piece("same", Part.GOOD), whole)
        case "other":
            yield _row("package", Piece("other", Part.BAD), f"it is not about {whole}")


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


def _last(found: Verified, rules: Rules | None) -> Piece:
    if rules is not None and not found.problems and (rules.problems or (rules.unsure and not found.unsure)):
        whole = "intact and sealed" if found.chain.sealed else "intact, not sealed"
        if rules.package == "other":
            return Piece(f"{whole}, but of another package", Part.BAD)
        return Piece(f"{whole}, but by another theory", Part.BAD if rules.problems else Part.UNSURE)
    if found.only_untrusted and found.chain.sealed and not found.unsure:
        return Piece("intact and sealed, but not signed by the trusted key", Part.BAD)
    if found.problems:
        return Piece("broken", Part.BAD)
    if not found.chain.sealed:
        return Piece("intact, not sealed", Part.UNSURE)
    if found.unsure:
        return Piece("intact and sealed, signature not checked", Part.UNSURE)
    if found.unchecked:
        return Piece(f"intact and sealed, but not checked: {', '.join(name for name, _ in found.unchecked)}", Part.UNSURE)
    if found.signed_by is None:
        return Piece("intact and sealed, not signed", Part.GOOD)
    return Piece(f"intact, sealed and signed by {'the trusted key' if found.trusted else found.signed_by}", Part.GOOD)


def verified_record(found: Verified, rules: Rules | None) -> dict[str, object]:
    """As JSON, schema `icore.verify/1`."""
    chain = found.chain
    unchecked = (f"{name} was not checked: {why}" for name, why in found.unchecked)
    return {
        "schema": VERIFY,
        "icore": VERSION,
        "record": found.record,
        "exit_status": status_of(found, rules).value,
        "entries": chain.count,
        "head": chain.head,
        "sealed": chain.sealed,
        "signature": found.signature.value,
        "signed_by": found.signed_by,
        "trusted": found.trusted,
        "broken": None if chain.broken is None else {"entry": chain.broken[0] - 1, "line": chain.broken[0], "what": chain.broken[1]},
        "tail": len(chain.tail),
        "checks": [{"name": name, "problems": list(problems)} for name, problems in found.checks],
        "theory": None if rules is None else rules.theory,
        "package": (rules.package or None) if rules is not None else None,
        "problems": [*found.problems, *(rules.problems if rules is not None else ())],
        "unsure": [*found.unsure, *unchecked, *(rules.unsure if rules is not None else ())],
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
