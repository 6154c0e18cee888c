"""Partial order: dead ends, violations and what is looked for are found with it where they are found without it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from conftest import CHECKOUT
from strategies_symmetric import symmetric_system
from strategies_systems import MOST, Draft, random_system, random_watchlist
from systems_by_hand import Draft as ByHand
from systems_by_hand import chains, counters

from icore_kernel import api
from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, Exploration, Rules, Watchlist
from icore_kernel.explore.search import Engine, explore
from icore_kernel.explore.tally import Clock
from icore_kernel.reduce.orbits import Orbits, Set
from icore_kernel.reduce.partial_order import Ample, Footprints
from icore_kernel.reduce.quotient import QuotientSearch, Spoilt
from icore_kernel.reduce.renaming import Names
from icore_kernel.system import Clause, Domain, DomainKind, Field, GroundUpdate, Kind, System, Write
from icore_kernel.terms.term import Term, TermBank
from icore_kernel.verdict import Report, Verdict

EXAMPLES = CHECKOUT / "examples"
COUNTS = CHECKOUT / "proofs_tests" / "cases" / "counts"
RULES = Rules()


def reduced(system: System, bank: TermBank, watchlist: Watchlist, orbits: Orbits | None = None) -> Exploration:
    ample = Ample(Footprints(system, bank), watchlist)
    return QuotientSearch(system, watchlist, RULES, Audited(), Clock(RULES), orbits, ample).run()


def agree(found: Exploration, plain: Exploration) -> None:
    """What partial order keeps: whether something exists; every dead end itself."""
    assert found.states <= plain.states
    for table in ("checks", "seen"):
        mine, its = getattr(found, table), getattr(plain, table)
        assert {name: s.first is None for name, s in mine.items()} == {name: s.first is None for name, s in its.items()}
    assert {(v.schema, v.label) for v in found.violations} == {(v.schema, v.label) for v in plain.violations}
    assert (found.dead_ends.quiet, found.dead_ends.unended) == (plain.dead_ends.quiet, plain.dead_ends.unended)
    assert {n: (e.least, e.greatest) for n, e in found.minimums.items()} == {n: (e.least, e.greatest) for n, e in plain.minimums.items()}
    assert [c.committed > 0 for c in found.coverage] == [c.committed > 0 for c in plain.coverage]
    firsts = [s.first for s in (*found.checks.values(), *found.seen.values()) if s.first is not None]
    for number in [*firsts, *(v.state for v in found.violations), *([] if found.dead_ends.first is None else [found.dead_ends.first])]:
        path = found.store.path(number)
        state = path.initial
        for update in path.updates:
            after = judge.committed(found.system, Audited(), update, state)
            assert after is not None
            state = after
        assert state == found.store.state(number)


# ---- random systems ----------------------------------------------------------------------------------------------------


class Parts:
    """Two to four processes, each with fields of its own and updates over them; now and then one looks at another, or both write
    what is shared. Rules of a few kinds: some never end, some do, some are illegal somewhere."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.bank = bank = TermBank()
        self.fields: list[Field] = []
        self.parts = [[self._field(random.choice((2, 3, 3)))] for _ in range(random.choice((2, 3, 3, 4)))]
        self.shared = [self._field(2)]
        self.terms = [bank.variable(f.name, f.index, 0, f.domain.hi, False) for f in self.fields]
        self.updates: list[GroundUpdate] = []
        for number, part in enumerate(self.parts):
            for _ in range(random.choice((1, 2, 2, 3))):
                self.updates.append(self._update(number, part))
        weak = [bank.or_(self._near(p).atom(), self._near(random.choice(self.parts)).atom(), self._near(p).formula(1)) for p in self.parts]
        clauses = tuple(Clause(f"A.4({i})", term) for i, term in enumerate(weak) if random.random() < 0.25)
        self.system = System(
            name="Parts",
            version="1",
            fields=tuple(self.fields),
            initial=tuple(0 for _ in self.fields),
            free=(self.parts[0][0],) if random.random() < 0.15 else (),
            initially=bank.true,
            updates=tuple(random.sample(self.updates, len(self.updates))),
            feasibility=clauses,
        )
        # Half of what is looked at is about two parts together: then it matters in which order they move.
        looked = self._near([f for part in random.sample(self.parts, random.choice((1, 2))) for f in part])
        self.watchlist = Watchlist(
            checks=(("low", bank.or_(looked.formula(1), looked.atom())),) if random.random() < 0.7 else (),
            seen=(("there", bank.and_(looked.atom(), looked.atom(), looked.formula(1))),) if random.random() < 0.6 else (),
            ends=(self._near(self.parts[-1]).atom(),) if random.random() < 0.5 else (),
        )

    def _field(self, size: int) -> Field:
        field = Field(f"f{len(self.fields)}", Domain(DomainKind.INT, 0, size - 1), len(self.fields))
        self.fields.append(field)
        return field

    def _near(self, part: Sequence[Field]) -> Draft:
        """Formulas over one part, rarely over what is shared or another part."""
        seen = list(part)
        if self.random.random() < 0.2:
            seen += self.shared
        if self.random.random() < 0.15:
            seen += self.random.choice(self.parts)
        seen = list(dict.fromkeys(seen))
        return Draft(self.bank, self.random, seen, [self.terms[f.index] for f in seen])

    def _update(self, number: int, part: Sequence[Field]) -> GroundUpdate:
        random, bank = self.random, self.bank
        near = self._near(part)
        writes: list[Write] = []
        inside: list[Term] = []
        for field in [*part, *(self.shared if random.random() < 0.1 else [])]:
            term = self.terms[field.index]
            top = bank.integer(field.domain.hi)
            value = bank.add(term, bank.integer(1))
            if random.random() < 0.3:
                value = bank.ite(bank.lt(term, top), value, bank.integer(0))
            elif random.random() < 0.2:
                value = bank.integer(random.randint(0, field.domain.hi))
            inside.append(bank.le(value, top))
            writes.append(Write(field, value))
        ranged = bank.conj(inside)
        guard = near.formula(1) if random.random() < 0.5 else bank.true
        kind = random.choice((*[Kind.ORDINARY] * 5, Kind.ENVIRONMENT, Kind.FAULT))
        return GroundUpdate(
            schema=f"u{number}{'.slip' if kind is Kind.FAULT else ''}",
            binding=(("x", str(len(self.updates))),),
            actor="ana",
            operation="u",
            kind=kind,
            # Mostly guarded so that every write stays in its domain.
            when=bank.and_(guard, ranged) if random.random() < 0.9 else guard,
            requires=near.atom() if random.random() < 0.15 else bank.true,
            defined=ranged,
            writes=tuple(writes),
            after=(Clause("12(1)", near.formula(1)),) if random.random() < 0.1 else (),
            fault="slip" if kind is Kind.FAULT else "",
        )


