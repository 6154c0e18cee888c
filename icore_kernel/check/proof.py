"""`prove`: what holds in every reachable state, by Z3; what that leaves open is looked for by a bounded search and by exploration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from icore_kernel.check.plan import conjunction
from icore_kernel.check.proof_report import Said, unrefused
from icore_kernel.check.run import library_report
from icore_kernel.explore.model import Exploration, Rules, Watchlist
from icore_kernel.explore.search import explore
from icore_kernel.load import Loaded
from icore_kernel.meaning import smt
from icore_kernel.prove.bounded import Bad, Bounded, illegal_steps, search
from icore_kernel.prove.exclusion import Exclusion, exclude
from icore_kernel.prove.induction import Facts, Induction, Invariant
from icore_kernel.prove.lemmas import Found, find_lemmas
from icore_kernel.prove.onestep import ANSWERED, Lemma2, Outcome, Pair, lemma_2, start_exists, start_is_feasible, with_lemmas
from icore_kernel.prove.pdr import reach
from icore_kernel.prove.solver import Disagreement
from icore_kernel.prove.steps import Steps, is_state
from icore_kernel.system import Kind, Property, PropertyKind, System
from icore_kernel.terms.node import Term
from icore_kernel.verdict import LIBRARY, ExitStatus, Obligation, Report

LEMMA_SECONDS, INVARIANT_SECONDS, SEARCH_SECONDS = 20.0, 30.0, 20.0
"""What each part may take where no time limit is given."""

WHOLE_SECONDS, WHOLE_QUESTIONS = 1.0, 200
"""For reachability where all states are few: exploration will decide it anyway. The questions are what usually ends it, so that a
busy machine says the same."""

MOST_STATES = 2_000_000
MOST_LOOKED_FOR = 48
"""Counterexamples to induction that are looked for among reachable states."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A counterexample to induction of Lemma 2 in every feasible state. `closed`: lemmas exclude it; `reachable`: None is not known."""

    update: str
    label: str
    state: tuple[tuple[str, str], ...]
    closed: bool
    reachable: bool | None = None


@dataclass(frozen=True)
class Proof:
    """Everything that `prove` found. `plain`: Lemma 2 from feasibility alone; `lemma2`: with lemmas; `report`: the results."""

    loaded: Loaded
    steps: Steps
    plain: Lemma2
    lemma2: Lemma2
    found: Found | None
    facts: Facts
    invariants: tuple[Invariant, ...]
    counterexamples: tuple[Counterexample, ...]
    bounded: Bounded | None
    exploration: Exploration | None
    report: Report

    @property
    def not_asked(self) -> tuple[str, ...]:
        """What `check` decides and no proof by steps does: the package may fail there, whatever is proved here."""
        if self.report.mode == LIBRARY:  # what it declares is asked for in a package that imports it
            return ()
        system = self.loaded.system
        asked = {i.name for i in self.invariants}
        names = [p.name for p in system.properties if p.name not in asked]
        return (*names, *(("dead ends",) if system.has_obligations else ()), *(f"run {s.name}" for s in system.scenarios))

    @property
    def left_out(self) -> bool:
        """Whether something that the package declares is not asked here: then all of this together is no proof of the package."""
        return any(name != "dead ends" for name in self.not_asked)

    @property
    def exit_status(self) -> ExitStatus:
        """That of the report; 3 where nothing is wrong in it, but something declared was left out."""
        status = self.report.exit_status()
        return ExitStatus.UNKNOWN if status is ExitStatus.HOLDS and self.left_out else status

    @property
    def known(self) -> tuple[Term, ...]:
        """What is proved of every reachable state, beside the invariants; empty where feasibility is not."""
        return (*self.steps.feasible, *self.facts.lemmas) if self.facts.closed else ()


