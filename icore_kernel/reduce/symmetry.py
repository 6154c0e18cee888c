"""`symmetric agents a, b`: is the grounded system the same with the names exchanged?

Checked for the exchange of each two neighbours in the declaration, which generate all permutations: the initial states, every
update (guard, requirement, writes, legality) and every clause must go over into those of the other name. The names only propose
where things go; the formulas decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from icore_dsl.syntax import Span
from icore_kernel.explore.model import Watchlist
from icore_kernel.reduce.alike import Alike, Values
from icore_kernel.reduce.renaming import Action, Misfit, Names, Renaming
from icore_kernel.system import Clause, GroundUpdate, System
from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Variable
from icore_kernel.terms.term import TermBank, substitute, variables


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration of symmetry: `what` it is about (agents, obligations), the names, where it stands."""

    what: str
    members: tuple[str, ...]
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a declaration does not hold: what differs, where that is written, and values with which it does."""

    text: str
    span: Span | None = None
    values: Values = ()


class Equivariance:
    """Questions about one system; `bank` is the bank of its terms."""

    def __init__(self, system: System, bank: TermBank) -> None:
        self.system = system
        self.names = Names(system)
        self.alike = Alike(system, bank)

    def exchanges(self, declared: Declared) -> tuple[Action, ...]:
        """The exchange of each two neighbours. Misfit where one has no counterpart for something."""
        pairs = zip(declared.members, declared.members[1:], strict=False)
        return tuple(self.names.action(Renaming({one: other, other: one})) for one, other in pairs)

    def broken(self, declared: Declared) -> Broken | None:
        """None where the package does treat the members alike."""
        try:
            actions = self.exchanges(declared)
        except Misfit as misfit:
            return Broken(misfit.text, misfit.span)
        for action in actions:
            found = next(self._differences(action), None)
            if found is not None:
                return found
        return None

    def keeps(self, terms: Sequence[Term], declared: Declared) -> bool:
        """Whether each formula is left as it is by every exchange."""
        return all(self.alike.same(term, term, action) for action in self.exchanges(declared) for term in terms)

    # ---- differences -----------------------------------------------------------------------------------------------
    def _differences(self, action: Action) -> Iterator[Broken]:
        system = self.system
        yield from self._start(action)
        pairs = [(update, system.updates[action.updates[number]]) for number, update in enumerate(system.updates)]
        for update, other in pairs:
            yield from self._update(update, other, action)
        # What the package writes comes before what the theory makes of it: where both differ, the first is the reason.
        for update, other in pairs:
            for clauses, its in ((update.before, other.before), (update.after, other.after)):
                yield from self._clauses(f"legality of {other.name}", clauses, its, action, other.span)
        for what, clauses in (
            ("feasibility", system.feasibility),
            ("soundness", system.soundness),
            ("accept", system.accept),
            ("reject", system.reject),
            ("stuck", system.stuck),
            ("hypothesis", system.hypotheses),
            ("conclusion", system.conclusions),
        ):
            yield from self._clauses(what, clauses, clauses, action)
        yield from self._outcomes(action)

    def _start(self, action: Action) -> Iterator[Broken]:
        system = self.system
        free = {field.index for field in system.free}
        if {action.places[index] for index in free} != free:
            yield Broken(f"only some of {', '.join(f.name for f in system.free)} start anywhere")
            return
        after = action.image(system.initial)
        for field in system.fields:
            if field.index not in free and after[field.index] != system.initial[field.index]:
                value, wanted = field.domain.show(system.initial[field.index]), field.domain.show(after[field.index])
                yield Broken(f"{field.name} starts as {value}; it would be {wanted} with the names exchanged")
        # Of `initially` counts what it says where the other fields have their initial values.
        fixed = {v.index: self._constant(v) for v in variables(system.initially) if v.index not in free}
        initially = substitute(self.alike.bank, system.initially, fixed)
        if not self.alike.same(initially, initially, action):
            yield Broken("`initially` distinguishes them", None, self.alike.differs)

    def _constant(self, variable: Variable) -> Term:
        code, bank = self.system.initial[variable.index], self.alike.bank
        return bank.boolean(bool(code)) if variable.boolean else bank.integer(code)

    def _update(self, update: GroundUpdate, other: GroundUpdate, action: Action) -> Iterator[Broken]:
        alike = self.alike

        def differs(what: str) -> Broken:
            said = f"{other.name} is not {update.name} with the names exchanged: {what}"
            return Broken(said, other.span or update.span, alike.differs)

        alike.differs = ()
        if (update.kind, update.fault, update.operation) != (other.kind, other.fault, other.operation):
            yield differs("they are of another kind")
        guards = (("when", update.when, other.when), ("requires", update.requires, other.requires))
        for what, mine, its in (*guards, ("the range of what is written", update.defined, other.defined)):
            if not alike.same_conjunction([mine], [its], action):
                yield differs(f"`{what}` differs" if " " not in what else f"{what} differs")
        yield from self._writes(update, other, action)

    def _writes(self, update: GroundUpdate, other: GroundUpdate, action: Action) -> Iterator[Broken]:
        fields, alike = self.system.fields, self.alike
        mine = {action.places[w.field.index]: w for w in update.writes}
        its = {w.field.index: w.value for w in other.writes}
        for index in [*its, *(i for i in mine if i not in its)]:
            same = index in mine and index in its
            if same:
                write = mine[index]
                same = alike.same(write.value, its[index], action, action.codes[write.field.index])
            else:
                alike.differs = ()
            if not same:
                said = f"{other.name} is not {update.name} with the names exchanged: what it makes of {fields[index].name} differs"
                yield Broken(said, other.span or update.span, alike.differs)

    def _clauses(
        self, what: str, clauses: Sequence[Clause], others: Sequence[Clause], action: Action, span: Span | None = None
    ) -> Iterator[Broken]:
        """Clauses by their labels: all of one label together must say the same, and the labels stand in one order."""
        mine, its = _by_label(clauses), _by_label(others)
        if list(mine) != list(its):
            yield Broken(f"{what} has other clauses with the names exchanged", span)
            return
        for label, group in its.items():
            if not self.alike.same_conjunction([c.formula for c in mine[label]], [c.formula for c in group], action):
                own = group[0].spans[0] if group[0].spans else None
                yield Broken(f"{what}, {label}, distinguishes them", span or own, self.alike.differs)

    def _outcomes(self, action: Action) -> Iterator[Broken]:
        """Each outcome goes over into one of the same label."""
        left = list(self.system.outcomes)
        for clause in self.system.outcomes:
            wanted = self.alike.forms.number(clause.formula, action)
            found = next((c for c in left if c.label == clause.label and self.alike.forms.number(c.formula) == wanted), None)
            if found is None:
                found = next((c for c in left if c.label == clause.label and self.alike.same(clause.formula, c.formula, action)), None)
            if found is None:
                span = clause.spans[0] if clause.spans else None
                yield Broken(f"{clause.label} of {clause.instance} has no counterpart", span, self.alike.differs)
                return
            left.remove(found)


def _by_label(clauses: Sequence[Clause]) -> dict[str, list[Clause]]:
    found: dict[str, list[Clause]] = {}
    for clause in clauses:
        found.setdefault(clause.label, []).append(clause)
    return found


@dataclass(frozen=True, slots=True)
class Kept:
    """Whether all that a watchlist asks survives. `lost`: the id of the first thing that distinguishes symmetric names, if any.

    `shared`: places in `seen` whose formulas go over into one another, and of which only whether each is ever true is asked.
    """

    lost: str | None = None
    shared: tuple[tuple[int, ...], ...] = ()


def kept(equivariance: Equivariance, sets: Sequence[Declared], watchlist: Watchlist, sharing: Sequence[str] = ()) -> Kept:
    """`sharing`: how the ids begin of what may be shared. Outcomes are judged by `broken`: they may go over into one another."""
    asked: list[tuple[str, list[Term]]] = [(name, [term]) for name, term in watchlist.checks]
    asked += [(measure.name, [measure.ratio.num, measure.ratio.den]) for measure in watchlist.minimums]
    asked += [("dead ends", list(watchlist.ends)), ("finality", list(watchlist.final))]
    for name, terms in asked:
        if not _keeps(equivariance, sets, terms):
            return Kept(name)
    loose: list[int] = []
    for place, (name, term) in enumerate(watchlist.seen):
        if not _keeps(equivariance, sets, [term]):
            if not name.startswith(tuple(sharing)):
                return Kept(name)
            loose.append(place)
    return _shared(equivariance, sets, watchlist, loose)


def _keeps(equivariance: Equivariance, sets: Sequence[Declared], terms: Sequence[Term]) -> bool:
    return all(equivariance.keeps(terms, declared) for declared in sets)


def _shared(equivariance: Equivariance, sets: Sequence[Declared], watchlist: Watchlist, loose: Sequence[int]) -> Kept:
    """The loose places by what they go over into; all of them must go over into each other."""
    forms = equivariance.alike.forms
    numbers = {forms.number(watchlist.seen[place][1]): place for place in reversed(loose)}
    least = {place: place for place in loose}
    for action in (action for declared in sets for action in equivariance.exchanges(declared)):
        for place in loose:
            image = numbers.get(forms.number(watchlist.seen[place][1], action))
            if image is None:
                return Kept(watchlist.seen[place][0])
            one, other = sorted((least[place], least[image]))
            least = {p: one if root == other else root for p, root in least.items()}
    found: dict[int, list[int]] = {}
    for place in loose:
        found.setdefault(least[place], []).append(place)
    return Kept(None, tuple(map(tuple, found.values())))
