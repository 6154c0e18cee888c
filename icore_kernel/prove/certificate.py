"""A proof as files: the invariant, and the obligations that make it one, in SMT-LIB 2, with digests in a manifest.

Who doubts a `proved` runs any solver on the scripts: each answer must be `unsat`. `recheck.py` does that with Z3 and imports
nothing of the kernel. The obligations of one kind share a script; each is announced by `echo` and stands between push and pop.

* `base`: every initial state has the invariant;
* `legality`: where an update can commit in a state of the invariant, the step is legal (for faults, `refusal`: it is not);
* `step`: every legal step keeps the invariant;
* `property`: the invariant implies what is claimed; `k-…`: the same by k steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import z3

from icore_kernel.meaning.smt import Encoder
from icore_kernel.prove import recheck
from icore_kernel.prove.relation import Relation
from icore_kernel.prove.serial import TermError, record_of, terms_of
from icore_kernel.prove.solver import Solver, variables_of
from icore_kernel.prove.steps import Steps
from icore_kernel.system import Kind, PropertyKind, System
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank

SCHEMA = recheck.SCHEMA


class CertificateError(Exception):
    """The certificate cannot be written or read, or does not fit the package; the message says why."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An invariant of the package by its name, proved by `k` steps of induction."""

    name: str
    k: int = 1


@dataclass(frozen=True, slots=True)
class Claims:
    """What a certificate proves. `feasible`: feasibility in every reachable state, and that these updates are legal and these
    faults refused (by name); `invariants` in every reachable state."""

    feasible: bool
    legal: tuple[str, ...]
    refused: tuple[str, ...]
    invariants: tuple[Claim, ...]


@dataclass(frozen=True)
class Script:
    """One SMT-LIB 2 file: `names` of its obligations in order."""

    kind: str
    text: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Certificate:
    """`lemmas` stand in the invariant beside feasibility and what is claimed."""

    system: System
    settings: dict[str, str] = field(default_factory=dict)
    claims: Claims = Claims(False, (), (), ())
    lemmas: tuple[Term, ...] = ()
    scripts: tuple[Script, ...] = ()


class Writer:
    """Scripts over the state of a system."""

    def __init__(self, system: System, bank: TermBank) -> None:
        self.system = system
        self.bank = bank
        self.encoder = Encoder()
        self.variables = variables_of(system, bank)

    def script(self, kind: str, facts: Iterable[Term], obligations: Sequence[tuple[str, Term]]) -> Script:
        """Each obligation is a formula that nothing satisfies together with the facts."""
        lines = [f"; {self.system.name} {self.system.version}: {kind}", "(set-logic QF_BV)"]
        for variable in self.variables:
            symbol = self.encoder.variable(variable)
            lines.append(f"(declare-const {symbol.sexpr()} {symbol.sort().sexpr()})")
        lines.extend(f"(assert {formula.sexpr()})" for formula in self.encoder.domains(self.variables))
        lines.extend(f"(assert {self.encoder.encode(fact).sexpr()})" for fact in facts if not fact.is_true)
        for name, formula in obligations:
            lines.extend(_obligation(name, [self.encoder.encode(formula).sexpr()]))
        return Script(kind, "\n".join(lines) + "\n", tuple(name for name, _ in obligations))


def _obligation(name: str, formulas: Iterable[str]) -> list[str]:
    said = name.replace('"', "'")
    return [f'(echo "{said}")', "(push 1)", *(f"(assert {formula})" for formula in formulas), "(check-sat)", "(pop 1)"]


def goals_of(system: System, bank: TermBank) -> dict[str, Term]:
    """What can be claimed of every reachable state, by name: soundness, the invariants, that what should be unreachable is."""
    found: dict[str, Term] = {}
    if system.has_obligations and system.soundness:
        found["soundness"] = bank.conj(c.formula for c in system.soundness)
    for prop in system.properties:
        if prop.kind is PropertyKind.INVARIANT:
            found[prop.name] = prop.formula
        elif prop.kind is PropertyKind.UNREACHABLE:
            found[prop.name] = bank.not_(prop.formula)
    return found


