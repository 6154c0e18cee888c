"""What the C kernel needs to know of a system: programs, moves, and what each counter and slot stands for.

The programs are those of search.h. EXPAND answers for a state what its occurrences come to before any successor is made; JUDGE tells
of a successor which clauses hold; LOOK counts and measures what the watchlist asks; FINAL and OUTCOMES serve finality.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from icore_kernel.explore.blasting import Blaster, Unsupported
from icore_kernel.explore.circuit import FALSE, TRUE, Circuit, Program, emit
from icore_kernel.explore.judge import Role
from icore_kernel.explore.layout import Layout
from icore_kernel.explore.model import LEGALITY, Rules, Watchlist
from icore_kernel.system import Clause, GroundUpdate, Kind, System
from icore_kernel.terms.term import Op, Term

EXPAND, JUDGE, LOOK, FINAL, OUTCOMES = range(5)
_KINDS = {Kind.ORDINARY: 0, Kind.ENVIRONMENT: 1, Kind.FAULT: 2}
_CODE_BITS = 64


@dataclass(slots=True)
class Outputs:
    """The literals that a program counts and keeps, each once."""

    counted: list[int] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)

    def count(self, literal: int) -> int:
        self.counted.append(literal)
        return len(self.counted) - 1

    def keep(self, literal: int) -> int:
        return self.kept.setdefault(literal, len(self.kept))


@dataclass(frozen=True, slots=True)
class Counted:
    """The counters of EXPAND for one update. `lost`: its write leaves its domain, with `requires` and (attempts let pass) without."""

    update: int
    enabled: int
    committable: int
    lost: int
    lost_attempts: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of LOOK: numerator and denominator are offsets plus the lower and the upper bits of a code."""

    num: int
    den: int
    num_bits: tuple[int, ...]
    """The weight's exponent of each bit of the code that belongs to the numerator, then of each other one."""
    den_bits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """What a slot counts: refused occurrences of a fault, or violations of a schema, by label."""

    fault: bool
    name: str
    label: str


