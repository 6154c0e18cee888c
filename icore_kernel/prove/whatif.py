"""What rests on a certificate: what its revocation leaves unjustified, and minimal sets of certificates that an acceptance rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from icore_kernel.explore.model import State
from icore_kernel.meaning import scalar
from icore_kernel.meaning.smt import Result
from icore_kernel.near import near
from icore_kernel.prove.solver import Solver
from icore_kernel.prove.steps import Steps, equals, field_terms
from icore_kernel.system import Clause, Field, System
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import substitute

CERTIFICATE = "certificate"
"""The kind of a certificate's lifecycle field."""

MOST_SETS = 16


class UnknownCertificate(LookupError):
    """The system has no certificate of that name; the message names the nearest, or some of those that it has."""


def certificates(system: System) -> tuple[Field, ...]:
    """The lifecycle field of each certificate: its name is the certificate's."""
    return tuple(f for f in system.fields if f.kind == CERTIFICATE)


def certificate_named(system: System, name: str) -> Field:
    wanted = name.replace(" ", "")
    for field in certificates(system):
        if field.name.replace(" ", "") == wanted:
            return field
    if any(sliced.replace(" ", "") == wanted for sliced in system.sliced):
        raise UnknownCertificate(f"{name} is the same in every state: nothing in {system.name} issues, revokes or supersedes it")
    raise UnknownCertificate(f"{system.name} has no certificate {name!r}; {near(name, (f.name for f in certificates(system)))}")


def code(field: Field, *names: str) -> int:
    """The code of the first of these lifecycle values that the field has; its least where it has none."""
    return next((field.domain.lo + field.domain.names.index(n) for n in names if n in field.domain.names), field.domain.lo)


def is_active(steps: Steps, field: Field) -> Term:
    return equals(steps.bank, field_terms(steps.system, steps.bank)[field.index], code(field, "active"))


def without(state: State, field: Field) -> State:
    """The state with this certificate revoked, and everything else as it is."""
    return tuple(code(field, "revoked", "absent") if i == field.index else v for i, v in enumerate(state))


@dataclass(frozen=True, slots=True)
class Loss:
    """What a revocation breaks. `unjustified`: assertions that lose their justification; `clauses`: (clause, instance) of feasibility
    that fail; `falls`: what stood and stands no longer (Acc, Rej, the discharge of a root). `everywhere`: of Acc, whether it falls
    from every feasible state in which the certificate is active (None: the solver gave up, or Acc does not stand here)."""

    unjustified: tuple[str, ...]
    clauses: tuple[tuple[Clause, str], ...]
    falls: tuple[str, ...]
    everywhere: bool | None = None


def loss(steps: Steps, state: State, field: Field, standing: Sequence[tuple[str, Term]], accept: Term, justified: str = "A.4(2)") -> Loss:
    """What revoking a certificate costs in this state. `standing`: what may stand, by name; `justified`: the label of the clause
    whose instances are the assertions."""
    after = without(state, field)
    broken: list[tuple[Clause, str]] = []
    for clause in steps.system.feasibility:
        instances = clause.instances or ((clause.instance, clause.formula),)
        for name, formula in instances:
            if scalar.evaluate(formula, state) and not scalar.evaluate(formula, after):
                broken.append((clause, name))
    falls = tuple(name for name, formula in standing if scalar.evaluate(formula, state) and not scalar.evaluate(formula, after))
    unjustified = tuple(name for clause, name in broken if clause.label == justified)
    return Loss(unjustified, tuple(broken), falls, _everywhere(steps, state, field, accept))


def _everywhere(steps: Steps, state: State, field: Field, accept: Term) -> bool | None:
    if not scalar.evaluate(accept, state):
        return None
    bank = steps.bank
    solver = Solver(steps.system, bank)
    for part in steps.feasible:
        solver.fact(part)
    variable = field_terms(steps.system, bank)[field.index]
    gone = bank.boolean(False) if variable.variable.boolean else bank.integer(code(field, "revoked", "absent"))
    answer = solver.ask([is_active(steps, field), accept], bank.not_(substitute(bank, accept, {field.index: gone})))
    return None if answer.result is Result.UNKNOWN else answer.result is Result.UNSAT


def rests_on(steps: Steps, state: State, formula: Term, most: int = MOST_SETS) -> tuple[tuple[str, ...], ...]:
    """Minimal sets of active certificates that, staying active, keep the formula true whichever of the others are revoked.

    All of them where there are at most `most`. Everything but the certificates stays as it is. Empty where the formula is
    false in the state, or false once no certificate can be revoked.
    """
    system, bank = steps.system, steps.bank
    if not scalar.evaluate(formula, state):
        return ()
    active = [f for f in certificates(system) if state[f.index] == code(f, "active")]
    variables = field_terms(system, bank)
    fixed = {f.index: _constant(steps, variables[f.index], state[f.index]) for f in system.fields if f not in active}
    goal = substitute(bank, formula, fixed)
    solver = Solver(system, bank)
    for f in active:
        kept, gone = (equals(bank, variables[f.index], value) for value in (code(f, "active"), code(f, "revoked", "absent")))
        solver.fact(bank.or_(kept, gone))
    stay = {f: equals(bank, variables[f.index], code(f, "active")) for f in active}

    def keeps(chosen: Sequence[Field]) -> tuple[Field, ...] | None:
        """The part of these that suffices; None where they do not."""
        answer = solver.ask([stay[f] for f in chosen], goal, core=True)
        return tuple(f for f in chosen if stay[f] in answer.core) if answer.result is Result.UNSAT else None

    found: list[tuple[Field, ...]] = []
    tried: set[frozenset[Field]] = set()
    stack: list[frozenset[Field]] = [frozenset()]
    while stack and len(found) < most:
        left_out = stack.pop()
        if left_out in tried:
            continue
        tried.add(left_out)
        # A minimal set avoids these, or there is none that does: every set is met, as Reiter's hitting-set tree meets them.
        known = next((s for s in found if not left_out & set(s)), None)
        if known is None:
            known = _minimal(keeps, [f for f in active if f not in left_out])
            if known is None:
                continue
            found.append(known)
        stack.extend(left_out | {f} for f in known)
    return tuple(sorted((tuple(f.name for f in one) for one in found), key=lambda names: (len(names), names)))


def _minimal(keeps: Callable[[Sequence[Field]], tuple[Field, ...] | None], chosen: list[Field]) -> tuple[Field, ...] | None:
    """A part of `chosen` that suffices and no part of which does; None where not even all of them do."""
    core = keeps(chosen)
    if core is None:
        return None
    rest = list(core)
    for f in core:
        smaller = [other for other in rest if other is not f]
        if f in rest and (kept := keeps(smaller)) is not None:
            rest = list(kept)
    return tuple(rest)


def _constant(steps: Steps, variable: Term, value: int) -> Term:
    return steps.bank.boolean(bool(value)) if variable.variable.boolean else steps.bank.integer(value)
