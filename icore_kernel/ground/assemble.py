"""The whole road from checked syntax to a `System`."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from icore_dsl import syntax as s
from icore_dsl.mistakes import G001
from icore_kernel.ground.build import build, declarations
from icore_kernel.ground.clauses import Clauses
from icore_kernel.ground.context import declare_context
from icore_kernel.ground.effects import Effects, bindings, touched
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.evidence import gather
from icore_kernel.ground.fixpoint import PLACEHOLDERS
from icore_kernel.ground.late import late_names, mentions
from icore_kernel.ground.limits import Deadline
from icore_kernel.ground.primitives import Primitives, UpdateFacts
from icore_kernel.ground.properties import Properties
from icore_kernel.ground.relations import CONTRIBUTES
from icore_kernel.ground.slots import Slots
from icore_kernel.ground.universe import Universe
from icore_kernel.ground.values import Algebra, Element, GroundingError, Value
from icore_kernel.ground.variations import Variation
from icore_kernel.ground.world import declare
from icore_kernel.system import GroundUpdate, Kind, System
from icore_kernel.terms.term import TermBank

if TYPE_CHECKING:
    from icore_kernel.audit.tables import Tables
    from icore_kernel.ground.claimants import Claimed

Occurrence = tuple[Variation, dict[str, Value]]


@dataclass(frozen=True)
class Grounded:
    """A `System`, the bank its terms live in, and what else can be asked of the package; `elements[i]` is update i to the theory."""

    system: System
    bank: TermBank
    primitives: Primitives
    decls: tuple[s.Decl, ...]
    elements: tuple[Element, ...]

    def tables(self) -> Tables:
        """What the audit loop reads. Raises GroundingError where the theory does not say it."""
        from icore_kernel.ground.auditing import audit_tables

        with deep_recursion():
            return audit_tables(self.primitives, self.decls, self.system.updates, self.elements)

    def claimed(self, assertion: str) -> Claimed | None:
        """Which certificates may claim the assertion of this name; None where there is none."""
        from icore_kernel.ground.claimants import claimed

        return claimed(self.primitives, assertion)


def ground(
    package: s.Module,
    theory: tuple[s.Module, ...],
    libraries: Mapping[str, s.Module],
    settings: Mapping[str, str],
    deadline: Deadline | None = None,
) -> Grounded:
    """Ground a package that the checker has accepted. Raises GroundingError where it is too large or a setting is wrong, OutOfTime
    where the deadline is over."""
    with deep_recursion():
        grounded = _ground(package, theory, libraries, settings, deadline or Deadline(None))
    grounded.primitives.ev.deadline = Deadline(None)  # what is asked of it later has all the time
    return grounded


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Chains of premises are followed by recursion. The limit is put back: it bounds recursion in C too (decoders of JSON, say)."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 50_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _ground(
    package: s.Module, theory: tuple[s.Module, ...], libraries: Mapping[str, s.Module], settings: Mapping[str, str], deadline: Deadline
) -> Grounded:
    bank = TermBank()
    algebra = Algebra(bank)
    decls = declarations(package, libraries)
    universe, evaluator = build(package, decls, theory, settings, algebra, deadline)
    evidence = gather(universe, evaluator, covering(universe))
    slots = Slots(algebra)
    declare(universe, evaluator, evidence, slots)
    slots.written = touched(universe, evaluator, slots, evidence)
    slots.freeze()
    primitives = Primitives(universe, evaluator, algebra, slots, evidence)
    evaluator.words = primitives
    _audit(decls, evaluator, primitives)
    context = declare_context(primitives)
    if len(slots.fields) > PLACEHOLDERS:
        raise GroundingError(G001, f"{len(slots.fields)} fields that can change: this version grounds at most {PLACEHOLDERS}")
    clauses = Clauses(primitives, theory)
    updates, silent = _updates(primitives)
    properties = Properties(primitives, decls, {m.file: m.text for m in (package, *libraries.values())})
    system = System(
        name=package.name,
        version=package.version,
        fields=tuple(slots.fields),
        initial=tuple(slots.initial),
        free=tuple(slots.free),
        initially=bank.and_(properties.initially(), context),
        updates=tuple(_legal(clauses, element, update) for element, update in updates),
        feasibility=clauses.of("feasibility"),
        soundness=clauses.of("soundness"),
        accept=clauses.of("accept"),
        reject=clauses.of("reject"),
        stuck=clauses.of("stuck"),
        outcomes=clauses.separate("outcome"),
        measures=clauses.measures(),
        properties=properties.declared(),
        scenarios=properties.scenarios(),
        watches=clauses.watches(),
        has_obligations=bool(universe.works),
        hypotheses=clauses.of("hypothesis") if "truth" in universe.functions else (),
        conclusions=clauses.of("conclusion") if "truth" in universe.functions else (),
        allowed=properties.allowed(),
        expect_violated=properties.expected(),
        fairness=properties.fairness(),
        silent=tuple(silent),
        sliced=tuple(slots.sliced),
        counts=_counts(universe, decls, updates),
        fields_digest=digest("\n".join(f"{f.name} {f.domain}" for f in slots.fields))[:6],
        theory_digest=digest("\0".join(m.text for m in theory)),
        package_digest=digest("\0".join([package.text, *(m.text for m in libraries.values()), repr(sorted(settings.items()))])),
    )
    return Grounded(system, bank, primitives, decls, tuple(element for element, _ in updates))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def covering(universe: Universe) -> dict[Element, list[Element]]:
    """obligation -> the required roots it may cover, itself if it is one: a superset of Cov that needs no state."""
    before: dict[Element, set[Element]] = {e: set() for e in universe.works}
    for relation in universe.edges(CONTRIBUTES["cov"]):
        if universe.relations[relation].changing:
            for element in universe.works:
                before[element].update(universe.works)
        for left, right in universe.facts[relation]:
            before[right].add(left)
    found: dict[Element, list[Element]] = {}
    for element in universe.works:
        seen, stack = {element}, [element]
        while stack:
            for previous in before[stack.pop()]:
                if previous not in seen:
                    seen.add(previous)
                    stack.append(previous)
        found[element] = [r for r, w in universe.works.items() if w.required and r in seen]
    return found


def _audit(decls: tuple[s.Decl, ...], evaluator: Evaluator, primitives: Primitives) -> None:
    for decl in decls:
        if isinstance(decl, s.AuditDecl):
            for entry in decl.entries:
                if entry.value is not None and not entry.binders:
                    value = evaluator.static(entry.value, {})
                    if isinstance(value, Fraction):
                        primitives.audit[entry.key] = value


def _updates(primitives: Primitives) -> tuple[list[tuple[Element, GroundUpdate]], list[str]]:
    """Ground updates; those whose guards ask about Acc, Rej or enabledness come last and are no Updates to the theory (decision 12)."""
    universe, evaluator = primitives.u, primitives.ev
    effects = Effects(primitives)
    late = late_names(universe)
    early_ones: list[Occurrence] = []
    late_ones: list[Occurrence] = []
    waits: dict[str, bool] = {}
    for variation, env in bindings(universe, evaluator):
        evaluator.deadline.check()
        if variation.schema not in waits:
            waits[variation.schema] = mentions(variation, late)
        (late_ones if waits[variation.schema] else early_ones).append((variation, env))
    found: list[tuple[Element, GroundUpdate]] = []
    schemas: dict[str, bool] = {}
    facts_of: dict[Element, UpdateFacts] = {}
    updates: list[Element] = []
    for number, (variation, env) in enumerate([*early_ones, *late_ones]):
        if number == len(early_ones):
            _publish(primitives, facts_of, updates)
        evaluator.deadline.look()
        made = effects.ground(variation, env, number)
        schemas[variation.schema] = schemas.get(variation.schema, False) or made is not None
        if made is None:
            continue
        update, facts = made
        facts_of[facts.element] = facts
        if update.kind is not Kind.FAULT and number < len(early_ones):
            updates.append(facts.element)
        found.append((facts.element, update))
    _publish(primitives, facts_of, updates)
    return found, [name for name, some in schemas.items() if not some]


def _publish(primitives: Primitives, facts: Mapping[Element, UpdateFacts], updates: list[Element]) -> None:
    """Every update answers for itself; the theory quantifies over those that are neither faults nor late."""
    primitives.updates.update(facts)
    primitives.u.ground_updates = tuple(updates)


def _legal(clauses: Clauses, element: Element, update: GroundUpdate) -> GroundUpdate:
    clauses.p.ev.deadline.look()
    before, after = clauses.legality(element)
    return replace(update, before=before, after=after)


def _counts(universe: Universe, decls: tuple[s.Decl, ...], updates: list[tuple[Element, GroundUpdate]]) -> dict[str, int]:
    plain = [u for _, u in updates if u.kind is not Kind.FAULT]
    return {
        "agents": len(universe.agents),
        "obligations": len(universe.works),
        "updates": sum(1 for d in universe.updates if not d.is_fault),
        "occurrences": len(plain),
        "fault_occurrences": len(updates) - len(plain),
        "declarations": len(decls),
        "certificates": len(universe.certificates),
    }