class Prover:
    """One `prove`, part by part; each part leaves what it found in a field."""

    def __init__(self, loaded: Loaded, depth: int | None, seconds: float | None) -> None:
        self.loaded = loaded
        self.system: System = loaded.system
        self.bank = loaded.bank
        self.steps = Steps(self.system, self.bank)
        self.depth = depth
        self.started = perf_counter()
        self.deadline = None if seconds is None else self.started + seconds
        self.found: Found | None = None
        self.invariants: list[Invariant] = []
        self.obligations: list[Obligation] = []
        self.bounded: Bounded | None = None
        self.exploration: Exploration | None = None
        self.reached: list[Term] = []
        """Lemmas that reachability found for updates that others left open."""

    def budget(self, most: float, longer: bool = True) -> float:
        """Seconds for one part. Where a limit is given it may take longer: half of what is left."""
        if self.deadline is None:
            return most
        left = self.deadline - perf_counter()
        return max(0.01, min(max(most, left / 2) if longer else most, left))

    def run(self) -> Proof:
        self.exists = start_exists(self.steps)
        if self.exists is smt.Result.UNSAT:  # nothing is reachable: all of it would be proved for no reason
            self.plain = self.lemma2 = Lemma2((), (), 0.0, complete=False)
            self.facts = Facts((), False, False)
        else:
            self._prove()
        said = Said(
            self.loaded, self.exists, self.lemma2, self.found, self.facts, tuple(self.invariants), self.bounded, self.exploration,
            self._exclusion(),
        )  # fmt: skip
        report = Report(
            file=str(self.loaded.path),
            package=self.system.name,
            version=self.system.version,
            results=tuple(said.results()),
            obligations=tuple(self.obligations),
            space={} if self.exploration is None else {"states": self.exploration.states, "stopped": self.exploration.stopped},
            counts=dict(self.system.counts),
            seconds=perf_counter() - self.started,
        )
        return Proof(
            self.loaded, self.steps, self.plain, self.lemma2, self.found, self.facts, tuple(self.invariants),
            self._counterexamples(), self.bounded, self.exploration, report,
        )  # fmt: skip

    def _prove(self) -> None:
        self.plain = lemma_2(self.system, self.bank, None if self.deadline is None else self.budget(60.0), self.steps)
        self.lemma2 = self.plain
        start = self._start_is_feasible()
        self.facts = Facts((), start and self._environment_keeps(self.plain), start and self._environment_keeps(self.plain))
        self._invariants(hard=False)
        if self._left(self.lemma2) or any(i.way is None and i.path is None for i in self.invariants):
            self._strengthen(start)
            self._invariants(hard=True)
        self._look_for_what_is_left()

    # Feasibility and lemmas.

    def _start_is_feasible(self) -> bool:
        obligation = start_is_feasible(self.steps)
        self.obligations.append(obligation)
        return obligation.answer == "unsat"

    def _environment_keeps(self, lemma2: Lemma2) -> bool:
        asked = {p.update for p in lemma2.pairs}
        moving = {n for n, u in enumerate(self.system.updates) if u.kind is Kind.ENVIRONMENT}
        return moving <= asked & lemma2.proved

    def _left(self, lemma2: Lemma2) -> bool:
        return any(p.outcome not in ANSWERED for p in lemma2.pairs) or any(r.outcome not in ANSWERED for r in lemma2.refusals)

    def _strengthen(self, start: bool) -> None:
        """Lemmas first; what they leave open, update by update, by reachability.

        Each of these proofs is about runs on which no step was illegal yet. Where all of them succeed there is no first
        illegal step, so that together they are about all runs; the environment's are enough for that.
        """
        extra = [goal for _, goal, _ in self._goals() if not goal.is_true and not goal.is_false]
        self.found = find_lemmas(self.steps, self.budget(LEMMA_SECONDS), extra)
        if self.found.lemmas:
            self.lemma2 = with_lemmas(self.steps, self.plain, self.found.lemmas, self.budget(LEMMA_SECONDS))
        if start:
            self._reach_what_is_open()
        closed = start and self._environment_keeps(self.lemma2)
        if not closed and not self.facts.closed:
            return
        self.facts = Facts((*self.found.lemmas, *self.reached) if closed else (), closed, self.facts.bare)

    def _reach_what_is_open(self) -> None:
        """One question an update: can a run of legal steps come to where it would be illegal?"""
        left = Counter(p.update for p in self.lemma2.pairs if p.outcome is Outcome.OPEN)
        known = (*self.steps.feasible, *(self.found.lemmas if self.found else ()))
        whole = self.found is not None and self.found.whole
        questions = WHOLE_QUESTIONS if whole else None
        spent = perf_counter() + self.budget(WHOLE_SECONDS if whole else LEMMA_SECONDS, not whole)
        for bad in illegal_steps(self.steps):
            if bad.update not in left or perf_counter() > spent:
                continue
            said = reach(self.steps, (*known, *self.reached), self.bank.not_(bad.formula), min(8.0, spent - perf_counter()), questions)
            if said.lemmas is not None:
                self.reached.extend(said.lemmas)
                pairs = tuple(
                    replace(p, outcome=Outcome.STRENGTHENED, state=None) if p.update == bad.update and p.outcome is Outcome.OPEN else p
                    for p in self.lemma2.pairs
                )
                self.lemma2 = replace(self.lemma2, pairs=pairs)

    # Invariants.

    def _goals(self) -> list[tuple[str, Term, Property | None]]:
        """What is to be proved of every state: feasibility's consequences, and the declared invariants."""
        goals: list[tuple[str, Term, Property | None]] = []
        if self.system.has_obligations and self.system.soundness:
            goals.append(("soundness", self.bank.conj(c.formula for c in self.system.soundness), None))
        for prop in self.system.properties:
            if prop.kind is PropertyKind.INVARIANT:
                goals.append((prop.name, prop.formula, prop))
            elif prop.kind is PropertyKind.UNREACHABLE:
                goals.append((prop.name, self.bank.not_(prop.formula), prop))
        return goals

    def _invariants(self, hard: bool) -> None:
        before = {i.name: i for i in self.invariants}
        engine = Induction(self.steps, self.facts, float("inf") if self.deadline is None else self.deadline)
        found: list[Invariant] = []
        proved: list[Term] = []
        for name, goal, _ in self._goals():
            known = before.get(name)
            if known is None or (known.way is None and known.path is None):
                whole = self.found is not None and self.found.whole
                known = engine.prove(name, goal, proved, self.budget(WHOLE_SECONDS if whole else INVARIANT_SECONDS, not whole), hard)
            found.append(known)
            if known.way is not None:
                proved.append(goal)
        self.invariants = found

    # What is left.

    def _look_for_what_is_left(self) -> None:
        open_updates = {p.update for p in self.lemma2.pairs if p.outcome not in ANSWERED}
        unproved = [i for i in self.invariants if i.way is None and i.path is None]
        if self.depth is not None:
            bad = [b for b in illegal_steps(self.steps) if b.update in open_updates or not self.lemma2.complete]
            bad += [Bad(i.name, self.bank.not_(i.goal)) for i in unproved]
            self.bounded = search(self.steps, bad, self.depth, None if self.deadline is None else self.budget(600.0))
        if not open_updates and not unproved and self.lemma2.complete and not unrefused(self.lemma2):
            return
        looked = self.lemma2.open[:MOST_LOOKED_FOR]
        watchlist = Watchlist(
            checks=tuple((f"invariant:{i.name}", i.goal) for i in self.invariants),
            seen=tuple((f"cti:{n}", is_state(self.system, self.bank, p.state)) for n, p in enumerate(looked) if p.state is not None),
        )
        # The explorer tests what is proved all the same: passing it on would hide a proof that is wrong.
        rules = Rules(max_states=MOST_STATES, timeout=self.budget(SEARCH_SECONDS))
        self.exploration = explore(self.system, watchlist, rules)
        compare(self.system, self.lemma2, self.facts.closed, self.invariants, self.exploration)

    def _counterexamples(self) -> tuple[Counterexample, ...]:
        answered = {(p.update, p.label) for p in self.lemma2.pairs if p.outcome in ANSWERED}
        looked = {(p.update, p.label): n for n, p in enumerate(self.lemma2.open[:MOST_LOOKED_FOR])}
        found = []
        for pair in self.plain.open:
            if pair.state is None:
                continue
            key = (pair.update, pair.label)
            closed = key in answered
            reachable: bool | None = False if closed else None
            if not closed and self.exploration is not None and key in looked:
                sighting = self.exploration.seen.get(f"cti:{looked[key]}")
                if sighting is not None and sighting.first is not None:
                    reachable = True
                elif self.exploration.stopped is None:
                    reachable = False
            shown = self._shown(self.lemma2.open[looked[key]] if key in looked else pair)
            found.append(Counterexample(self.system.updates[pair.update].name, pair.label, shown, closed, reachable))
        return tuple(found)

    def _shown(self, pair: Pair) -> tuple[tuple[str, str], ...]:
        """The root fields that differ from the beginning."""
        state = pair.state or self.system.initial
        return tuple(
            (f.name, f.domain.show(state[f.index]))
            for f in self.system.fields
            if f.root and state[f.index] != self.system.initial[f.index] and f.domain.lo <= state[f.index] <= f.domain.hi
        )

    def _exclusion(self) -> Exclusion | None:
        """Whether Acc and Rej exclude each other; None where there is nothing to report, or no state to report of."""
        if self.exists is smt.Result.UNSAT or not (self.system.has_obligations and self.system.accept and self.system.reject):
            return None
        accept = conjunction(self.bank, self.system.accept, self.system)
        reject = conjunction(self.bank, self.system.reject, self.system)
        answer = exclude(self.system, self.bank, accept, reject, self.budget(20.0))
        self.obligations.append(answer.obligation)
        return answer


