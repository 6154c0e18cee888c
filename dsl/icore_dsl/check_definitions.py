"""Recursion: plain definitions in terms of themselves, and least definitions under their own negation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from icore_dsl.found import Found
from icore_dsl.mistakes import D017, D018
from icore_dsl.syntax import Binary, Call, Closure, Expr, FunctionDecl, If, Module, Name, Quant, SetOf, Span, TableBody, Unary
from icore_dsl.walk import domains, parts, present


@dataclass(frozen=True, slots=True)
class Use:
    """A definition is used at a place; `sign`: 1 positively, -1 under a negation, 0 where either may be."""

    name: str
    sign: int
    span: Span


def uses(expr: Expr, sign: int, known: Mapping[str, FunctionDecl], hidden: frozenset[str]) -> Iterator[Use]:
    """Every use of a known definition in an expression, with the sense in which it counts."""
    match expr:
        case Name(id=name, span=span) | Call(name=name, name_span=span):
            if name in known and name not in hidden:
                yield Use(name, sign, span)
            for part in parts(expr):
                yield from uses(part, 0, known, hidden)
        case Closure(relation=name, span=span):
            if name in known:
                yield Use(name, sign, span)
            for part in parts(expr):
                yield from uses(part, 0, known, hidden)
        case Unary(op="not", operand=operand):
            yield from uses(operand, -sign, known, hidden)
        case Binary(op="and" | "or", left=left, right=right):
            yield from uses(left, sign, known, hidden)
            yield from uses(right, sign, known, hidden)
        case Binary(op="implies", left=left, right=right):
            yield from uses(left, -sign, known, hidden)
            yield from uses(right, sign, known, hidden)
        case If(condition=condition, then=then, otherwise=otherwise):
            yield from uses(condition, 0, known, hidden)
            yield from uses(then, sign, known, hidden)
            yield from uses(otherwise, sign, known, hidden)
        case Quant(kind="forall" | "exists" as kind, binders=binders, where=where, body=body):
            inner = hidden | {binder.name for binder in binders}
            for domain in domains(binders):
                yield from uses(domain, 0, known, hidden)
            for part in present(where):
                yield from uses(part, -sign if kind == "forall" else sign, known, inner)
            for part in present(body):
                yield from uses(part, sign, known, inner)
        case Quant(binders=binders) | SetOf(binders=binders):
            inner = hidden | {binder.name for binder in binders}
            for part in parts(expr):
                yield from uses(part, 0, known, inner)
        case _:
            for part in parts(expr):
                yield from uses(part, 0, known, hidden)


class Definitions:
    """The graph of which definition uses which, over all files."""

    def __init__(self, modules: tuple[Module, ...], found: Found) -> None:
        self.found = found
        self.decls: dict[str, FunctionDecl] = {}
        for module in modules:
            for decl in module.decls:
                if isinstance(decl, FunctionDecl):
                    self.decls.setdefault(decl.name or decl.kind, decl)
        self.uses: dict[str, list[Use]] = {}
        for name, decl in self.decls.items():
            hidden = frozenset(param.name for param in decl.params)
            self.uses[name] = [] if isinstance(decl.body, TableBody) else list(uses(decl.body, 1, self.decls, hidden))

    def check(self) -> None:
        every = components({name: [use.name for use in found] for name, found in self.uses.items()})
        plain = {name for name, decl in self.decls.items() if decl.kind != "least"}
        among_plain = components({name: [use.name for use in self.uses[name] if use.name in plain] for name in self.decls if name in plain})
        told: set[str] = set()
        for name in self.decls:
            if name not in plain:
                if name in every:
                    self._positively(name, every)
            elif name in among_plain and name not in told:
                circle = self._circle(name, among_plain)
                members = [name, *(use.name for use in circle[:-1])]
                told.update(members)
                said = " -> ".join([*members, name])
                hint = "only definitions that begin with `least` may be recursive"
                self.found.add(D017, circle[0].span, f"`{name}` is defined in terms of itself: {said}", hint)

    def _circle(self, name: str, component: Mapping[str, int]) -> list[Use]:
        """A shortest way from a member of a component through uses in it back to itself."""
        came: dict[str, tuple[str, Use]] = {}
        queue = [name]
        for at in queue:
            for use in self.uses[at]:
                if use.name not in came and component.get(use.name) == component[name]:
                    came[use.name] = (at, use)
                    queue.append(use.name)
            if name in came:
                break
        before, use = came[name]
        way = [use]
        while before != name:
            before, use = came[before]
            way.append(use)
        return way[::-1]

    def _positively(self, name: str, component: Mapping[str, int]) -> None:
        """Follows uses through plain definitions, which are only abbreviations, to least ones that lead back to `name`."""
        seen: set[tuple[str, int]] = set()
        ways = [(1, iter(self.uses[name]))]
        while ways:
            sign, rest = ways[-1]
            use = next(rest, None)
            if use is None:
                ways.pop()
                continue
            sense = sign * use.sign
            if component.get(use.name) != component[name]:
                continue
            if self.decls[use.name].kind != "least":
                if (use.name, sense) not in seen:
                    seen.add((use.name, sense))
                    ways.append((sense, iter(self.uses[use.name])))
            elif sense != 1:
                if sense == -1:
                    where = "under a negation (`not`, the left of `implies`, the `where` of `forall`)"
                else:
                    where = "where more of it may also count against it (`iff`, `==`, `count`, an `if`)"
                self.found.add(D018, use.span, f"`{name}` is a least definition and uses `{use.name}` {where}")


def components(graph: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The strongly connected component, by number, of each name that lies on a circle; names on none are left out.

    Tarjan's algorithm in one pass with an explicit stack: chains of definitions may be longer than the interpreter's stack.
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    found: dict[str, int] = {}
    done: set[str] = set()
    open_names: list[str] = []
    for root in graph:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        open_names.append(root)
        ways = [(root, iter(graph[root]))]
        while ways:
            at, rest = ways[-1]
            following = next(rest, None)
            if following is None:
                ways.pop()
                if ways:
                    above = ways[-1][0]
                    low[above] = min(low[above], low[at])
                if low[at] == order[at]:
                    members = [open_names.pop()]
                    while members[-1] != at:
                        members.append(open_names.pop())
                    done.update(members)
                    if len(members) > 1 or at in graph[at]:
                        found.update(dict.fromkeys(members, order[at]))
            elif following not in order:
                order[following] = low[following] = len(order)
                open_names.append(following)
                ways.append((following, iter(graph[following])))
            elif following not in done:
                low[at] = min(low[at], order[following])
    return found
