"""Systems written out by hand, whose counts can be computed on paper."""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.system import Clause, Domain, DomainKind, Field, GroundUpdate, Kind, System, Write
from icore_kernel.terms.term import Term, TermBank


class Draft:
    """Fields of codes `lo..hi`, and updates over them."""

    def __init__(self, *domains: tuple[int, int]) -> None:
        self.bank = TermBank()
        self.fields = tuple(Field(f"x{i}", Domain(DomainKind.INT, lo, hi), i) for i, (lo, hi) in enumerate(domains))

    def x(self, index: int = 0) -> Term:
        field = self.fields[index]
        return self.bank.variable(field.name, index, field.domain.lo, field.domain.hi, False)

    def n(self, value: int) -> Term:
        return self.bank.integer(value)

    def is_(self, value: int, index: int = 0) -> Term:
        return self.bank.eq(self.x(index), self.n(value))

    def update(
        self,
        schema: str,
        when: Term,
        *writes: tuple[int, Term],
        kind: Kind = Kind.ORDINARY,
        requires: Term | None = None,
        before: tuple[Clause, ...] = (),
        after: tuple[Clause, ...] = (),
        fault: str = "",
        binding: str = "",
    ) -> GroundUpdate:
        bank = self.bank
        domains = [self.fields[i].domain for i, _ in writes]
        inside = [
            bank.and_(bank.le(self.n(domain.lo), value), bank.le(value, self.n(domain.hi)))
            for domain, (_, value) in zip(domains, writes, strict=True)
        ]
        return GroundUpdate(
            schema=schema,
            binding=(("i", binding),) if binding else (),
            actor="ana",
            operation=schema,
            kind=kind,
            when=when,
            requires=bank.true if requires is None else requires,
            defined=bank.conj(inside),
            writes=tuple(Write(self.fields[i], value) for i, value in writes),
            before=before,
            after=after,
            fault=fault,
        )

    def move(
        self, schema: str, before: int, after: int, kind: Kind = Kind.ORDINARY, fault: str = "", requires: Term | None = None
    ) -> GroundUpdate:
        """`when x0 == before then x0 := after`."""
        return self.update(schema, self.is_(before), (0, self.n(after)), kind=kind, fault=fault, requires=requires)

    def tick(self, index: int) -> GroundUpdate:
        """One more, up to the field's greatest value."""
        below = self.bank.lt(self.x(index), self.n(self.fields[index].domain.hi))
        return self.update("tick", below, (index, self.bank.add(self.x(index), self.n(1))), binding=str(index))

    def system(
        self,
        updates: Sequence[GroundUpdate],
        initial: Sequence[int] | None = None,
        feasibility: tuple[Clause, ...] = (),
        free: Sequence[int] = (),
        initially: Term | None = None,
    ) -> System:
        return System(
            name="ByHand",
            version="1",
            fields=self.fields,
            initial=tuple(initial) if initial is not None else tuple(field.domain.lo for field in self.fields),
            free=tuple(self.fields[i] for i in free),
            initially=self.bank.true if initially is None else initially,
            updates=tuple(updates),
            feasibility=feasibility,
        )


def counters(count: int, values: int) -> System:
    """`count` independent counters of `values` values: values^count states, count (values - 1) values^(count - 1) steps,
    depth count (values - 1)."""
    draft = Draft(*[(0, values - 1)] * count)
    return draft.system([draft.tick(i) for i in range(count)])


def chains(count: int, length: int, agents: int) -> System:
    """`count` chains of items blocked, ready, assigned (to one of `agents`), closed; closing readies the next item.

    With k = length (1 + agents) + 1 and t = 2 length agents: k^count states, count t k^(count - 1) steps, depth 2 length count.
    """
    draft = Draft(*[(0, 3), (0, agents)] * (count * length))
    bank = draft.bank
    updates: list[GroundUpdate] = []
    initial = [0] * len(draft.fields)
    for chain in range(count):
        initial[2 * chain * length] = 1
        for item in range(length):
            status = 2 * (chain * length + item)
            owner = status + 1
            following = [(status + 2, draft.n(1))] if item + 1 < length else []
            for agent in range(1, agents + 1):
                held = bank.and_(draft.is_(2, status), draft.is_(agent, owner))
                name = f"{chain}.{item}.{agent}"
                updates.append(draft.update("assign", draft.is_(1, status), (status, draft.n(2)), (owner, draft.n(agent)), binding=name))
                updates.append(draft.update("close", held, (status, draft.n(3)), (owner, draft.n(0)), *following, binding=name))
    owned = tuple(
        Clause("A.4(1)", bank.iff(draft.is_(2, status), bank.lt(draft.n(0), draft.x(status + 1))), instance=str(status))
        for status in range(0, len(draft.fields), 2)
    )
    return draft.system(updates, initial, owned)