def certify(steps: Steps, claims: Claims, lemmas: Sequence[Term], settings: dict[str, str]) -> Certificate:
    """The scripts that prove the claims with these lemmas; nothing is asked of a solver here."""
    system, bank = steps.system, steps.bank
    if not claims.feasible and (claims.legal or claims.refused):
        raise CertificateError("what is legal or refused is claimed together with feasibility or not at all")
    if any(claim.k < 1 for claim in claims.invariants):
        raise CertificateError("an invariant is claimed by one step of induction or more")
    goals = goals_of(system, bank)
    missing = [c.name for c in claims.invariants if c.name not in goals]
    if missing:
        raise CertificateError(f"{system.name} has no invariant {', '.join(missing)}")
    plain = [(c.name, goals[c.name]) for c in claims.invariants if c.k == 1]
    feasible = steps.feasible if claims.feasible else ()
    invariant = tuple(dict.fromkeys(t for t in (*feasible, *lemmas, *(goal for _, goal in plain)) if not t.is_true))
    writer = Writer(system, bank)
    scripts = [writer.script("base", [steps.start()], [("initial states", bank.not_(bank.conj(invariant)))])]
    if claims.feasible:
        scripts.extend(_legality(steps, claims, writer, invariant))
    scripts.append(writer.script("step", invariant, list(_steps(steps, claims, invariant))))
    scripts.append(writer.script("property", invariant, [(name, bank.not_(goal)) for name, goal in plain]))
    for claim in claims.invariants:
        if claim.k > 1:
            scripts.extend(_k_scripts(steps, invariant, claim, goals[claim.name]))
    return Certificate(system, settings, claims, tuple(lemmas), tuple(scripts))


def _legality(steps: Steps, claims: Claims, writer: Writer, invariant: Sequence[Term]) -> list[Script]:
    """The environment's updates must be among those that are legal: it is not refused."""
    bank, system = steps.bank, steps.system
    legal: list[tuple[str, Term]] = []
    refused: list[tuple[str, Term]] = []
    for number, update in enumerate(system.updates):
        if update.name in claims.refused and update.kind is Kind.FAULT:
            refused.append((update.name, bank.and_(steps.move(number).guard, steps.legal(number))))
        elif update.name in claims.legal or update.kind is Kind.ENVIRONMENT:
            tried = bank.and_(update.when, update.requires)
            legal.append((update.name, bank.and_(tried, bank.not_(bank.and_(update.defined, steps.legal(number))))))
    return [writer.script("legality", invariant, legal), writer.script("refusal", invariant, refused)]


def _steps(steps: Steps, claims: Claims, invariant: Sequence[Term]) -> Iterable[tuple[str, Term]]:
    """Without feasibility nothing is said of what the audit refuses: every attempt counts as a step."""
    bank, system = steps.bank, steps.system
    kept = set(steps.feasible) if claims.feasible else set[Term]()
    for number, update in enumerate(system.updates):
        move = steps.move(number)
        if claims.feasible and update.name in claims.refused and move.fault:
            continue
        taken = steps.commits(number) if claims.feasible else move.guard
        # Feasibility after the step is what legality says; the environment's too.
        after = bank.conj([move.then(t) for t in invariant if t.reads & move.written and t not in kept])
        yield update.name, bank.and_(taken, bank.not_(after))


def _k_scripts(steps: Steps, invariant: Sequence[Term], claim: Claim, goal: Term) -> list[Script]:
    """k steps through states of the invariant with the goal do not end without it; and no shorter run from the start does."""
    found = [_unrolled(steps, f"k-base {length} {claim.name}", length, [], goal) for length in range(claim.k)]
    return [*found, _unrolled(steps, f"k-step {claim.name}", claim.k, [*invariant, goal], goal)]


def _unrolled(steps: Steps, kind: str, length: int, along: Sequence[Term], goal: Term) -> Script:
    """A run of so many steps ends without the goal: from the start, or (with facts) from wherever these hold but at its end."""
    solver = Solver(steps.system, steps.bank)
    relation = Relation(solver, steps)
    for number in range(length + 1):
        here = f"@{number}"
        solver.copy(here)
        if not along and number == 0:
            solver.fact(steps.start(), here)
        for fact in along:
            if number < length or fact is not goal:
                solver.fact(fact, here)
        if number < length:
            relation.join(here, f"@{number + 1}")
    ends = z3.Not(solver.encoder.encode(goal, f"@{length}"))
    lines = [f"; {steps.system.name} {steps.system.version}: {kind}", "(set-logic QF_BV)"]
    declared: dict[str, str] = {}
    for expression in (*solver.core.assertions(), ends):
        for symbol in _symbols(expression):
            declared.setdefault(symbol.sexpr(), symbol.sort().sexpr())
    lines.extend(f"(declare-const {name} {sort})" for name, sort in sorted(declared.items()))
    lines.extend(f"(assert {expression.sexpr()})" for expression in solver.core.assertions())
    name = f"after {length} steps"
    lines.extend(_obligation(name, [ends.sexpr()]))
    return Script(kind, "\n".join(lines) + "\n", (name,))