def compare(system: System, lemma2: Lemma2, closed: bool, invariants: Sequence[Invariant], exploration: Exploration) -> None:
    """What is proved may not be violated in a reachable state. Disagreement: one of the engines is wrong, which is no verdict."""
    proved = lemma2.proved if closed else frozenset[int]()
    for violation in exploration.violations:
        if violation.update in proved:
            name = system.updates[violation.update].name
            raise Disagreement(f"{name} is proved legal, and the explorer found it illegal by {violation.label}")
    for invariant in invariants:
        sighting = exploration.checks.get(f"invariant:{invariant.name}")
        if invariant.way is not None and sighting is not None and sighting.first is not None:
            raise Disagreement(f"{invariant.name} is proved, and the explorer found a state without it")


def prove(loaded: Loaded, *, depth: int | None = None, seconds: float | None = None) -> Proof:
    """Prove what can be proved of a loaded package. `depth`: look for runs of up to so many steps that break what is not proved.

    Of a library nothing is proved, as nothing is decided of one by `check`.
    """
    if loaded.package.kind == "library":
        started = perf_counter()
        nothing = Lemma2((), (), 0.0, complete=False)
        report = library_report(loaded, perf_counter() - started)
        return Proof(loaded, Steps(loaded.system, loaded.bank), nothing, nothing, None, Facts((), False, False), (), (), None, None, report)
    return Prover(loaded, depth, seconds).run()
