"""Recursion: plain definitions in terms of themselves, and least definitions under their own negation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
        told: set[str] = set()
        for name, decl in self.decls.items():
            circle = self._back(name, name, decl.kind != "least")
            if circle is None or name in told:
                continue
            members = [name, *(use.name for use in circle[:-1])]
            if decl.kind != "least":
                told.update(members)
                said = " -> ".join([name, *(use.name for use in circle)])
                hint = "only definitions that begin with `least` may be recursive"
                self.found.add(D017, circle[0].span, f"`{name}` is defined in terms of itself: {said}", hint)
            else:
                self._positively(name, name, 1, set())

    def _back(self, start: str, goal: str, plain: bool = False) -> list[Use] | None:
        """A shortest way from one definition through uses to another; `plain`: only through definitions that are not `least`."""
        ways: dict[str, list[Use]] = {}
        queue: list[tuple[str, list[Use]]] = [(start, [])]
        for at, way in queue:
            for use in self.uses[at]:
                if use.name == goal:
                    return [*way, use]
                if use.name not in ways and not (plain and self.decls[use.name].kind == "least"):
                    ways[use.name] = [*way, use]
                    queue.append((use.name, ways[use.name]))
        return None

    def _positively(self, name: str, at: str, sign: int, seen: set[tuple[str, int]]) -> None:
        """Follows uses through plain definitions, which are only abbreviations, to least ones that lead back to `name`."""
        for use in self.uses[at]:
            sense = sign * use.sign
            if self.decls[use.name].kind != "least":
                if (use.name, sense) not in seen:
                    seen.add((use.name, sense))
                    self._positively(name, use.name, sense, seen)
            elif sense != 1 and (use.name == name or self._back(use.name, name) is not None):
                if sense == -1:
                    where = "under a negation (`not`, the left of `implies`, the `where` of `forall`)"
                else:
                    where = "where more of it may also count against it (`iff`, `==`, `count`, an `if`)"
                self.found.add(D018, use.span, f"`{name}` is a least definition and uses `{use.name}` {where}")
