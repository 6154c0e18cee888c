"""Termination and order stability as results: the facts of appendix B, the decisive fork, frozen choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from icore_kernel.check.answers import engine, plural
from icore_kernel.check.walks import Walks
from icore_kernel.explore.model import Audited, Exploration, Path, Rules
from icore_kernel.explore.search import explore
from icore_kernel.rewriting.condense import Condensation, condense
from icore_kernel.rewriting.facts import Facts, decisive, facts
from icore_kernel.rewriting.forks import Forks, count_forks
from icore_kernel.rewriting.frozen import Box, Choice, Frozen, box, collision, freeze
from icore_kernel.rewriting.graph import Quotient, productive
from icore_kernel.rewriting.observe import classes, observed
from icore_kernel.system import GroundUpdate, Property, PropertyKind, System
from icore_kernel.terms.term import TermBank
from icore_kernel.verdict import Assurance, Fork, Result, Run, Step, Verdict


class Order:
    """Everything that is decided on one whole exploration with its step graph. Parts are computed when first asked for."""

    def __init__(self, system: System, bank: TermBank, exploration: Exploration, rules: Rules) -> None:
        if exploration.graph is None or exploration.stopped is not None:
            raise ValueError("order is decided on a complete exploration that kept its graph")
        self.system = system
        self.bank = bank
        self.exploration = exploration
        self.rules = rules
        self.full = exploration.graph
        self.graph = productive(exploration.graph, range(exploration.levels[0] if exploration.levels else 0))
        self.walks = Walks(system, exploration, self.graph)
        self._plain: Condensation | None = None

    @property
    def plain(self) -> Condensation:
        if self._plain is None:
            self._plain = condense(self.graph)
        return self._plain

    def forks(self) -> tuple[Forks, tuple[str, ...]]:
        """Counts of forks by pairs of update schemas, and the schemas' names by number."""
        schemas = tuple(dict.fromkeys(u.schema for u in self.system.updates))
        number = {name: i for i, name in enumerate(schemas)}
        return count_forks(self.full, self.graph, self.plain, [number[u.schema] for u in self.system.updates]), schemas

    # ---- termination ---------------------------------------------------------------------------------------------
    def termination(self, prop: Property) -> Result:
        found = facts(self.graph, self.plain)
        if found.terminating:
            return self._holds(prop, f"longest productive path {found.longest}")
        lasso = self.walks.lasso(self.plain)
        extra = "" if not found.normalizing else " · from every state a normal form is reachable"
        return Result(
            prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, f"a run can go round for ever{extra}", prop.span, lasso,
            engine=engine(self.exploration),
        )  # fmt: skip

    # ---- order stability -------------------------------------------------------------------------------------------
    def stability(self, prop: Property) -> Result:
        """Definition 14, plain or with frozen choices; `holds` only together with normalizing (design 3, Order stability)."""
        if prop.given:
            return self._given(prop)
        fields = observed(self.system, prop.on)
        settled = [s for s in range(self.graph.states) if self.graph.start[s] == self.graph.start[s + 1]]
        table = classes(self.graph.states, settled, self.exploration.store.state, fields)
        found = condense(self.graph, table)
        told = facts(self.graph, found)
        forks, _ = self.forks()
        total = forks.total()
        pairs = self._pairs(total.critical, total.joinable, total.unclassified, total.independent)
        if not told.definition_14:
            return self._diverges(prop, found, told, pairs)
        if not told.normalizing:
            lasso = self.walks.lasso(found, bottom_only=True)
            what = "vacuous: no run settles" if told.normal_forms == 0 else "not normalizing: some runs can never settle"
            return Result(
                prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, f"{what} (definition 14 itself speaks of settled runs only) · {pairs}",
                prop.span, lasso, engine=engine(self.exploration),
            )  # fmt: skip
        return self._holds(prop, f"{pairs} · {plural(told.classes, 'normal form')}{self._conditions(prop)}")

    def _pairs(self, critical: int, joinable: int, unclassified: int, independent: int) -> str:
        if critical == 0 and independent == 0:
            return "no fork: never are two productive updates enabled together"
        said = f"{plural(critical, 'critical pair')}"
        if critical:
            said += ", all joinable" if joinable == critical else f", {joinable:,} joinable"
        if unclassified:
            said += f", {unclassified:,} unclassified"
        return f"{said} · {independent:,} independent forks"

    def _conditions(self, prop: Property) -> str:
        return f" · on {', '.join(prop.on)}" if prop.on else ""

    def _diverges(self, prop: Property, found: Condensation, told: Facts, pairs: str) -> Result:
        fork = decisive(self.graph, found, True)
        assert fork is not None
        state, first, second = fork
        detail = f"{plural(told.classes, 'normal form')} differ · {pairs}{self._conditions(prop)}"
        shown = self._fork(found, state, first, second, prop)
        return Result(
            prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, prop.span, self.walks.run_to(state), (), engine(self.exploration), shown,
        )  # fmt: skip

    def _fork(self, found: Condensation, state: int, first: tuple[int, int], second: tuple[int, int], prop: Property) -> Fork:
        a, b = self.system.updates[first[0]], self.system.updates[second[0]]
        left, left_end = self.walks.settle(first[1])
        right, right_end = self.walks.settle(second[1])
        del found
        return Fork(
            self.walks.step(state, first[0]), self.walks.step(state, second[0]), is_choice(a, b), conflict(self.system, a, b),
            self.walks.difference(left_end, right_end, observed(self.system, prop.on)), (left, right),
        )  # fmt: skip

    # ---- frozen choices ----------------------------------------------------------------------------------------------
    def _given(self, prop: Property) -> Result:
        choices = [choice_of(paths) for paths in prop.given]
        frozen = freeze(self.system, self.bank, choices)
        found = explore(frozen.system, rules=replace(self.rules, keep_graph=True, stop_on=frozenset()), mode=Audited())
        named = ", ".join(map(str, choices))
        if found.stopped is not None or found.graph is None:
            return Result(
                prop.name, Verdict.UNKNOWN, Assurance.BOUNDED, f"given {named}: the search of frozen choices stopped ({found.stopped})", prop.span,
                engine=engine(found),
            )  # fmt: skip
        graph = productive(found.graph, range(found.levels[0]))
        told = condense(graph)
        if any(told.bottom[c] and told.size[c] > 1 for c in range(told.count)) or any(told.size[c] > 1 for c in range(told.count)):
            # A cycle may lose its exit when choices are frozen: then it settles nothing. Said plainly rather than guessed.
            walks = Walks(frozen.system, found, graph)
            return Result(
                prop.name, Verdict.UNKNOWN, Assurance.NONE, f"given {named}: runs can go round, so frozen choices may never settle; "
                "prove termination first", prop.span, walks.lasso(told), engine=engine(found),
            )  # fmt: skip
        boxes, slots = self._boxes(frozen, found, graph, prop)
        met = collision(boxes)
        if isinstance(met, str):
            return Result(prop.name, Verdict.UNKNOWN, Assurance.NONE, f"given {named}: {met}", prop.span, engine=engine(found))
        if met is None:
            outcomes = len({b.outcome for b in boxes})
            detail = f"given {named} · 1 normal form for each way to choose ({plural(outcomes, 'settlement')} over {plural(slots, 'choice')})"
            return self._holds(prop, detail + self._conditions(prop))
        first, second = met
        walks = Walks(frozen.system, found, graph)
        return self._collides(prop, walks, first, second, named)

    def _boxes(self, frozen: Frozen, found: Exploration, graph: Quotient, prop: Property) -> tuple[list[Box], int]:
        places = [f.index for f in observed(self.system, prop.on)]
        known: dict[tuple[int, ...], int] = {}
        boxes: dict[tuple[int, tuple[int, ...]], Box] = {}
        state_of = found.store.state
        for number in range(graph.states):
            state = state_of(number)
            out = [frozen.slot_of[u] for u, t in graph.out(number) if state_of(t)[: frozen.first] != state[: frozen.first]]
            allowed = box(state[frozen.first :], frozen.sizes, out)
            if allowed is None:
                continue
            outcome = known.setdefault(tuple(state[i] for i in places), len(known))
            boxes.setdefault((outcome, allowed), Box(number, outcome, allowed))
        return list(boxes.values()), frozen.slots

    def _collides(self, prop: Property, walks: Walks, first: Box, second: Box, named: str) -> Result:
        """Two runs that keep to the same choices and settle apart: they share a beginning and part at a fork."""
        left, right = walks.path(first.state), walks.path(second.state)
        common = 0
        while common < min(len(left.updates), len(right.updates)) and left.updates[common] == right.updates[common]:
            common += 1
        shared = Path(left.initial, left.updates[:common])
        one, other = walks.steps_along(left, common), walks.steps_along(right, common)
        nothing = Step("(nothing more)", "", ())
        a, b = (one or (nothing,))[0], (other or (nothing,))[0]
        updates = {u.name: u for u in self.system.updates}
        clash = conflict(self.system, updates[a.update], updates[b.update]) if a is not nothing and b is not nothing else ()
        fork = Fork(
            a, b, False, clash, walks.difference(first.state, second.state, observed(self.system, prop.on)), (one[1:], other[1:])
        )
        detail = f"given {named}: the same choices settle apart{self._conditions(prop)}"
        return Result(
            prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, prop.span, walks.run_along(shared), (), engine(self.exploration), fork
        )

    def _holds(self, prop: Property, detail: str) -> Result:
        return Result(prop.name, Verdict.HOLDS, Assurance.EXHAUSTIVE, detail, prop.span, engine=engine(self.exploration))


