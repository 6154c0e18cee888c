"""Small random systems, made directly of terms: many are infeasible somewhere, refuse something, or leave a domain."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from icore_dsl.syntax import Span
from icore_kernel.explore.model import Watchlist
from icore_kernel.system import Clause, Domain, DomainKind, Field, GroundUpdate, Kind, Measure, Ratio, System, Write
from icore_kernel.terms.term import Sort, Term, TermBank

NOWHERE = Span("random.icore", 0, 0, 1, 1, 1, 1)
MOST = 400
"""The product of the field sizes is at most this."""


@dataclass
class Draft:
    """The parts from which random formulas are made: the fields that may move, each with its variable in the same place."""

    bank: TermBank
    random: Random
    fields: list[Field]
    variables: list[Term]

    def integer(self) -> Term:
        random, bank = self.random, self.bank
        numbers = [term for term in self.variables if term.sort is Sort.INT]
        if not numbers or random.random() < 0.25:
            return bank.integer(random.randint(-2, 4))
        term = random.choice(numbers)
        match random.randrange(5):
            case 0:
                return bank.add(term, bank.integer(random.choice((-1, 1, 2))))
            case 1:
                return bank.ite(self.atom(), term, bank.integer(random.randint(0, 2)))
            case 2:
                return bank.sub(random.choice(numbers), term)
            case _:
                return term

    def atom(self) -> Term:
        random, bank = self.random, self.bank
        term = random.choice(self.variables)
        if term.sort is Sort.BOOL:
            return term
        constant = bank.integer(random.randint(term.lo, term.hi))
        match random.randrange(4):
            case 0:
                return bank.le(term, constant)
            case 1:
                return bank.member(term, {random.randint(term.lo, term.hi) for _ in range(2)})
            case _:
                return bank.eq(term, constant)

    def formula(self, depth: int = 2) -> Term:
        random, bank = self.random, self.bank
        if depth == 0 or random.random() < 0.3:
            return self.atom()
        match random.randrange(6):
            case 0:
                return bank.not_(self.formula(depth - 1))
            case 1:
                return bank.implies(self.formula(depth - 1), self.formula(depth - 1))
            case 2:
                return bank.lt(self.integer(), self.integer())
            case 3:
                return bank.and_(self.formula(depth - 1), self.formula(depth - 1))
            case _:
                return bank.or_(self.formula(depth - 1), self.formula(depth - 1))

    def clauses(self, most: int, prefix: str) -> tuple[Clause, ...]:
        count = self.random.randint(0, most)
        return tuple(Clause(f"{prefix}({self.random.randint(1, most)})", self.formula()) for _ in range(count))


def random_system(random: Random, bank: TermBank | None = None) -> System:
    """`bank`: the one that its terms are made in (terms of two banks may not be mixed)."""
    bank = TermBank() if bank is None else bank
    fields: list[Field] = []
    wide: list[Field] = []
    size = 1
    several_words = random.random() < 0.3
    for _ in range(random.randint(3, 6)):
        index = len(fields) + len(wide)
        if several_words and random.random() < 0.6:
            # 62 bits that nothing reads or writes, between the fields that move.
            wide.append(Field(f"f{index}", Domain(DomainKind.INT, 0, 2**62 - 1), index))
            index += 1
        options = [n for n in (1, 2, 3, 3, 4, 4, 5) if size * n <= MOST]
        values = random.choice(options)
        size *= values
        if values == 2 and random.random() < 0.6:
            domain = Domain(DomainKind.BOOL, 0, 1)
        elif random.random() < 0.5:
            lo = random.choice((-2, 0, 0, 3))
            domain = Domain(DomainKind.INT, lo, lo + values - 1)
        else:
            domain = Domain(DomainKind.ENUM, 0, values - 1, tuple("abcde"[:values]))
        fields.append(Field(f"f{index}", domain, index))
    variables = [bank.variable(f.name, f.index, f.domain.lo, f.domain.hi, f.domain.kind is DomainKind.BOOL) for f in fields]
    draft = Draft(bank, random, fields, variables)
    updates = tuple(_update(draft, number) for number in range(random.randint(4, 8)))
    free = tuple(sorted(random.sample(fields, random.choice((0, 0, 1, 1, 2))), key=lambda f: f.index))
    return System(
        name="Random",
        version="1",
        fields=(every := tuple(sorted((*fields, *wide), key=lambda f: f.index))),
        initial=tuple(random.randint(f.domain.lo, f.domain.hi) for f in every),
        free=free,
        initially=bank.true if random.random() < 0.7 else draft.formula(1),
        updates=updates,
        feasibility=tuple(
            # Weak clauses, so that a good part of the space stays feasible.
            Clause(f"A.4({random.randint(1, 3)})", bank.or_(draft.atom(), draft.atom(), draft.formula(1)))
            for _ in range(random.randint(0, 4))
        ),
    )


def _update(draft: Draft, number: int) -> GroundUpdate:
    random, bank = draft.random, draft.bank
    writes: list[Write] = []
    inside: list[Term] = []
    for field in random.sample(draft.fields, random.randint(1, 2)):
        domain, variable = field.domain, draft.variables[draft.fields.index(field)]
        value: Term
        if domain.kind is DomainKind.BOOL:
            value = random.choice((bank.true, bank.false, bank.not_(variable), draft.atom()))
        elif random.random() < 0.3:
            value = bank.integer(random.randint(domain.lo, domain.hi))
        elif random.random() < 0.75:
            step = bank.add(variable, bank.integer(1))
            value = bank.ite(bank.lt(variable, bank.integer(domain.hi)), step, bank.integer(domain.lo))
        else:
            value = draft.integer()
        if domain.kind is not DomainKind.BOOL:
            inside.append(bank.le(bank.integer(domain.lo), value))
            inside.append(bank.le(value, bank.integer(domain.hi)))
        writes.append(Write(field, value))
    kind = random.choice((Kind.ORDINARY, Kind.ORDINARY, Kind.ORDINARY, Kind.ENVIRONMENT, Kind.FAULT))
    schema = f"u{number // 2}"
    fault = random.choice(("slip", "skip")) if kind is Kind.FAULT else ""
    return GroundUpdate(
        schema=f"{schema}.{fault}" if fault else schema,
        binding=(("x", str(number)),),
        actor="ana",
        operation=schema,
        kind=kind,
        when=draft.formula(1) if random.random() < 0.6 else bank.true,
        requires=bank.true if random.random() < 0.6 else draft.formula(1),
        defined=bank.conj(inside),
        writes=tuple(writes),
        before=draft.clauses(2, "6") if random.random() < 0.2 else (),
        after=draft.clauses(2, "12") if random.random() < 0.2 else (),
        fault=fault,
    )


def random_watchlist(system: System, random: Random, bank: TermBank | None = None) -> Watchlist:
    """Checks, sightings, measures, ends and outcomes over the fields of a system made by `random_system`."""
    bank = TermBank() if bank is None else bank
    fields = [field for field in system.fields if field.domain.size <= MOST]
    variables = [bank.variable(f.name, f.index, f.domain.lo, f.domain.hi, f.domain.kind is DomainKind.BOOL) for f in fields]
    draft = Draft(bank, random, fields, variables)
    den = bank.add(bank.absolute(draft.integer()), bank.integer(1))
    return Watchlist(
        checks=(("feasible", bank.or_(draft.formula(1), draft.atom())), ("sound", draft.formula())),
        seen=(("accept", draft.formula()), ("never", bank.false), ("always", bank.true)),
        minimums=(Measure("snd", Ratio(draft.integer(), den)), Measure("size", Ratio(draft.integer(), bank.integer(1)))),
        ends=tuple(draft.atom() for _ in range(random.randint(0, 2))),
        final=(bank.and_(draft.atom(), draft.atom()),),
        outcomes=tuple(Clause(f"discharge({number})", draft.atom()) for number in range(2)),
    )


def systems() -> st.SearchStrategy[tuple[System, Watchlist]]:
    """By seed: the parts of a system hang together too closely for shrinking to make much of it, and it takes minutes to try."""

    def make(seed: int) -> tuple[System, Watchlist]:
        random = Random(seed)
        system = random_system(random)
        return system, random_watchlist(system, random)

    return st.integers(0, 2**32 - 1).map(make)