def test_200_random_systems_of_commuting_parts_agree() -> None:
    compared = cut = violating = dead = endless = seed = 0
    while compared < 200:
        seed += 1
        parts = Parts(Random(seed))
        plain = explore(parts.system, parts.watchlist, RULES, Audited(), Engine.PYTHON)
        try:
            found = reduced(parts.system, parts.bank, parts.watchlist)
        except Spoilt:
            # Only where an infeasible state is reachable.
            whole = parts.bank.conj(c.formula for c in parts.system.feasibility)
            assert explore(parts.system, Watchlist(checks=(("feasible", whole),))).checks["feasible"].count > 0
            continue
        agree(found, plain)
        assert found.reduction is not None
        compared += 1
        cut += found.states < plain.states
        violating += bool(plain.violations) or any(s.count for s in plain.checks.values())
        dead += plain.dead_ends.unended > 0
        endless += plain.dead_ends.quiet == 0
    assert cut > 70
    assert violating > 60
    assert dead > 30
    assert endless > 30


def test_random_systems_of_any_kind_agree() -> None:
    compared = 0
    for seed in range(150):
        random = Random(seed)
        system = random_system(random)
        watchlist = random_watchlist(system, random)
        plain = explore(system, watchlist, RULES, Audited(), Engine.PYTHON)
        if plain.states > MOST:
            continue
        try:
            found = reduced(system, TermBank(), Watchlist(checks=watchlist.checks[:1], ends=watchlist.ends))
        except Spoilt:
            continue
        whole = explore(system, Watchlist(checks=watchlist.checks[:1], ends=watchlist.ends), RULES, Audited(), Engine.PYTHON)
        agree(found, whole)
        compared += 1
    assert compared > 60


def test_together_with_symmetry() -> None:
    compared = cut = 0
    for seed in range(120):
        system, watchlist, draft = symmetric_system(Random(seed))
        small = Watchlist(checks=watchlist.checks[1:] if seed % 2 else (), ends=watchlist.ends)
        plain = explore(system, small, RULES, Audited(), Engine.PYTHON)
        try:
            found = reduced(system, draft.bank, small, Orbits(Names(system), [Set("agents", draft.members)]))
        except Spoilt:
            continue
        agree(found, plain)
        compared += 1
        assert found.reduction is not None
        cut += found.reduction.cut > 0
    assert compared > 60
    assert cut > 5


# ---- by hand -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "values"), [(2, 3), (4, 3), (3, 5)])
def test_independent_counters_are_walked_one_by_one(count: int, values: int) -> None:
    """values^count states; with one order of the independent steps, count (values - 1) + 1."""
    system = counters(count, values)
    found = reduced(system, TermBank(), Watchlist())
    assert found.states == count * (values - 1) + 1
    assert found.dead_ends.quiet == 1
    assert explore(system).states == values**count


