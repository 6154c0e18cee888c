"""The local view: an agent's update may read only the work it is about and the neighbours of that work (definition 12).

Checked on what is written. Work in view: parameters of the update, and bound names that a top-level part of `where` relates
to work in view. Reads of the state of other work are told, where they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from icore_dsl.check_formulas import Formulas
from icore_dsl.constants import evaluate, whole
from icore_dsl.mistakes import D016
from icore_dsl.resolve import INTERFACES
from icore_dsl.sorts import Error, ItemSort, Kind
from icore_dsl.syntax import (
    Binary,
    Binder,
    Call,
    Effect,
    Expr,
    For,
    FunctionDecl,
    Index,
    Name,
    Outcome,
    Quant,
    RelationDecl,
    SetField,
    SetOf,
    Span,
    Statement,
    TableBody,
    UpdateDecl,
    Variant,
    View,
    When,
)
from icore_dsl.walk import Key, conjuncts, key, names_in, parts

DECLARED = ("tolerance", "floor")
"""Words of the theory that name what the package declares, not the state."""

ANY = ""
"""The relation of a hop when any relation will do."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is in view: the key of an expression for work, to the fewest hops by relation (`ANY`: mixed)."""

    hops: Mapping[Key, Mapping[str, int]]
    bound: Mapping[str, ItemSort]

    def near(self, at: Key) -> Mapping[str, int] | None:
        return self.hops.get(at)


