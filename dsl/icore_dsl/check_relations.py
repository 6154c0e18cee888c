"""Relations: their facts, cycles where none may be, and required roots that wait for other work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from icore_dsl.check_formulas import Formulas
from icore_dsl.constants import Value, evaluate, member, whole
from icore_dsl.found import listed, near
from icore_dsl.mistakes import D005, D006, R006, R015, R022, S002, S010, S022
from icore_dsl.namespace import between
from icore_dsl.resolve import Names, Scope
from icore_dsl.sorts import ERROR, ItemSort, Kind, Maybe, Plain, SetSort, Whole, accepts, shown
from icore_dsl.syntax import (
    Binder,
    Chain,
    Expr,
    FactsDecl,
    Module,
    Name,
    RangeLit,
    RelationDecl,
    SetLit,
    SetOf,
    Span,
)

CONTRIBUTIONS = ("obligation", "coverage", "support", "aggregation", "refinement", "contradiction")
MANY = 20_000
"""More pairs than this are not enumerated: cycles among them are left to grounding."""


@dataclass(frozen=True, slots=True)
class Fact:
    left: str
    right: str
    span: Span


class Relations:
    """Checks of `relation` and of its facts."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas
        self.names = formulas.names
        self.found = formulas.found

    def relation(self, decl: RelationDecl) -> None:
        sorts = [self.names.sort(side) for side in (decl.left, decl.right)]
        for side, sort in zip((decl.left, decl.right), sorts, strict=True):
            if not isinstance(sort, Kind | Plain | Whole) and sort != ERROR:
                self.found.add(S010, side.span, f"a relation holds between agents, obligations or values, not {shown(sort)}")
        seen: set[str] = set()
        for word in decl.contributes:
            if word.id not in CONTRIBUTIONS:
                hint = near(word.id, CONTRIBUTIONS)
                self.found.add(R015, word.span, f"a relation contributes no `{word.id}`", hint)
            elif word.id in seen:
                self.found.add(R022, word.span, f"`{word.id}` is named already")
            seen.add(word.id)
        if decl.contributes and any(sort != ERROR and not (isinstance(sort, Kind) and sort.base == "Obligation") for sort in sorts):
            self.found.add(
                S022, decl.contributes[0].span, f"`{decl.name}` is not a relation between obligations, so it contributes nothing"
            )

    def facts(self, decl: FactsDecl) -> None:
        symbol = self.names.symbols.get(decl.relation)
        span = self.found.word(decl.span, decl.relation)
        if symbol is None or symbol.kind != "relation":
            what = f"there is no relation `{decl.relation}`" if symbol is None else f"`{decl.relation}` is {symbol.word}, not a relation"
            self.found.add(R006, span, what, near(decl.relation, self.names.those("relation")))
        sides = symbol.signatures[0].params if symbol is not None and symbol.kind == "relation" and symbol.signatures else None
        for chain in decl.chains:
            scope = self.formulas.bind(chain.binders, chain.where, {})
            for place, link in enumerate(chain.links):
                sort = self._link(link, scope)
                if sides is None:
                    continue
                if place + 1 < len(chain.links):
                    self._side(link, sort, sides[0][1], decl.relation, "left")
                if place > 0:
                    self._side(link, sort, sides[1][1], decl.relation, "right")

    def _link(self, link: Expr, scope: Scope) -> ItemSort:
        sort = self.formulas.infer(link, scope)
        self.formulas.fixed(link, scope, "what a fact relates")
        return sort.item if isinstance(sort, SetSort) else sort

    def _side(self, link: Expr, sort: ItemSort, want: ItemSort, relation: str, side: str) -> None:
        if not accepts(want, sort):
            what = "may be none" if isinstance(sort, Maybe) else f"is {shown(sort)}"
            self.found.add(S002, link.span, f"`{relation}` has {shown(want)} on its {side}, `{self.found.text(link.span)}` {what}")

    # ---- cycles and roots ---------------------------------------------------------------------------------------

    def graph(self, modules: tuple[Module, ...]) -> None:
        """Cycles and required roots with predecessors, over the facts of the fixed relations that contribute."""
        facts: dict[str, list[Fact]] = {word: [] for word in CONTRIBUTIONS}
        for module in modules:
            for decl in module.decls:
                if isinstance(decl, FactsDecl):
                    symbol = self.names.symbols.get(decl.relation)
                    if symbol is not None and isinstance(symbol.decl, RelationDecl) and not symbol.decl.changing:
                        pairs = [fact for chain in decl.chains for fact in Pairs(self.names).of(chain)]
                        for word in symbol.decl.contributes:
                            if word.id in facts:
                                facts[word.id].extend(pairs)
        for contribution, together in facts.items():
            if contribution != "contradiction":
                self._cycle(contribution, together)
        self._roots(facts["obligation"])

    def _cycle(self, word: str, facts: list[Fact]) -> None:
        """Reports the first fact (in the order written) that closes a cycle. Work covers itself anyway, so that is no cycle."""
        after: dict[str, list[Fact]] = {}
        for fact in facts:
            if word == "coverage" and fact.left == fact.right:
                continue
            path = _path(after, fact.right, fact.left)
            if path is not None:
                said = " -> ".join([fact.left, *path])
                self.found.add(D006, fact.span, f"relations that contribute {word} go in a circle: {said}")
                return
            after.setdefault(fact.left, []).append(fact)

    def _roots(self, facts: list[Fact]) -> None:
        for fact in facts:
            decl = self.names.obligations.get(fact.right.split("[")[0])
            if decl is not None and decl.required:
                message = f"`{fact.right}` is a required root, but `{fact.left}` comes before it in a relation that contributes obligation"
                self.found.add(D005, fact.span, message, f"drop `required`, or let the relation contribute {listed(['support'])}")
                return


