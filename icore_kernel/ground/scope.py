"""What binds names while an expression is evaluated, and how often what it stands in is expanded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from icore_dsl import syntax as s
from icore_kernel.ground.universe import Function, Universe
from icore_kernel.ground.values import Value, is_static

Env = Mapping[str, Value]

Sizes = tuple[int, ...]
"""Of the domains of an update's parameters and of the quantifiers that are around, outermost first: their product is how often what
stands there is expanded."""


class Scope(dict[str, Value]):
    """An `Env` inside quantifiers, or of an occurrence."""

    __slots__ = ("sizes",)
    sizes: Sizes

    @classmethod
    def of(cls, env: Env, sizes: Sizes) -> Scope:
        scope = cls(env)
        scope.sizes = sizes
        return scope


def around(env: Env) -> Sizes:
    return env.sizes if isinstance(env, Scope) else ()


def evaluations(universe: Universe, function: Function, args: Sequence[Value], sizes: Sizes) -> Sizes:
    """How often the body of a function is evaluated inside quantifiers: calls whose arguments are known are remembered, so no more
    often than there are arguments."""
    if not sizes or not all(is_static(a) for a in args):
        return sizes
    ways = 1
    for param in function.decl.params:
        count = _count(universe, param.sort)
        if count is None:
            return sizes
        ways *= count
    return sizes if prod(sizes) <= ways else (ways,)


def _count(universe: Universe, sort: s.Sort | None) -> int | None:
    """The values of a sort, where that is known without evaluating anything."""
    match sort:
        case s.SortName(name="bool"):
            return 2
        case s.SortName(name=name):
            elements = universe.elements(name)
            return None if elements is None else len(elements)
        case s.SortRange(low=s.Num() as low, high=s.Num() as high):
            return int(high.value - low.value) + 1
    return None
