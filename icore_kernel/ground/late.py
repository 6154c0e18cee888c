"""Names whose meaning depends on which updates are enabled or what they read and write: they can be grounded only after the updates."""

from __future__ import annotations

from collections.abc import Mapping

from icore_dsl import syntax as s
from icore_kernel.ground.universe import Universe
from icore_kernel.ground.variations import Variation

FOOTPRINT = {"enabled", "reads", "writes", "issues", "retracts", "may_issue", "may_retract", "by_environment", "permitted"}
CONJUNCTIONS = {"feasible_state", "accept", "reject", "stuck"}


def late_names(universe: Universe) -> set[str]:
    """The names a package may use that are late: words of the theory about updates, and whatever uses one, directly or not."""
    theory = _closed(FOOTPRINT | CONJUNCTIONS, {n: names_in(f.decl.body) for n, f in universe.theory_functions.items()})
    exported = {n for n, is_exported in universe.primitives.items() if is_exported}
    exported |= {n for n, f in universe.theory_functions.items() if f.decl.exported}
    uses = {n: names_in(f.decl.body) for n, f in universe.functions.items()}
    for name, functions in universe.valuations.items():
        uses[name] = set().union(*(names_in(f.decl.body) for f in functions))
    for name, decl in universe.certificate_decls.items():
        uses[name] = names_in((decl.valid, decl.current, decl.scope, decl.premises))
    return _closed(theory & exported, uses)


def _closed(first: set[str], uses: Mapping[str, set[str]]) -> set[str]:
    late = set(first)
    while more := {n for n, used in uses.items() if n not in late and used & late}:
        late |= more
    return late


def mentions(variation: Variation, names: set[str]) -> bool:
    """Whether a guard, a condition of a loop, or a value of an update uses one of the names."""
    parts: list[object] = [*variation.when, *variation.requires]
    for item in variation.items:
        parts.extend(where for _, where in item.loops if where is not None)
        if isinstance(item.statement, s.SetField):
            parts.append(item.statement.value)
        else:
            parts.extend(a.value for a in item.statement.values)
    return any(names_in(p) & names for p in parts)


def names_in(node: object) -> set[str]:
    """Every name that an expression, or a piece of a declaration, calls or mentions."""
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