def _path(after: Mapping[str, list[Fact]], start: str, goal: str) -> list[str] | None:
    """The names on a shortest path from `start` to `goal`, both included; None when there is none."""
    came: dict[str, str | None] = {start: None}
    queue = [start]
    for node in queue:
        if node == goal:
            path: list[str] = []
            at: str | None = node
            while at is not None:
                path.append(at)
                at = came[at]
            return path[::-1]
        for fact in after.get(node, ()):
            if fact.right not in came:
                came[fact.right] = node
                queue.append(fact.right)
    return None


class Pairs:
    """The pairs that a chain states, where all of it is known beforehand; what is not known yields none."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.room = MANY

    def of(self, chain: Chain) -> Iterator[Fact]:
        for env in self._bindings(chain.binders, chain.where, self.names.constants):
            links = [self._elements(link, env) for link in chain.links]
            for place in range(len(links) - 1):
                for left in links[place]:
                    for right in links[place + 1]:
                        self.room -= 1
                        if self.room < 0:
                            return
                        yield Fact(left, right, between(chain.links[place].span, chain.links[place + 1].span))

    def _bindings(self, binders: tuple[Binder, ...], where: Expr | None, env: Mapping[str, Value]) -> Iterator[Mapping[str, Value]]:
        if not binders:
            if where is None or evaluate(where, env, self._field) is True:
                yield env
            return
        for value in self._domain(binders[0].domain, env):
            yield from self._bindings(binders[1:], where, {**env, binders[0].name: value})

    def _domain(self, expr: Expr, env: Mapping[str, Value]) -> list[Value]:
        if isinstance(expr, RangeLit):
            low, high = whole(evaluate(expr.low, env)), whole(evaluate(expr.high, env))
            return [] if low is None or high is None else [Fraction(n) for n in range(low, min(high, low + MANY) + 1)]
        if isinstance(expr, Name) and expr.id not in env:
            symbol = self.names.symbols.get(expr.id)
            if symbol is not None and symbol.kind == "sort":
                return self._all(symbol.sort)
        value = evaluate(expr, env, self._field)
        return [item for item in value if isinstance(item, Value)] if isinstance(value, frozenset) else []

    def _all(self, sort: ItemSort) -> list[Value]:
        match sort:
            case Plain("Agent"):
                return list(self.names.those("agent"))
            case Plain(name):
                return list(self.names.enumeration(name) or ())
            case Whole(low, high):
                return [] if low is None or high is None else [Fraction(n) for n in range(low, min(high, low + MANY) + 1)]
            case Kind("Obligation", of):
                found: list[Value] = []
                for name, item in self.names.obligations.items():
                    if of in (None, item.type):
                        found += [name] if item.index is None else [member(name, at) for at in self._all(self.names.sort(item.index.sort))]
                return found
            case _:
                return []

    def _elements(self, link: Expr, env: Mapping[str, Value]) -> list[str]:
        if isinstance(link, SetLit):
            return [name for item in link.items for name in self._elements(item, env)]
        if isinstance(link, SetOf):
            return [name for inner in self._bindings(link.binders, link.where, env) for name in self._elements(link.item, inner)]
        value = evaluate(link, env, self._field)
        return [value] if isinstance(value, str) else []

    def _field(self, owner: str, name: str) -> Value | None:
        """A fixed field of an obligation or an agent, where it is written or has a default."""
        decl = self.names.obligations.get(owner)
        if decl is None or decl.index is not None:
            return None
        for assign in decl.values:
            if assign.name == name:
                return evaluate(assign.value, self.names.constants)
        field = self.names.field("Obligation", decl.type, name)
        return None if field is None or field.default is None else evaluate(field.default, self.names.constants)