def test_a_counter_that_is_looked_at_is_still_met_at_every_value() -> None:
    """Of three counters of three values one is looked at. It is visible, the other two are not: those go first, 4 steps."""
    draft = ByHand((0, 2), (0, 2), (0, 2))
    system = draft.system([draft.tick(i) for i in range(3)])
    bank = draft.bank
    watchlist = Watchlist(checks=(("low", bank.lt(draft.x(2), draft.n(2))),), seen=(("middle", draft.is_(1, 2)),))
    found = reduced(system, bank, watchlist)
    assert found.checks["low"].first is not None
    assert found.seen["middle"].first is not None
    assert found.states < explore(system).states == 27


def test_what_is_looked_at_together_is_met_in_every_combination() -> None:
    """Both counters are visible: that one is at 2 while the other is at 0 is seen in either order only if both are taken."""
    draft = ByHand((0, 2), (0, 2), (0, 2))
    bank = draft.bank
    system = draft.system([draft.tick(i) for i in range(3)])
    seen = tuple((f"{a}{b}", bank.and_(draft.is_(a, 0), draft.is_(b, 1))) for a in range(3) for b in range(3))
    found = reduced(system, bank, Watchlist(seen=seen))
    assert all(s.first is not None for s in found.seen.values())
    assert found.reduction is not None
    assert found.reduction.cut > 0  # of the third, which nobody looks at


def test_what_is_refused_now_may_be_legal_later() -> None:
    """`late` is refused until x1 is 1, and then competes with `soon` for x0: settlements are (1, 1) and (2, 1). Were the step that
    makes it legal not thought of, `soon` alone would be taken at the start, and (1, 1) be lost."""
    draft = ByHand((0, 2), (0, 1))
    bank = draft.bank
    needs = Clause("A.4(1)", bank.implies(draft.is_(1, 0), draft.is_(1, 1)))
    soon = draft.update("soon", draft.is_(0, 0), (0, draft.n(2)))
    late = draft.update("late", draft.is_(0, 0), (0, draft.n(1)), kind=Kind.FAULT, fault="late")
    open_ = draft.update("open", draft.is_(0, 1), (1, draft.n(1)))
    system = draft.system([soon, late, open_], feasibility=(needs,))
    found, plain = reduced(system, bank, Watchlist()), explore(system)
    assert (found.dead_ends.quiet, plain.dead_ends.quiet) == (2, 2)


def test_what_changes_nothing_now_may_change_something_later() -> None:
    """`copy` writes x1 into x0; at first both are 0. It competes with `seal`, which needs x0 to be 0."""
    draft = ByHand((0, 2), (0, 1))
    bank = draft.bank
    seal = draft.update("seal", draft.is_(0, 0), (0, draft.n(2)))
    copy = draft.update("copy", draft.is_(0, 0), (0, draft.x(1)))
    rise = draft.update("rise", draft.is_(0, 1), (1, draft.n(1)))
    system = draft.system([seal, copy, rise])
    found, plain = reduced(system, bank, Watchlist()), explore(system)
    assert (found.dead_ends.quiet, plain.dead_ends.quiet) == (2, 2)


def test_chains_keep_their_only_settlement() -> None:
    """Choices of agents remain: a chain of two items by two agents settles in one state, from 7 of them; two chains commute."""
    system = chains(2, 2, 2)
    found = reduced(system, TermBank(), Watchlist())
    plain = explore(system)
    assert plain.states == 49
    assert found.states < 20
    assert (found.dead_ends.quiet, plain.dead_ends.quiet) == (1, 1)


def test_a_step_is_not_put_off_for_ever_by_a_cycle_beside_it() -> None:
    """x0 goes round by itself, unseen; x1 may rise. Without the condition on cycles only x0 would ever move."""
    draft = ByHand((0, 2), (0, 1))
    round_ = [
        draft.update(f"round{n}", draft.is_(n, 0), (0, draft.n((n + 1) % 3))) for n in range(3)
    ]  # each is switched off by itself and on by the one before
    rise = draft.update("rise", draft.is_(0, 1), (1, draft.n(1)))
    system = draft.system([*round_, rise])
    found = reduced(system, draft.bank, Watchlist(checks=(("down", draft.is_(0, 1)),)))
    assert found.checks["down"].first is not None
    path = found.store.path(found.checks["down"].first)
    assert system.updates[path.updates[-1]].schema == "rise"


def test_an_illegal_occurrence_far_from_the_start_is_found() -> None:
    """x0 rises freely; the step of x1 is illegal once x1 is 1, wherever x0 is."""
    draft = ByHand((0, 3), (0, 2))
    low = Clause("A.4(1)", draft.bank.lt(draft.x(1), draft.n(2)))
    system = draft.system([draft.tick(0), draft.tick(1)], feasibility=(low,))
    found = reduced(system, draft.bank, Watchlist())
    assert {(v.schema, v.label) for v in found.violations} == {("tick", "A.4(1)")}
    assert found.states < explore(system).states == 8


