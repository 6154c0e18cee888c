"""Bindings before the state is known: where a set depends on the state, everything that may ever be in it."""

from __future__ import annotations

from collections.abc import Iterator

from icore_dsl import syntax as s
from icore_dsl.mistakes import G003
from icore_kernel.ground import quantifiers
from icore_kernel.ground.build import domain_of
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.limits import TooLarge, TooNested
from icore_kernel.ground.scope import Env, Scope, around
from icore_kernel.ground.universe import Universe
from icore_kernel.ground.values import Element, GroundingError, Value

Loop = tuple[Env, tuple[s.Expr, ...]]
"""A binding, and what must hold for it to count: membership in the sets that depend on the state."""


def loops(universe: Universe, evaluator: Evaluator, binders: tuple[s.Binder, ...], env: Env, whole: bool = False) -> Iterator[Loop]:
    """Every binding that may count. Raises GroundingError where nothing bounds the members of a set.

    `whole`: no condition leaves a part of the bindings out later, so that TooNested is raised where they are too many.
    """
    if not binders:
        yield env, ()
        return
    first, rest = binders[0], binders[1:]
    try:
        values: list[Value] = [value for value, _ in quantifiers.domain(evaluator, first, None, env, False)]
        inside: tuple[s.Expr, ...] = ()
    except (TooLarge, TooNested):
        raise
    except GroundingError:
        values = members(universe, evaluator, first.domain, env)
        inside = (s.Binary("in", s.Name(first.name, first.span), first.domain, first.span),)
    sizes = quantifiers.within(env, len(values), first.span) if whole else around(env)
    for value in values:
        evaluator.deadline.check()
        for inner, conditions in loops(universe, evaluator, rest, Scope.of({**env, first.name: value}, sizes), whole):
            yield inner, (*inside, *conditions)


def members(universe: Universe, evaluator: Evaluator, expr: s.Expr, env: Env) -> list[Value]:
    """What may be in a set, in order and each once."""
    return list(dict.fromkeys(_members(universe, evaluator, expr, env)))


def _members(universe: Universe, evaluator: Evaluator, expr: s.Expr, env: Env) -> Iterator[Value]:
    match expr:
        case s.Attr():
            sort = _field_sort(universe, evaluator.static(expr.target, env), expr.name)
            if isinstance(sort, s.SortSet):
                yield from domain_of(sort.item, evaluator, universe, {})
                return
        case s.SetLit():
            for item in expr.items:
                yield evaluator.static(item, env)
            return
        case s.SetOf():
            for inner, _ in loops(universe, evaluator, expr.binders, env):
                yield evaluator.static(expr.item, inner)
            return
        case s.If():
            yield from _members(universe, evaluator, expr.then, env)
            yield from _members(universe, evaluator, expr.otherwise, env)
            return
        case s.Name() | s.Call():
            name = expr.id if isinstance(expr, s.Name) else expr.name
            function = universe.functions.get(name)
            if function is not None and not isinstance(function.decl.body, s.TableBody):
                args = () if isinstance(expr, s.Name) else tuple(evaluator.static(a, env) for a in expr.args)
                inner_env = dict(zip((p.name for p in function.decl.params), args, strict=True))
                yield from _members(universe, evaluator, function.decl.body, inner_env)
                return
        case _:
            pass
    raise GroundingError(G003, "what this set may hold is not known beforehand", expr.span)


def _field_sort(universe: Universe, owner: Value, name: str) -> s.Sort | None:
    if not isinstance(owner, Element):
        return None
    if owner.sort == "Agent":
        fields: tuple[s.FieldDecl, ...] = tuple(universe.agent_fields.values())
    elif owner in universe.certificates:
        fields = universe.certificate_decls[universe.certificates[owner].schema].fields
    else:
        slot = universe.inputs.get(owner) or universe.artifacts.get(owner)
        fields = () if slot is None else universe.slots[slot.schema].fields
    return next((f.sort for f in fields if f.name == name), None)