class Views:
    """Checks reads of updates against their local view."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas
        self.names = formulas.names
        self.found = formulas.found
        self.depths: dict[str, int] = {}
        self.reading: list[tuple[FunctionDecl, Span]] = []
        self.update_name = ""

    def update(self, decl: UpdateDecl) -> None:
        """A free-standing fault is not bound by a view: it says what a bad agent may try, and the audit judges it."""
        if decl.is_fault or decl.actor is None or (isinstance(decl.actor, Name) and decl.actor.id in ("environment", "monitor")):
            return
        views = [statement for statement in decl.body if isinstance(statement, View)]
        if any(view.everything for view in views):
            return
        self.depths = {ANY: 1}
        self.update_name = decl.name
        for view in views:
            depth = None if view.depth is None else whole(evaluate(view.depth, self.names.constants))
            relation = view.relation or ANY
            self.depths[relation] = max(self.depths.get(relation, 1), 1 if depth is None else depth)
        scope = self.names.params(decl, decl.params)
        hops: dict[Key, Mapping[str, int]] = {("Name", name): {ANY: 0, **dict.fromkeys(self.depths, 0)} for name in scope}
        self._block(decl.body, Seen(hops, scope))

    def _block(self, body: tuple[Statement, ...], seen: Seen) -> None:
        for statement in body:
            match statement:
                case When(formula=formula):
                    self._read(formula, seen)
                case SetField(value=value):
                    self._read(value, seen)
                case Effect(values=values):
                    for assign in values:
                        self._read(assign.value, seen)
                case For(binders=binders, where=where, body=inner):
                    bound = self._bound(binders, where, seen)
                    if where is not None:
                        self._read(where, bound)
                    self._block(inner, bound)
                case Outcome(body=inner) | Variant(body=inner):
                    self._block(inner, seen)
                case View():
                    pass

    # ---- what comes into view -----------------------------------------------------------------------------------

    def _bound(self, binders: tuple[Binder, ...], where: Expr | None, seen: Seen) -> Seen:
        """In view of a quantifier: its bound names, as far as `where` relates them to work in view."""
        bound = dict(seen.bound)
        hops = {at: by for at, by in seen.hops.items() if at not in {("Name", binder.name) for binder in binders}}
        for binder in binders:
            bound[binder.name] = self._domain(binder, bound)
            if self._follows(binder.domain, hops):
                hops[("Name", binder.name)] = {ANY: 1}
        return self._related(conjuncts(where), Seen(hops, bound))

    def _domain(self, binder: Binder, bound: Mapping[str, ItemSort]) -> ItemSort:
        domain = binder.domain
        if isinstance(domain, Name) and domain.id not in bound:
            symbol = self.names.symbols.get(domain.id)
            return Error() if symbol is None else symbol.sort
        return Kind("Obligation") if not isinstance(domain, Name) else Error()

    def _follows(self, domain: Expr, hops: Mapping[Key, Mapping[str, int]]) -> bool:
        """A set that is read from work in view: a field of its evidence."""
        return not isinstance(domain, Name) and any(("Name", name) in hops for name in names_in(domain))

    def _related(self, atoms: tuple[Expr, ...], seen: Seen) -> Seen:
        """Adds what relation atoms put beside work in view, hop by hop; of an `or`, what each of its branches puts there."""
        hops = {at: dict(by) for at, by in seen.hops.items()}
        changed = True
        while changed:
            changed = False
            for atom in atoms:
                for end, relation, hop in self._reached(atom, Seen(hops, seen.bound)):
                    if hop < hops.setdefault(end, {}).get(relation, 1 << 20):
                        hops[end][relation] = hop
                        changed = True
        return Seen({at: by for at, by in hops.items() if by}, seen.bound)

    def _reached(self, atom: Expr, seen: Seen) -> list[tuple[Key, str, int]]:
        """What one atom puts in view: the work, the relation it is reached by, and at how many hops."""
        match atom:
            case Binary(op="or", left=left, right=right):
                one, other = (self._related(conjuncts(branch), seen).hops for branch in (left, right))
                return [reach for end in one.keys() & other.keys() for reach in self._either(end, one[end], other[end])]
            case Call(name=name, args=(left, right)) if self._relation(name):
                return [
                    (end, relation, hop + 1)
                    for start, end in ((key(left), key(right)), (key(right), key(left)))
                    for relation, hop in seen.hops.get(start, {}).items()
                    if relation in (ANY, name)
                ]
            case _:
                return []

    def _either(self, end: Key, one: Mapping[str, int], other: Mapping[str, int]) -> list[tuple[Key, str, int]]:
        """What is in view whichever branch holds: along a relation of both at the larger of the hops; else at the edge of the view."""
        both = [(end, relation, max(one[relation], other[relation])) for relation in one.keys() & other.keys()]
        return [*both, (end, ANY, self.depths[ANY])] if self._visible(one) and self._visible(other) else both

    def _visible(self, by: Mapping[str, int]) -> bool:
        return any(relation in self.depths and hop <= self.depths[relation] for relation, hop in by.items())

    def _relation(self, name: str) -> bool:
        symbol = self.names.symbols.get(name)
        return symbol is not None and isinstance(symbol.decl, RelationDecl)

    # ---- what is read -------------------------------------------------------------------------------------------

    def _read(self, expr: Expr, seen: Seen) -> None:
        match expr:
            case Quant(kind=kind, binders=binders, where=where, body=body):
                inner = self._bound(binders, where, seen)
                if kind == "exists":
                    inner = self._related(conjuncts(body), inner)
                for binder in binders:
                    self._read(binder.domain, seen)
                if where is not None:
                    self._read(where, inner)
                if body is not None:
                    self._read(body, inner)
            case SetOf(item=item, binders=binders, where=where):
                inner = self._bound(binders, where, seen)
                if where is not None:
                    self._read(where, inner)
                self._read(item, inner)
            case Binary(op="implies", left=left, right=right):
                self._read(left, self._related(conjuncts(left), seen))
                self._read(right, self._related(conjuncts(left), seen))
            case Binary(op="and"):
                atoms = conjuncts(expr)
                inner = self._related(atoms, seen)
                for atom in atoms:
                    self._read(atom, inner)
            case Call():
                self._call(expr, seen)
            case Name(id=name) if name not in seen.bound:
                self._word(expr, seen)
            case _:
                for part in parts(expr):
                    self._read(part, seen)

    def _word(self, expr: Name, seen: Seen) -> None:
        """A definition without parameters: of the package, looked into; of the theory, about all work."""
        symbol = self.names.symbols.get(expr.id)
        if symbol is None or symbol.kind != "function":
            return
        if not symbol.theory and isinstance(symbol.decl, FunctionDecl):
            self._defined(Call(expr.id, (), expr.span, expr.span), symbol.decl, seen)
        elif symbol.theory and expr.id not in DECLARED:
            span = self.reading[0][1] if self.reading else expr.span
            message = f"`{self.update_name}` reads `{expr.id}`, which looks at all work: that is outside its local view"
            self.found.add(D016, span, message, "write `view global`")

    def _call(self, expr: Call, seen: Seen) -> None:
        symbol = self.names.symbols.get(expr.name)
        if symbol is None or symbol.kind == "relation" or expr.name in INTERFACES or expr.name in ("required", "weight"):
            for arg in expr.args:
                if not self._work(arg, seen):
                    self._read(arg, seen)
            return
        decl = symbol.decl
        if symbol.kind == "function" and not symbol.theory and isinstance(decl, FunctionDecl):
            self._defined(expr, decl, seen)
            return
        for arg in expr.args:
            if self._work(arg, seen):
                self._seen(expr, arg, seen)
            else:
                self._read(arg, seen)

    def _defined(self, expr: Call, decl: FunctionDecl, seen: Seen) -> None:
        """Looks into a definition: what it reads, it reads here."""
        for arg in expr.args:
            if not self._work(arg, seen):
                self._read(arg, seen)
        if isinstance(decl.body, TableBody) or any(inner is decl for inner, _ in self.reading):
            return
        hops: dict[Key, Mapping[str, int]] = {}
        for param, arg in zip(decl.params, expr.args, strict=False):
            by = seen.near(key(arg))
            if by is not None:
                hops[("Name", param.name)] = by
        self.reading.append((decl, expr.span))
        self._read(decl.body, Seen(hops, self.names.params(decl, decl.params)))
        self.reading.pop()

    def _work(self, arg: Expr, seen: Seen) -> bool:
        """Whether an argument is one piece of work by name: a bound name, an obligation, a member of a family."""
        match arg:
            case Name(id=name) if name in seen.bound:
                sort = seen.bound[name]
                return isinstance(sort, Kind) and sort.base == "Obligation"
            case Name(id=name) | Index(name=name):
                return name in self.names.obligations
            case _:
                return False

    def _seen(self, expr: Call, arg: Expr, seen: Seen) -> None:
        by = seen.near(key(arg))
        if isinstance(arg, Index) and by is None and isinstance(arg.index, Name) and ("Name", arg.index.id) in seen.hops:
            return
        if by is not None and self._visible(by):
            return
        said = self.found.text(arg.span)
        if self.reading:
            decl, span = self.reading[0]
            message = f"`{self.update_name}` reads `{self.found.text(expr.span)}` through `{decl.name}`: `{said}` is outside its local view"
        else:
            span = expr.span
            message = f"`{self.update_name}` reads `{self.found.text(expr.span)}`: `{said}` is outside its local view"
        far = by is not None
        hint = (
            "a larger `view depth`, or `view global`, would show it"
            if far
            else "relate it to a parameter in `where`, or write `view global`"
        )
        self.found.add(D016, span, message, hint)