class Tables:
    """Unsupported where a term has no circuit."""

    def __init__(self, system: System, layout: Layout, roles: Sequence[Role], watchlist: Watchlist, rules: Rules) -> None:
        self.system = system
        self.layout = layout
        self.circuit = Circuit()
        self.blaster = Blaster(self.circuit, layout)
        self.counted: list[Counted] = []
        self.refused_before: list[tuple[int, str, str]] = []
        """Counters of EXPAND: refusals of a fault by a `before` clause, with name and label."""
        self.slots: dict[Slot, int] = {}
        self.moves = array("i")
        self.masks = array("Q")
        self.values = array("i")
        self.clauses = array("i")
        self.judging = False
        self._expand, self._judge, look, final, outcomes = (Outputs() for _ in range(5))
        judged = any(part.judged for part in roles)
        self._feasibility = [(clause.label, self._literal(clause)) for clause in system.feasibility] if judged else []
        self._assumed = {literal for clause in system.feasibility for literal in self._conjuncts(clause.formula)} if judged else set()
        feasible = self.circuit.all(literal for _, literal in self._feasibility)
        self._judge.keep(feasible)
        self.judging = feasible != TRUE
        self._shared: dict[tuple[bool, str], tuple[int, int]] = {}
        for number, part in enumerate(roles):
            if part.occurs:
                self._move(number, system.updates[number], part)
        self.ends = self._expand.keep(self.circuit.any(map(self.blaster.literal, watchlist.ends))) if watchlist.ends else -1
        self.checks = [look.count(self.blaster.literal(term) ^ 1) for _, term in watchlist.checks]
        self.seen = [look.count(self.blaster.literal(term)) for _, term in watchlist.seen]
        is_final = self.circuit.any(map(self.blaster.literal, watchlist.final))
        self.final = look.count(is_final) if watchlist.final else -1
        self.measured: list[Measured] = []
        self.measures = array("i")
        self._kept_of_look: list[int] = []
        for measure in watchlist.minimums:
            self._measure(measure.ratio.num, measure.ratio.den)
        final.keep(is_final)
        for clause in watchlist.outcomes:
            outcomes.keep(self.blaster.literal(clause.formula))
        self.outcome_bits = [outcomes.kept[self.blaster.literal(clause.formula)] for clause in watchlist.outcomes]
        self.programs: dict[int, Program] = {
            which: emit(self.circuit, outputs.counted, list(outputs.kept))
            for which, outputs in ((EXPAND, self._expand), (JUDGE, self._judge), (FINAL, final), (OUTCOMES, outcomes))
        }
        self.programs[LOOK] = emit(self.circuit, look.counted, self._kept_of_look)
        self.stops = self._stops(watchlist, rules)

    def _literal(self, clause: Clause) -> int:
        return self.blaster.literal(clause.formula)

    def _conjuncts(self, formula: Term) -> set[int]:
        """The literals of a formula, of its conjuncts, and of theirs."""
        found: set[int] = set()
        stack = [formula]
        while stack:
            term = stack.pop()
            literal = self.blaster.literal(term)
            if literal not in found:
                found.add(literal)
                if term.op is Op.AND:
                    stack.extend(term.args)
        return found

    def _move(self, number: int, update: GroundUpdate, part: Role) -> None:
        both, expand = self.circuit.both, self._expand
        when, requires, defined = (self.blaster.literal(term) for term in (update.when, update.requires, update.defined))
        required = both(when, requires)
        candidates = when if part.attempts_pass else required
        lost = both(candidates, defined ^ 1)
        wanted = (when, required, both(lost, requires), both(lost, requires ^ 1))
        self.counted.append(Counted(number, *map(expand.count, wanted)))
        candidates = both(candidates, defined)
        doubtful, after, own, shared = FALSE, TRUE, (0, 0), (0, 0)
        if part.judged:
            before = [(clause.label, self._literal(clause)) for clause in update.before]
            if part.fault:
                candidates = self._refused(part.name, candidates, before)
                if candidates != FALSE:
                    then = self.blaster.after(update.writes)
                    candidates = self._refused(part.name, candidates, [(c.label, then.literal(c.formula)) for c in update.after])
            else:
                doubtful = both(candidates, self.circuit.all(literal for _, literal in before) ^ 1)
            after = self._own_after(update)
            afterwards = [(clause.label, self._literal(clause)) for clause in update.after]
            if self.judging or doubtful != FALSE or after != TRUE:
                own = self._entries([] if part.fault else before, afterwards, part.fault, part.name)
                if (part.fault, part.name) not in self._shared:
                    self._shared[part.fault, part.name] = self._entries([], self._feasibility, part.fault, part.name)
                shared = self._shared[part.fault, part.name]
        if candidates == FALSE:
            return
        self.judging = self.judging or doubtful != FALSE or after != TRUE
        values = self._writes(update)
        self.moves.extend(
            (
                number,
                _KINDS[update.kind],
                expand.keep(candidates),
                -1 if doubtful == FALSE else expand.keep(doubtful),
                -1 if after == TRUE else self._judge.keep(after),
                *values,
                *own,
                *shared,
            )
        )

    def _refused(self, name: str, candidates: int, clauses: Sequence[tuple[str, int]]) -> int:
        """Count a fault's refusals, each for the first clause that fails; what is left is not refused by any of them."""
        for label, literal in clauses:
            refused = self.circuit.both(candidates, literal ^ 1)
            if refused != FALSE:
                self.refused_before.append((self._expand.count(refused), name, label))
            candidates = self.circuit.both(candidates, literal)
        return candidates

    def _own_after(self, update: GroundUpdate) -> int:
        """What `after` asks beyond feasibility."""
        asked: list[int] = []
        for clause in update.after:
            stack = [clause.formula]
            while stack:
                term = stack.pop()
                literal = self.blaster.literal(term)
                if literal in self._assumed or literal == TRUE:
                    continue
                if term.op is Op.AND:
                    stack.extend(reversed(term.args))
                else:
                    asked.append(literal)
        return self.circuit.all(asked)

    def _entries(
        self, before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int]], fault: bool, name: str
    ) -> tuple[int, int]:
        begin = len(self.clauses) // 3
        for program, outputs, clauses in ((EXPAND, self._expand, before), (JUDGE, self._judge, after)):
            for label, literal in clauses:
                if literal != TRUE:
                    slot = self.slots.setdefault(Slot(fault, name, label), len(self.slots))
                    self.clauses.extend((program, outputs.keep(literal), slot))
        return begin, len(self.clauses) // 3

    def _writes(self, update: GroundUpdate) -> tuple[int, int]:
        """Masks for what is constant (or becomes so bit by bit), values for the rest."""
        keep, put = self.layout.outside(write.field.index for write in update.writes), [0] * self.layout.words
        begin = len(self.values) // 3
        for write in update.writes:
            place = self.layout.places[write.field.index]
            for bit, literal in enumerate(self.blaster.code(write.value, place.lo, place.width), place.shift):
                if literal == TRUE:
                    put[place.word] |= 1 << bit
                elif literal != FALSE:
                    self.values.extend((self._expand.keep(literal), place.word, bit))
        self.masks.extend((*keep, *put))
        return begin, len(self.values) // 3

    def _measure(self, num: Term, den: Term) -> None:
        numbers = self.blaster.number(num), self.blaster.number(den)
        offsets = [number.offset for number in numbers]
        exponents: list[tuple[int, ...]] = []
        begin = len(self._kept_of_look)
        for place, number in enumerate(numbers):
            offsets[place] += sum(1 << weight for weight, bit in enumerate(number.bits) if bit == TRUE)
            loose = [(weight, bit) for weight, bit in enumerate(number.bits) if bit not in (FALSE, TRUE)]
            exponents.append(tuple(weight for weight, _ in loose))
            self._kept_of_look.extend(bit for _, bit in loose)
        count = len(self._kept_of_look) - begin
        if count > _CODE_BITS:
            raise Unsupported(f"a measure of {count} bits")
        self.measures.extend((begin, count))
        self.measured.append(Measured(offsets[0], offsets[1], *exponents))

    def _stops(self, watchlist: Watchlist, rules: Rules) -> array[int]:
        """Pairs (program, counter)."""
        stops = array("i")
        for names, counters in ((watchlist.checks, self.checks), (watchlist.seen, self.seen)):
            for (name, _), counter in zip(names, counters, strict=True):
                if name in rules.stop_on:
                    stops.extend((LOOK, counter))
        if LEGALITY in rules.stop_on:
            for counted in self.counted:
                if self.system.updates[counted.update].kind is not Kind.FAULT:
                    stops.extend((EXPAND, counted.lost))
        return stops
