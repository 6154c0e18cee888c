"""`icore prove`, `icore recheck`, `icore whatif`: what is said of proofs; what is computed comes from `check.proof` and `prove`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

from icore_kernel.cli_check import Wrong, answer, left, refuse
from icore_kernel.report import paint
from icore_kernel.report.layout import Line, Part, Piece, line, number, place
from icore_kernel.report.text import report_lines
from icore_kernel.verdict import ExitStatus, Verdict
from icore_kernel.version import VERSION

if TYPE_CHECKING:
    from icore_kernel.check.proof import Proof
    from icore_kernel.check.whatif import WhatIf

PROVE, WHAT_IF = "icore.prove/1", "icore.whatif/1"


@dataclass(frozen=True, slots=True)
class Asked:
    """What one `icore prove` asks."""

    settings: Mapping[str, str]
    theory: Path | None
    depth: int | None
    timeout: float | None
    certificate: Path | None
    as_json: bool


def prove_file(path: Path, asked: Asked) -> ExitStatus:
    """Prove, print as asked, write the certificate, and return the exit status."""
    from icore_kernel import api
    from icore_kernel.check.proof import prove

    begun = monotonic()

    def ask() -> Proof:
        loaded = api.load(path, settings=asked.settings, theory=asked.theory, seconds=asked.timeout)
        return prove(loaded, depth=asked.depth, seconds=left(asked.timeout, begun))

    try:
        proof = answer(path, ask)
        written = None if asked.certificate is None else _written(proof, asked.certificate)
    except Wrong as wrong:
        return refuse(wrong, path, PROVE if asked.as_json else None)
    if asked.as_json:
        from icore_kernel.report.json import dump

        click.echo(dump(proof_record(proof, asked.settings, written)))
    else:
        paint.write(proof_lines(proof, written), sys.stdout)
    return proof.exit_status


def _written(proof: Proof, folder: Path) -> int:
    from icore_kernel.check.certificate import certificate_of
    from icore_kernel.prove.certificate import CertificateError, write

    try:
        return write(folder, certificate_of(proof))
    except CertificateError as wrong:
        raise Wrong(str(wrong)) from wrong
    except OSError as wrong:
        raise Wrong(f"{folder}: cannot be written: {wrong.strerror or wrong}") from wrong


def proof_lines(proof: Proof, written: int | None = None) -> Iterator[Line]:
    """The report, with what Lemma 2 left open between the results and the verdict."""
    lines = list(report_lines(proof.report, sought=False))
    yield from lines[:-2]
    yield from _induction_lines(proof)
    if proof.not_asked:
        yield line()
        yield line(Piece("not asked here, but by icore check: ", Part.DIM), Piece(", ".join(proof.not_asked), Part.DIM))
    if written is not None:
        yield line()
        yield line(f"  certificate: {written:,} obligations")
    yield lines[-2]
    yield _last(proof, lines[-1])


def _last(proof: Proof, said: Line) -> Line:
    """Never a bare `proved` where `check` asks more of the package."""
    report = proof.report
    if not proof.not_asked or report.exit_status() is not ExitStatus.HOLDS:
        return said
    part = Part.UNSURE if proof.left_out else Part.GOOD
    words = "proved what was asked" if report.verdict is Verdict.PROVED else f"what was asked {report.verdict.value}"
    count = sum(name != "dead ends" for name in proof.not_asked)
    verb = "is" if count == 1 else "are"
    why = f" · exit {int(proof.exit_status)}: {number(count, 'declared question')} {verb} for icore check" if proof.left_out else ""
    return line(Piece(words, part), why, f" · {report.seconds:.2f} s")


def _induction_lines(proof: Proof) -> Iterator[Line]:
    """The clauses that are not inductive by themselves, and what became of their counterexamples."""
    if not proof.counterexamples:
        return
    yield line()
    yield line(Piece("not inductive from feasibility alone", Part.STRONG))
    by_label = Counter(c.label for c in proof.counterexamples)
    width = max(len(label) for label in by_label)
    for label, count in by_label.items():
        own = [c for c in proof.counterexamples if c.label == label]
        closed = sum(c.closed for c in own)
        reached = sum(c.reachable is True for c in own)
        away = sum(c.reachable is False and not c.closed for c in own)
        said = [number(count, "update")]
        if closed:
            said.append(f"{closed:,} with lemmas")
        if away:
            said.append(f"{away:,} from a state that no run reaches: asks for a lemma")
        if reached:
            said.append(f"{reached:,} from a reachable state")
        rest = count - closed - away - reached
        if rest:
            said.append(f"{rest:,} from a state that may be reachable")
        yield line(f"  {label:<{width}}  {' · '.join(said)}")
    for one in [c for c in proof.counterexamples if not c.closed][:3]:
        shown = ", ".join(f"{name} = {value}" for name, value in one.state[:8])
        yield line()
        yield line(f"  {one.update} breaks {one.label} from ", Piece(shown or "the initial state", Part.DIM))


def proof_record(proof: Proof, settings: Mapping[str, str], written: int | None) -> dict[str, object]:
    """As JSON, schema `icore.prove/1`: the keys of `icore.check/1` and what Lemma 2 says of each pair of update and clause."""
    from icore_kernel.report.json import report_record

    system = proof.loaded.system
    record = report_record(proof.report, False, settings, False)
    record["schema"] = PROVE
    record["icore"] = VERSION
    record["lemma_2"] = {
        "pairs": [
            {"update": system.updates[p.update].name, "clause": p.label, "answer": p.outcome.value, "seconds": p.seconds}
            for p in proof.lemma2.pairs
        ],
        "faults": [
            {"update": system.updates[r.update].name, "answer": r.outcome.value, "seconds": r.seconds} for r in proof.lemma2.refusals
        ],
        "seconds": proof.lemma2.seconds,
    }
    record["lemmas"] = None if proof.found is None else {
        "kept": len(proof.found.lemmas), "guesses": proof.found.guesses, "samples": proof.found.samples,
        "rounds": proof.found.rounds, "seconds": proof.found.seconds,
    }  # fmt: skip
    record["counterexamples"] = [
        {"update": c.update, "clause": c.label, "state": dict(c.state), "closed": c.closed, "reachable": c.reachable}
        for c in proof.counterexamples
    ]
    record["invariants"] = [
        {"name": i.name, "proved": None if i.way is None else i.way.value, "k": i.k, "seconds": i.seconds, "reason": i.reason or None}
        for i in proof.invariants
    ]
    bounded = proof.bounded
    record["bounded"] = None if bounded is None else {"depth": bounded.depth, "seconds": bounded.seconds, "reason": bounded.reason or None}
    if proof.exit_status is ExitStatus.UNKNOWN:  # what is declared and not asked is not known either
        record["verdict"] = Verdict.UNKNOWN.value
    record["exit_status"] = int(proof.exit_status)
    record["not_asked"] = list(proof.not_asked)
    record["certificate"] = written
    return record


# recheck


def recheck_folder(folder: Path, package: Path | None, settings: Mapping[str, str], theory: Path | None) -> ExitStatus:
    """The obligations by Z3, from the files alone; with a package, before that whether they are what it comes to."""
    from icore_kernel.prove.recheck import Refused, recheck

    if package is not None and (status := _about(folder, package, settings, theory)) is not ExitStatus.HOLDS:
        return status
    try:
        checked = recheck(folder)
    except Refused as wrong:
        click.echo(f"refused: {wrong}", err=True)
        return ExitStatus.BAD_INPUT
    except OSError as wrong:
        click.echo(f"{folder}: cannot be read: {wrong.strerror or wrong}", err=True)
        return ExitStatus.BAD_INPUT
    for kind, name, said in checked.failing:
        click.echo(f"  {kind}: {name}: {said}")
    good = len(checked.answers) - len(checked.failing)
    click.echo(f"{checked.package} · {len(checked.answers):,} obligations, {good:,} unsat")
    if checked.failing:
        return ExitStatus.VIOLATED if any(said == "sat" for _, _, said in checked.failing) else ExitStatus.UNKNOWN
    for text in _claimed(checked.claims):
        click.echo(f"  proved: {text}")
    if package is not None:
        click.echo(f"  and it is about {package}")
    return ExitStatus.HOLDS


def _claimed(claims: Mapping[str, object]) -> Iterator[str]:
    if claims["feasible"]:
        yield "feasibility in every reachable state"
    for key, said in (("legal", "updates legal"), ("refused", "faults refused")):
        names = claims[key]
        if isinstance(names, list) and names:
            yield f"{len(names):,} {said}"
    invariants = claims["invariants"]
    for claim in invariants if isinstance(invariants, list) else []:
        yield str(claim["name"])


def _about(folder: Path, package: Path, settings: Mapping[str, str], theory: Path | None) -> ExitStatus:
    from icore_kernel import api
    from icore_kernel.check.certificate import unlike
    from icore_kernel.prove.certificate import CertificateError

    try:
        different = answer(package, lambda: unlike(folder, api.load(package, settings=settings, theory=theory)))
    except Wrong as wrong:
        return refuse(wrong, package, None)
    except CertificateError as wrong:
        click.echo(f"refused: {wrong}", err=True)
        return ExitStatus.BAD_INPUT
    for text in different:
        click.echo(f"refused: {text}", err=True)
    return ExitStatus.BAD_INPUT if different else ExitStatus.HOLDS


# whatif


def what_if_file(
    path: Path, certificate: str, at: str | None, settings: Mapping[str, str], theory: Path | None, timeout: float | None, as_json: bool
) -> ExitStatus:
    """Revoke one certificate in a reachable state and say what it costs. 1 where something stood and falls, else 0."""
    from icore_kernel import api
    from icore_kernel.check.whatif import what_if

    begun = monotonic()

    def ask() -> WhatIf:
        loaded = api.load(path, settings=settings, theory=theory, goal=at, seconds=timeout)
        return what_if(loaded, certificate, left(timeout, begun))

    try:
        said = answer(path, ask)
    except Wrong as wrong:
        return refuse(wrong, path, WHAT_IF if as_json else None)
    if as_json:
        from icore_kernel.report.json import dump

        click.echo(dump(what_if_record(said)))
    else:
        paint.write(what_if_lines(said), sys.stdout)
    return ExitStatus.VIOLATED if said.loss.falls or said.loss.clauses else ExitStatus.HOLDS


def what_if_lines(said: WhatIf) -> Iterator[Line]:
    from icore_kernel.report.text import run_lines

    yield line(Piece(f"{said.certificate} revoked", Part.STRONG), f" in {said.where}")
    yield line()
    yield from run_lines(said.run, "a shortest run there")
    yield line()
    lost = said.loss
    names = f": {', '.join(lost.unjustified)}" if lost.unjustified else ""
    yield line(Piece(number(len(lost.unjustified), "assertion"), Part.STRONG), f" unjustified{names}")
    for what in lost.falls:
        yield line(Piece(f"{what} falls", Part.BAD))
    if lost.everywhere is not None:
        always = "from every feasible state with Acc in which it is active" if lost.everywhere else "not from every feasible state with Acc"
        yield line(f"Acc falls {always}")
    shown: set[tuple[str, str]] = set()
    for reason in said.reasons:
        if (reason.label, reason.instance) in shown or len(shown) >= 12:
            continue
        shown.add((reason.label, reason.instance))
        where = f" · {place(reason.span)}" if reason.span else ""
        yield line(f"  fails  {reason.label}", f" at {reason.instance}" if reason.instance else "", where)
    if said.sets:
        yield line()
        yield line(Piece(f"{said.stands} rests on", Part.STRONG), " (each set alone suffices, whatever else is revoked):")
        for one in said.sets:
            yield line(f"  {len(one):>3}  {', '.join(one) or 'no certificate'}")


def what_if_record(said: WhatIf) -> dict[str, object]:
    """As JSON, schema `icore.whatif/1`."""
    from icore_kernel.report.json import run_record

    return {
        "schema": WHAT_IF,
        "icore": VERSION,
        "certificate": said.certificate,
        "where": said.where,
        "run": run_record(said.run),
        "unjustified": list(said.loss.unjustified),
        "clauses": [{"label": clause.label, "instance": instance} for clause, instance in said.loss.clauses],
        "falls": list(said.loss.falls),
        "accept_falls_everywhere": said.loss.everywhere,
        "stands": said.stands or None,
        "rests_on": [list(one) for one in said.sets],
    }
