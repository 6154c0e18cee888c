"""Quantifiers: what a bound name ranges over, each binding with the condition under which it counts, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from icore_dsl import syntax as s
from icore_dsl.mistakes import G008
from icore_kernel.ground.limits import MOST_INSTANCES, TooNested
from icore_kernel.ground.scope import Env, Scope, Sizes, around
from icore_kernel.ground.values import Element, GroundingError, SetValue, Value
from icore_kernel.terms.node import Term

if TYPE_CHECKING:
    from icore_kernel.ground.evaluate import Evaluator


def quantified(ev: Evaluator, expr: s.Quant, env: Env, theory: bool) -> Value:
    """`forall`, `exists`, `count`, `sum`, `max` or `min`; over nothing the last four are 0."""
    alg, bank = ev.algebra, ev.algebra.bank
    pairs = bindings(ev, expr.binders, expr.where, env, theory)
    match expr.kind:
        case "forall":
            body = expr.body
            if body is None:
                raise GroundingError(G008, "forall needs a body", expr.span)
            parts: list[Term] = []
            for inner, condition in pairs:
                part = bank.implies(condition, ev.formula(body, inner, theory))
                if part.is_false:
                    return False
                parts.append(part)
            return alg.truth(bank.conj(parts))
        case "exists":
            found: list[Term] = []
            for inner, condition in pairs:
                part = condition if expr.body is None else bank.and_(condition, ev.formula(expr.body, inner, theory))
                if part.is_true:
                    return True
                found.append(part)
            return alg.truth(bank.disj(found))
        case "count" | "sum":
            total: Value = Fraction(0)
            one = Fraction(1)
            for inner, condition in pairs:
                item = one if expr.body is None else ev.value(expr.body, inner, theory)
                total = alg.add(total, alg.choose(condition, item, Fraction(0)))
            return total
        case "max" | "min":
            return _extreme(ev, expr, pairs, theory)
    raise GroundingError(G008, f"unknown quantifier {expr.kind}", expr.span)


def _extreme(ev: Evaluator, expr: s.Quant, pairs: Iterator[tuple[Env, Term]], theory: bool) -> Value:
    """Conditional elements: keep a best and whether there is one, since 0 stands for nothing at all."""
    alg, bank = ev.algebra, ev.algebra.bank
    best: Value = Fraction(0)
    some = bank.false
    for inner, condition in pairs:
        if expr.body is None:
            raise GroundingError(G008, f"{expr.kind} needs a body", expr.span)
        item = ev.value(expr.body, inner, theory)
        better = alg.boolean(alg.less(best, item) if expr.kind == "max" else alg.less(item, best))
        best = alg.choose(bank.and_(condition, bank.or_(bank.not_(some), better)), item, best)
        some = bank.or_(some, condition)
    return best


def bindings(ev: Evaluator, binders: tuple[s.Binder, ...], where: s.Expr | None, env: Env, theory: bool) -> Iterator[tuple[Env, Term]]:
    """Every binding, with the condition under which it counts; those that can never count are left out."""
    bank = ev.algebra.bank
    if not binders:
        condition = bank.true if where is None else ev.formula(where, env, theory)
        if not condition.is_false:
            yield env, condition
        return
    first, rest = binders[0], binders[1:]
    values = domain(ev, first, where, env, theory)
    # The theory's own quantifiers are narrow, or as wide as what is declared.
    sizes = around(env) if theory else within(env, len(values), first.span)
    for value, inside in values:
        ev.deadline.check()
        inner = Scope.of(env, sizes)
        inner[first.name] = value
        for final, condition in bindings(ev, rest, where, inner, theory):
            both = bank.and_(inside, condition)
            if not both.is_false:
                yield final, both


def within(env: Env, size: int, place: s.Span) -> Sizes:
    """What is around what stands inside one more quantifier. Raises TooNested, with the place, where that is too much."""
    sizes = (*around(env), size)
    if prod(sizes) > MOST_INSTANCES:
        raise TooNested(sizes, place)
    return sizes


def domain(ev: Evaluator, binder: s.Binder, where: s.Expr | None, env: Env, theory: bool) -> list[tuple[Value, Term]]:
    """What a bound name ranges over, each value with the condition under which it is there."""
    true = ev.algebra.bank.true
    if isinstance(binder.domain, s.Name) and binder.domain.id not in env:
        elements = ev.elements(binder.domain.id, theory)
        if elements is not None:
            few = _narrowed(ev, binder, where, env, theory)
            return [(e, true) for e in (elements if few is None else _ordered(elements, set(few)))]
    value = ev.value(binder.domain, env, theory)
    if isinstance(value, SetValue):
        return list(value.items)
    raise GroundingError(G008, "not a finite set", binder.span)


def _ordered(elements: tuple[Value, ...], allowed: set[Value]) -> tuple[Value, ...]:
    """The allowed elements in their order; few of them without a walk over the whole sort."""
    if elements and len(allowed) * 4 <= len(elements):
        sort = elements[0].sort if isinstance(elements[0], Element) else ""
        few = [e for e in allowed if isinstance(e, Element) and e.sort == sort]
        if sort != "Obligation" and len(few) == len(allowed):
            return tuple(sorted(few, key=lambda e: e.place))
    return tuple(e for e in elements if e in allowed)


def _narrowed(ev: Evaluator, binder: s.Binder, where: s.Expr | None, env: Env, theory: bool) -> Iterable[Value] | None:
    """A superset of the elements that can satisfy `where`, when one of its conjuncts is a sparse primitive of the binder."""
    if where is None or ev.words is None:
        return None
    for part in conjuncts(where):
        exprs: tuple[s.Expr, ...]
        if isinstance(part, s.Closure):
            name, exprs = part.relation + "*", (part.left, part.right)
        elif isinstance(part, s.Call):
            name, exprs = part.name, part.args
        else:
            continue
        positions = [i for i, a in enumerate(exprs) if isinstance(a, s.Name) and a.id == binder.name]
        if len(positions) != 1:
            continue
        args: list[Value] = []
        for i, a in enumerate(exprs):
            if i == positions[0]:
                args.append(None)
            elif mentions(a) - env.keys() - (set() if isinstance(a, s.Name) else ev.universe.theory_names.keys()):
                break
            else:
                args.append(ev.value(a, env, theory))
        if len(args) != len(exprs):
            continue
        few = ev.words.candidates(name, tuple(args), positions[0], theory)
        if few is not None:
            return few
    return None


def conjuncts(expr: s.Expr) -> Iterator[s.Expr]:
    if isinstance(expr, s.Binary) and expr.op == "and":
        yield from conjuncts(expr.left)
        yield from conjuncts(expr.right)
    else:
        yield expr


def mentions(expr: s.Expr) -> set[str]:
    """Names that an argument expression mentions (calls and names only: what candidates are asked for)."""
    match expr:
        case s.Name():
            return {expr.id}
        case s.Call():
            return set().union(*(mentions(a) for a in expr.args)) if expr.args else set()
        case _:
            return {"?"}
