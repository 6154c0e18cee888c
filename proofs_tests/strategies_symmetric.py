"""Small random systems that treat their members alike, by construction: each member has the same fields, and its updates and formulas
are made from the same random draws over its own fields, what is shared, and whether it is the holder."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from strategies_systems import Draft, random_watchlist

from icore_kernel.explore.model import Watchlist
from icore_kernel.system import Clause, Domain, DomainKind, Field, GroundUpdate, Kind, System, Write
from icore_kernel.terms.term import Term, TermBank

MEMBERS = ("ana", "bo", "cy", "dov")


class SymmetricDraft:
    """`own[i]` are the fields of member i, `shared` those of nobody, `holder` (None or one of the fields) names a member or nobody."""

    def __init__(self, random: Random) -> None:
        self.bank = TermBank()
        self.random = random
        count = random.choice((2, 2, 3, 3, 4))
        self.members = MEMBERS[:count]
        self.fields: list[Field] = []
        widths = [random.choice((2, 2, 3))] if count > 2 or random.random() < 0.6 else [2, random.choice((2, 3))]
        self.own = [
            [self._field(f"part{k}({name})", Domain(DomainKind.INT, 0, width - 1)) for k, width in enumerate(widths)]
            for name in self.members
        ]
        self.shared = [self._field("shared", Domain(DomainKind.INT, 0, random.choice((1, 2))))]
        names = ("none", *self.members)
        self.holder = self._field("holder", Domain(DomainKind.ENUM, 0, count, names)) if random.random() < 0.6 else None
        random.shuffle(self.fields)
        self.fields[:] = [replace(f, index=i) for i, f in enumerate(self.fields)]
        by_name = {f.name: f for f in self.fields}
        self.own = [[by_name[f.name] for f in part] for part in self.own]
        self.shared = [by_name[f.name] for f in self.shared]
        self.holder = by_name["holder"] if self.holder is not None else None

    def _field(self, name: str, domain: Domain) -> Field:
        field = Field(name, domain, len(self.fields))
        self.fields.append(field)
        return field

    def term(self, field: Field) -> Term:
        return self.bank.variable(field.name, field.index, field.domain.lo, field.domain.hi, False)

    def held_by(self, member: int) -> Term:
        assert self.holder is not None
        return self.bank.eq(self.term(self.holder), self.bank.integer(member + 1))

    def draft(self, member: int | None, seed: int) -> Draft:
        """Random formulas as of one member (None: of nobody), the same ones for every member with the same seed."""
        fields = [*(self.own[member] if member is not None else ()), *self.shared]
        variables = [self.term(f) for f in fields]
        if self.holder is not None:
            nobody = self.bank.eq(self.term(self.holder), self.bank.integer(0))
            variables += [self.held_by(member), nobody] if member is not None else [nobody]
        return Draft(self.bank, Random(seed), fields, variables)

    def one(self, member: int, seed: int, depth: int = 2) -> Term:
        """A formula about one member and, now and then, all or some of them."""
        kind = Random(seed).random()
        own = self.draft(member, seed).formula(depth)
        if kind < 0.25:
            return self.bank.and_(own, self.every(seed + 1))
        return self.bank.or_(own, self.some(seed + 1)) if kind < 0.4 else own

    def every(self, seed: int, depth: int = 1) -> Term:
        """Members in a random order: conjunctions need not be written alike to say the same."""
        return self.bank.conj(self.draft(i, seed).formula(depth) for i in self._shuffled())

    def some(self, seed: int, depth: int = 1) -> Term:
        return self.bank.disj(self.draft(i, seed).formula(depth) for i in self._shuffled())

    def _shuffled(self) -> list[int]:
        return self.random.sample(range(len(self.members)), len(self.members))

    def whole(self) -> Term:
        """A formula that treats all alike."""
        random = self.random
        seed = random.getrandbits(30)
        match random.randrange(4):
            case 0:
                return self.every(seed, 2)
            case 1:
                return self.some(seed, 2)
            case 2:
                total = self.bank.add(*(self.term(self.own[i][0]) for i in self._shuffled()))
                return self.bank.le(total, self.bank.integer(random.randint(0, len(self.members))))
            case _:
                return self.bank.or_(self.every(seed), self.draft(None, seed).atom())

    def updates(self, schema: str) -> list[GroundUpdate]:
        """One update for each member."""
        random, bank = self.random, self.bank
        seed = random.getrandbits(30)
        kind = random.choice((Kind.ORDINARY, Kind.ORDINARY, Kind.ORDINARY, Kind.ENVIRONMENT, Kind.FAULT))
        fault = "slip" if kind is Kind.FAULT else ""
        guarded, demanding, judged = random.random() < 0.8, random.random() < 0.3, random.random() < 0.2
        writes_own, writes_shared, takes = random.random() < 0.85, random.random() < 0.35, random.choice((None, "take", "leave"))
        step = random.choice((1, 1, 1, 2))
        found: list[GroundUpdate] = []
        for i, name in enumerate(self.members):
            writes: list[Write] = []
            inside: list[Term] = []
            targets = [*([self.own[i][-1]] if writes_own else []), *(self.shared if writes_shared else [])]
            for f in targets:
                value = bank.add(self.term(f), bank.integer(step))
                top = bank.integer(f.domain.hi)
                if step == 1 and (seed >> f.domain.hi) % 3:
                    value = bank.ite(bank.lt(self.term(f), top), value, bank.integer(0))
                inside.append(bank.le(value, top))
                writes.append(Write(f, value))
            if self.holder is not None and takes is not None:
                writes.append(Write(self.holder, bank.integer(i + 1 if takes == "take" else 0)))
            found.append(
                GroundUpdate(
                    schema=f"{schema}.{fault}" if fault else schema,
                    binding=(("m", name),),
                    actor=name,
                    operation=schema,
                    kind=kind,
                    when=self.one(i, seed) if guarded else bank.true,
                    requires=self.one(i, seed + 7, 1) if demanding else bank.true,
                    defined=bank.conj(inside),
                    writes=tuple(writes),
                    after=(Clause("12(1)", self.one(i, seed + 9, 1)),) if judged else (),
                    fault=fault,
                )
            )
        return found


def symmetric_system(random: Random) -> tuple[System, Watchlist, SymmetricDraft]:
    draft = SymmetricDraft(random)
    bank = draft.bank
    updates = [u for number in range(random.randint(2, 4)) for u in draft.updates(f"u{number}")]
    random.shuffle(updates)
    starts = [random.randint(0, f.domain.hi) for f in draft.own[0]]
    initial = [0] * len(draft.fields)
    for part in draft.own:
        for f, value in zip(part, starts, strict=True):
            initial[f.index] = value
    free = tuple(f for f in draft.fields if random.random() < 0.2 and f in draft.shared)
    if random.random() < 0.2:
        free = tuple(sorted((part[0] for part in draft.own), key=lambda f: f.index))
    system = System(
        name="Alike",
        version="1",
        fields=tuple(draft.fields),
        initial=tuple(initial),
        free=free,
        initially=bank.true if random.random() < 0.7 else draft.whole(),
        updates=tuple(updates),
        feasibility=tuple(Clause(f"A.4({i})", bank.or_(draft.whole(), draft.whole())) for i in range(random.randint(0, 2))),
        outcomes=tuple(Clause("discharge", draft.term(part[0]), instance=name) for part, name in zip(draft.own, draft.members, strict=True))
        if all(part[0].domain.kind is DomainKind.BOOL for part in draft.own)
        else tuple(
            Clause("discharge", bank.eq(draft.term(part[0]), bank.integer(1)), instance=name)
            for part, name in zip(draft.own, draft.members, strict=True)
        ),
    )
    total = bank.add(*(draft.term(part[0]) for part in draft.own))
    plain = random_watchlist(system, random)
    minimums = tuple(replace(m, ratio=replace(m.ratio, num=total, den=bank.integer(1))) for m in plain.minimums)
    watchlist = Watchlist(
        checks=(("feasible", bank.or_(draft.whole(), draft.whole())), ("sound", draft.whole())),
        seen=(("accept", draft.whole()), ("never", bank.false), ("always", bank.true)),
        minimums=minimums,
        ends=(draft.whole(),) if random.random() < 0.7 else (),
        final=(draft.whole(),) if random.random() < 0.6 else (),
        outcomes=system.outcomes,
    )
    return system, watchlist, draft
