"""Why a clause fails in a state: its failing instance, the smallest failing sub-formula, and the values in it."""

from __future__ import annotations

from icore_kernel.explore.model import State
from icore_kernel.meaning import scalar
from icore_kernel.meaning.explain import Failure, explain
from icore_kernel.meaning.nearest import nearest
from icore_kernel.system import Clause, System
from icore_kernel.terms.node import Term, variables
from icore_kernel.terms.show import show
from icore_kernel.terms.table import Variable
from icore_kernel.verdict import Reason

MOST_VALUES = 8
MOST_TEXT = 400
LONG = 160
HIDDEN = 4
"""What a user's state does not show (which evidence an assertion rests on) is the last thing to call missing."""


def reasons_of(system: System, clause: Clause, state: State) -> tuple[Reason, ...]:
    """One Reason a failing instance of the clause (at most three)."""
    failing = [(name, term) for name, term in clause.instances if not scalar.evaluate(term, state)]
    if not failing:
        failing = [(clause.instance, clause.formula)]
    return tuple(_reason(system, clause, name, term, state) for name, term in failing[:3])


def _reason(system: System, clause: Clause, name: str, term: Term, state: State) -> Reason:
    """Of the values, those that the run has changed come first: there is room for a few only."""
    failures = explain(term, state)
    moved: dict[str, str] = {}
    still: dict[str, str] = {}
    parts: list[str] = []
    for failure in failures:
        parts.append(_said(system, failure))
        for variable in variables(failure.term):
            if system.fields[variable.index].root:
                values = still if state[variable.index] == system.initial[variable.index] else moved
                values[variable.name] = value_text(system, variable, state)
    text = " and ".join(parts)
    span = clause.spans[0] if clause.spans else None
    if not clause.text or (text and len(text) <= LONG):
        return Reason(clause.label, text[:MOST_TEXT], span, tuple([*moved.items(), *still.items()][:MOST_VALUES]), name)
    # A whole family of alternatives failed: what was written says more than what it expands to, and what is missing most.
    lacking = nearest(term, state, lambda leaf: 1 if all(system.fields[v.index].root for v in variables(leaf)) else HIDDEN)
    needs = " and ".join(_leaf(system, part, wanted) for part, wanted in lacking)
    read = {v.name: value_text(system, v, state) for part, _ in lacking for v in variables(part) if system.fields[v.index].root}
    rest = {k: v for k, v in [*moved.items(), *still.items()] if k not in read}
    shown = [*read.items(), *rest.items()][: max(len(read), 4)][:MOST_VALUES]
    return Reason(clause.label, clause.text[:MOST_TEXT], span, tuple(shown), name, needs[:MOST_TEXT])


def _said(system: System, failure: Failure) -> str:
    return _leaf(system, failure.term, failure.wanted)


def _leaf(system: System, term: Term, wanted: bool) -> str:
    said = show(term, lambda v, code: name_of(system, v, code), MOST_TEXT)
    return said if wanted else f"not ({said})"


def value_text(system: System, variable: Variable, state: State) -> str:
    return system.fields[variable.index].domain.show(state[variable.index])


def name_of(system: System, variable: Variable, code: int) -> str:
    """A code as its field prints it; numbers outside the domain as numbers."""
    if variable.index >= len(system.fields):
        return str(code)
    domain = system.fields[variable.index].domain
    return domain.show(code) if domain.lo <= code <= domain.hi else str(code)
