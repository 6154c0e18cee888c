"""Why a clause fails in a state: its failing instance, the smallest failing sub-formula, and the values in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from icore_kernel.check.wording import said
from icore_kernel.explore.model import State
from icore_kernel.meaning import scalar
from icore_kernel.meaning.nearest import nearest
from icore_kernel.system import Clause, System
from icore_kernel.terms.node import Term, conjuncts, variables
from icore_kernel.terms.show import IF, NOT
from icore_kernel.terms.table import Op, Variable
from icore_kernel.verdict import Reason

MOST_VALUES = 8
MOST_TEXT = 400
LONG = 160
MEANT = 100
WORK = frozenset({"present", "status", "assignee", "marker", "signature", "relation", "reported"})
"""Kinds of fields that say what work there is and how it stands."""
HIDDEN = 4
"""What a user's state does not show (which evidence an assertion rests on) is the last thing to call missing."""


def reasons_of(system: System, clause: Clause, state: State, meant: int = 0) -> tuple[Reason, ...]:
    """One Reason a failing instance of the clause (at most three). `meant`: bits of fields whose values were meant to be as they
    are, so that something else is missing."""
    failing = [(name, term) for name, term in clause.instances if not scalar.evaluate(term, state)]
    if not failing:
        failing = [(clause.instance, clause.formula)]
    return tuple(_reason(system, clause, name, term, state, meant) for name, term in failing[:3])


def work_changed(system: System, before: State, after: State) -> int:
    """Bits of the work fields that a step changed. They were meant to be changed: what is missing is evidence."""
    changed = zip(system.fields, before, after, strict=True)
    return sum(1 << field.index for field, old, new in changed if old != new and field.kind in WORK)


def _reason(system: System, clause: Clause, name: str, term: Term, state: State, meant: int) -> Reason:
    """The failing conjuncts, as they stand; where they are long or constant, what was written, and what its nearest alternative lacks.

    Of the values, those that the run has changed come first: there is room for a few only.
    """
    failing = list(failing_parts(term, state))
    text = _all_of(system, failing)
    span = clause.spans[0] if clause.spans else None
    values = _values(system, variables(*(part for part, _ in failing)), state)
    if len(text) <= LONG and not all(part.is_false for part, _ in failing):
        return Reason(clause.label, text, span, tuple(values[:MOST_VALUES]), name)

    # A whole family of alternatives failed: what was written says more than what it expands to, and what is missing most.
    lacking = lacking_of(system, term, state, meant)
    needs = _all_of(system, [(part, wanted) for part, wanted in lacking if not part.is_false])
    read = _values(system, variables(*(part for part, _ in lacking)), state)
    rest = [pair for pair in values if pair not in read]
    shown = [*read, *rest][: max(len(read), 4)][:MOST_VALUES]
    if term.is_false and not needs:
        needs = "anything that could make it hold: as declared it is false in every state"
    needs = needs[:MOST_TEXT] + _past(stale(system, lacking, state))
    return Reason(clause.label, (clause.text or text)[:MOST_TEXT], span, tuple(shown), name, needs)


def lacking_of(system: System, term: Term, state: State, meant: int) -> tuple[tuple[Term, bool], ...]:
    """The leaves that the nearest alternative of a failing formula lacks. `meant`: as for `reasons_of`."""

    def cost(leaf: Term) -> int:
        if leaf.reads & meant:
            return MEANT
        return 1 if all(system.fields[v.index].root for v in variables(leaf)) else HIDDEN

    return nearest(term, state, cost)


def stale(system: System, lacking: Iterable[tuple[Term, bool]], state: State) -> list[tuple[str, str]]:
    """(assertion, certificate) where the one does not rest on the other although that is active: it was issued before what it is to
    support was last written."""
    states = {f.name: f.domain.show(state[f.index]) for f in system.fields if f.kind == "certificate"}
    found: list[tuple[str, str]] = []
    for leaf, wanted in lacking:
        if wanted and leaf.op is Op.FIELD and system.fields[leaf.variable.index].kind == "under":
            assertion, _, certificate = leaf.variable.name.partition(" rests on ")
            # What no update issues or takes back is no field: it is active from the start, or else nothing could ever rest on it.
            if states.get(certificate, "active") == "active":
                found.append((assertion, certificate))
    return found


def _past(found: Sequence[tuple[str, str]]) -> str:
    if not found:
        return ""
    assertions, certificates = (", ".join(dict.fromkeys(names)) for names in zip(*found, strict=True))
    if len(found) == 1:
        return f": {certificates} is active, but was issued before {assertions} was last written: issue it again where that is written"
    return f": {certificates} are active, but were issued before {assertions} were last written: issue them again where those are written"


def failing_parts(term: Term, state: State) -> Iterator[tuple[Term, bool]]:
    """The parts of a failing conjunction that fail, each with what it had to be; of `not (a or b)` those of a and b that hold."""
    for part in conjuncts(term):
        if scalar.evaluate(part, state):
            continue
        denied = part.args[0] if part.op is Op.NOT else None
        if denied is not None and denied.op is Op.OR:
            yield from ((arg, False) for arg in denied.args if scalar.evaluate(arg, state))
        else:
            yield part, True


def _values(system: System, read: Iterable[Variable], state: State) -> list[tuple[str, str]]:
    """Name and printed value of the variables that users see, those that differ from the initial state first."""
    shown = [v for v in read if system.fields[v.index].root]
    shown.sort(key=lambda v: state[v.index] == system.initial[v.index])
    return [(v.name, value_text(system, v, state)) for v in shown]


def _all_of(system: System, parts: Sequence[tuple[Term, bool]]) -> str:
    """The parts, each as it has to be, as one formula."""
    level = IF if len(parts) == 1 else NOT
    return " and ".join(said(system, part, wanted, MOST_TEXT, level) for part, wanted in parts)


def value_text(system: System, variable: Variable, state: State) -> str:
    return system.fields[variable.index].domain.show(state[variable.index])
