"""Names whose meaning depends on which updates are enabled or what they read and write: they can be grounded only after the updates."""

from __future__ import annotations

from icore_dsl import syntax as s
from icore_kernel.ground.universe import Universe
from icore_kernel.ground.variations import Variation

FOOTPRINT = {"enabled", "reads", "writes", "issues", "retracts", "may_issue", "may_retract", "by_environment", "permitted"}
CONJUNCTIONS = {"feasible_state", "accept", "reject", "stuck"}


def late_names(universe: Universe, theory: tuple[s.Module, ...]) -> set[str]:
    """Words about updates, and every definition that uses one, directly or not."""
    late = set(FOOTPRINT | CONJUNCTIONS)
    uses = {n: names_in(f.decl.body) for table in (universe.theory_functions, universe.functions) for n, f in table.items()}
    grown = True
    while grown:
        more = {n for n, used in uses.items() if n not in late and used & late}
        late |= more
        grown = bool(more)
    del theory
    return late


def mentions(variation: Variation, names: set[str]) -> bool:
    parts: list[object] = [*variation.when, *variation.requires]
    for item in variation.items:
        parts.extend(where for _, where in item.loops if where is not None)
        if isinstance(item.statement, s.SetField):
            parts.append(item.statement.value)
        else:
            parts.extend(a.value for a in item.statement.values)
    return any(names_in(p) & names for p in parts)


def names_in(node: object) -> set[str]:
    """Every name that an expression calls or mentions."""
    found: set[str] = set()
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, s.Name):
            found.add(top.id)
        elif isinstance(top, s.Call):
            found.add(top.name)
        elif isinstance(top, s.Closure):
            found.add(top.relation)
        if isinstance(top, tuple):
            stack.extend(top)
        elif hasattr(top, "__dataclass_fields__") and not isinstance(top, s.Span):
            stack.extend(getattr(top, f) for f in top.__dataclass_fields__)
    return found