def choice_of(paths: tuple[str, ...]) -> Choice:
    """`assign.m` freezes a parameter, `finish or fail` an alternative, `finish.ok` the outcome of finish."""
    if len(paths) == 1 and "." in paths[0]:
        schema, _, parameter = paths[0].partition(".")
        return Choice((schema,), parameter)
    return Choice(paths)


def is_choice(a: GroundUpdate, b: GroundUpdate) -> bool:
    """Alternatives for the same work: one schema with another binding, outcomes of one update, or two that settle the same
    status or assignee at once."""
    if a.schema.partition(".")[0] == b.schema.partition(".")[0]:
        return bool(_decided(a) & _decided(b))
    return bool(_decided(a) & _decided(b)) and a.actor == b.actor


def _decided(update: GroundUpdate) -> set[int]:
    return {w.field.index for w in update.writes if w.field.kind in {"status", "assignee", "marker", "ifield"}}


def conflict(system: System, a: GroundUpdate, b: GroundUpdate) -> tuple[str, ...]:
    """Fields that one of two updates writes and the other reads or writes."""
    def writes(u: GroundUpdate) -> int:
        return sum({1 << w.field.index for w in u.writes})

    def reads(u: GroundUpdate) -> int:
        mask = u.when.reads | u.requires.reads
        for w in u.writes:
            mask |= w.value.reads
        return mask

    clash = (writes(a) & (reads(b) | writes(b))) | (writes(b) & (reads(a) | writes(a)))
    return tuple(f.name for f in system.fields if clash >> f.index & 1 and f.root)


DECIDERS: dict[PropertyKind, Callable[[Order, Property], Result]] = {
    PropertyKind.TERMINATION: Order.termination,
    PropertyKind.STABILITY: Order.stability,
}

__all__ = ["DECIDERS", "Order", "Run", "choice_of", "conflict", "is_choice"]