def test_where_an_infeasible_state_is_reachable_nothing_is_reduced() -> None:
    draft = ByHand((0, 3), (0, 2))
    low = Clause("A.4(1)", draft.bank.lt(draft.x(1), draft.n(2)))
    world = draft.update("world", draft.is_(1, 1), (1, draft.n(2)), kind=Kind.ENVIRONMENT)
    system = draft.system([draft.tick(0), draft.update("up", draft.is_(0, 1), (1, draft.n(1))), world], feasibility=(low,))
    with pytest.raises(Spoilt):
        reduced(system, draft.bank, Watchlist())


def test_footprints_by_hand() -> None:
    """x0 and x1 apart; the third reads x0 and writes x2; two updates that never meet need not commute."""
    draft = ByHand((0, 3), (0, 3), (0, 3))
    copy = draft.update("copy", draft.bank.true, (2, draft.x(0)))
    low, high = draft.update("low", draft.is_(0), (1, draft.n(1))), draft.update("high", draft.is_(1), (1, draft.n(2)))
    footprints = Footprints(draft.system([draft.tick(0), draft.tick(1), copy, low, high]), draft.bank)
    assert footprints.disturbed[0] == 0b11100  # of tick 0: what reads x0
    assert footprints.disturbed[1] == 0b11000  # of tick 1: what writes x1 too
    assert not footprints.disturbed[3] >> 4 & 1  # low and high need x0 to be 0 and 1
    assert footprints.writers(0b010) == 0b11010


# ---- packages ----------------------------------------------------------------------------------------------------------


def verdicts(report: Report) -> dict[str, Verdict]:
    return {result.name: result.verdict for result in report.results}


@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.icore")))
def test_examples_have_the_same_verdicts_under_every_reduction(example: str) -> None:
    """Of the dead ends and the invariants, one after the other, where the space is small; the whole check where it is smaller."""
    loaded = api.load(EXAMPLES / f"{example}.icore")
    if api.explore(loaded, rules=Rules(max_states=3000)).stopped is not None:
        names = [p.name for p in loaded.system.properties if p.kind.value == "invariant"][:1]
        assert verdicts(api.check(loaded, only=names, rules=Rules(max_states=300), reduce=api.Reduce.ALL)).keys() == set(names)
        return
    plain = verdicts(api.check(loaded, reduce=api.Reduce.NONE))
    kept = ["dead ends", "legality", *(p.name for p in loaded.system.properties if p.kind.value == "invariant")]
    for name in kept:
        for reduce in (api.Reduce.PARTIAL_ORDER, api.Reduce.ALL):
            found = verdicts(api.check(loaded, only=[name], reduce=reduce))
            said = name == "legality" or plain["legality"] is Verdict.VIOLATED  # a violated legality is said whatever was asked for
            assert found.pop("legality", None) is (plain["legality"] if said else None)
            assert found == ({} if name == "legality" else {name: plain[name]})
    assert verdicts(api.check(loaded, reduce=api.Reduce.ALL)) == plain


def test_a_check_of_dead_ends_alone_visits_few_states() -> None:
    """independent.icore with 3 tasks: 7^3 states; who takes each is a choice (2^3 settlements), the order of the tasks is none."""
    loaded = api.load(COUNTS / "independent.icore")
    report = api.check(loaded, only=["dead ends"], reduce=api.Reduce.PARTIAL_ORDER)
    assert report.verdict is Verdict.HOLDS
    assert report.results[0].detail.startswith("none · 8 settlements")
    # One task after the other, three steps each, by either agent: 1 + 3 (2) + 3 (4) + 3 (8) states.
    assert report.space["states"] == 43
    reduction = report.space["reduction"]
    assert isinstance(reduction, dict)
    assert reduction["partial_order"] is True
    assert "counts are of the states visited" in reduction["said"][0]


def test_where_counts_are_asked_partial_order_is_not_used_and_says_so() -> None:
    loaded = api.load(COUNTS / "independent.icore")
    report = api.check(loaded, reduce=api.Reduce.PARTIAL_ORDER)
    assert report.space["states"] == 343
    assert isinstance(report.space["reduction"], dict)
    assert report.space["reduction"]["partial_order"] is False
    assert report.space["reduction"]["not_used"] == ["partial order: refusals and findings count states; --only asks for what it keeps"]
    unaudited = api.check(loaded, reduce=api.Reduce.PARTIAL_ORDER, unaudited=True)
    assert isinstance(unaudited.space["reduction"], dict)
    assert unaudited.space["reduction"]["not_used"] == ["partial order: it is of the audited system"]