def _symbols(expression: Any) -> list[Any]:
    seen: set[int] = set()
    found = []
    stack = [expression]
    while stack:
        top = stack.pop()
        if top.get_id() in seen:
            continue
        seen.add(top.get_id())
        if z3.is_const(top) and top.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.append(top)
        stack.extend(top.children())
    return found


# Files.


def _file(kind: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in kind) + ".smt2"


def files_of(certificate: Certificate) -> dict[str, bytes]:
    """Name -> content, the manifest last."""
    system, claims = certificate.system, certificate.claims
    files = {_file(s.kind): s.text.encode() for s in certificate.scripts}
    files["invariant.json"] = (json.dumps(record_of(certificate.lemmas)) + "\n").encode()
    files["recheck.py"] = Path(recheck.__file__).read_bytes()
    manifest: dict[str, object] = {
        "schema": SCHEMA,
        "package": system.name,
        "version": system.version,
        "settings": certificate.settings,
        **_digests(system),
        "claims": {
            "feasible": claims.feasible,
            "legal": list(claims.legal),
            "refused": list(claims.refused),
            "invariants": [{"name": c.name, "k": c.k} for c in claims.invariants],
        },
        "files": {name: sha256(content).hexdigest() for name, content in files.items()},
        "scripts": [{"kind": s.kind, "file": _file(s.kind), "obligations": list(s.names)} for s in certificate.scripts],
    }
    manifest["digest"] = recheck.digest_of(manifest)
    files[recheck.MANIFEST] = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    return files


def _digests(system: System) -> dict[str, str]:
    return {"package_digest": system.package_digest, "theory_digest": system.theory_digest, "fields_digest": system.fields_digest}


def write(folder: Path, certificate: Certificate) -> int:
    """Write a new folder; how many obligations there are. CertificateError where something is there already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CertificateError(f"{folder}: not an empty folder: a certificate is never written over something else")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files_of(certificate).items():
        (folder / name).write_bytes(content)
    return sum(len(s.names) for s in certificate.scripts)


def differences(folder: Path, steps: Steps, settings: dict[str, str]) -> list[str]:
    """What the certificate has otherwise than what its claims and lemmas come to for this package. CertificateError: it is none."""
    try:
        manifest = recheck.read_manifest(folder)
        if (about := manifest["package"]) != steps.system.name:
            return [f"this certificate is about {about}, not {steps.system.name}"]
        others = [name for name, digest in _digests(steps.system).items() if manifest[name] != digest]
        if others:
            return [f"the manifest's {name} is another" for name in others]
        claimed = manifest["claims"]
        recheck.well_formed(claimed)
        claims = Claims(
            claimed["feasible"],
            tuple(claimed["legal"]),
            tuple(claimed["refused"]),
            tuple(Claim(c["name"], c["k"]) for c in claimed["invariants"]),
        )
        lemmas = terms_of(json.loads((folder / "invariant.json").read_text("utf-8")), steps.system, steps.bank)
    except recheck.Refused as wrong:
        raise CertificateError(str(wrong)) from wrong
    except (KeyError, TypeError, ValueError) as wrong:
        what = f"{wrong} is missing" if isinstance(wrong, KeyError) else str(wrong)
        raise CertificateError(f"{folder}: the manifest is of no certificate: {what}") from wrong
    except TermError as wrong:
        raise CertificateError(f"{folder}: the invariant is not about {steps.system.name}: {wrong}") from wrong
    known = {u.name for u in steps.system.updates}
    strangers = [name for name in (*claims.legal, *claims.refused) if name not in known]
    if strangers:
        return [f"{steps.system.name} has no update {name}" for name in strangers]
    wanted = files_of(certify(steps, claims, lemmas, settings))
    found = []
    for name, content in wanted.items():
        file = folder / name
        if name == "recheck.py":
            continue
        if not file.is_file():
            found.append(f"{name} is missing")
        elif file.read_bytes() != content and name != recheck.MANIFEST:
            found.append(f"{name} is not what {steps.system.name} comes to")
    rebuilt = json.loads(wanted[recheck.MANIFEST])
    for key in ("package", "version", "settings", "package_digest", "theory_digest", "fields_digest", "claims", "scripts"):
        if manifest.get(key) != rebuilt[key]:
            found.append(f"the manifest's {key} is another")
    return found
