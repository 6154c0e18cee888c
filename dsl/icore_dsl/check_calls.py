"""Calls, fields and members of families: what a name may be applied to, and what comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from icore_dsl.constants import evaluate, shown_value
from icore_dsl.found import Found, counted, listed, near
from icore_dsl.mistakes import R002, R005, R026, S001, S002, S009, S012, S016, S017, S021, Code
from icore_dsl.resolve import Names, Scope, Signature, Symbol, inside
from icore_dsl.sorts import (
    AGENT,
    ERROR,
    INT,
    MARKERS,
    RATIONAL,
    STATUSES,
    ItemSort,
    Kind,
    Maybe,
    Number,
    Plain,
    SetSort,
    accepts,
    bare,
    named,
    numeric,
    shown,
)
from icore_dsl.syntax import Attr, Call, Expr, FunctionDecl, Index, Name, RelationDecl, Span, TableBody
from icore_dsl.walk import walk


class Calls(ABC):
    """The part of `Formulas` that applies names. `infer` and `unknown` are supplied there."""

    def __init__(self, names: Names, found: Found) -> None:
        self.names = names
        self.found = found
        self._inferring: set[int] = set()

    @abstractmethod
    def infer(self, expr: Expr, scope: Scope) -> ItemSort:
        """The sort of an expression in a scope."""

    @abstractmethod
    def unknown(self, name: str, expr: Name | Call, code: Code, scope: Scope) -> None:
        """Reports a name that is not visible."""

    # ---- calls --------------------------------------------------------------------------------------------------

    def call(self, expr: Call, scope: Scope) -> ItemSort:
        sorts = [self.infer(arg, scope) for arg in expr.args]
        if expr.name in ("max", "min", "sum", "count"):
            return self._extreme(expr, sorts)
        if expr.name in scope:
            self.found.add(S001, expr.name_span, f"`{expr.name}` is bound here and takes no arguments")
            return ERROR
        symbol = self.names.symbols.get(expr.name)
        if symbol is None:
            self.unknown(expr.name, expr, R002, scope)
            return ERROR
        if symbol.kind == "family":
            self.found.add(S021, expr.span, f"`{expr.name}` is a family of obligations", f"write {expr.name}[…]")
            return ERROR
        if not symbol.signatures:
            if symbol.kind not in ("function", "signature", "input", "artifact", "certificate", "relation"):
                self.found.add(S001, expr.name_span, f"`{expr.name}` is {symbol.word} and takes no arguments")
            return ERROR
        return self._applied(expr, symbol, sorts)

    def _applied(self, expr: Call, symbol: Symbol, sorts: list[ItemSort]) -> ItemSort:
        fitting = [one for one in symbol.signatures if len(one.params) == len(sorts)]
        if not fitting:
            given = "none is given" if not sorts else f"{len(sorts)} {'is' if len(sorts) == 1 else 'are'} given"
            self.found.add(S001, expr.span, f"`{expr.name}` takes {self.arity(symbol)}, {given}", self.usage(symbol))
            return ERROR
        exact = [one for one in fitting if all(accepts(want, have) for (_, want), have in zip(one.params, sorts, strict=True))]
        if exact:
            self._bounds(expr, exact[0])
            results = [self.result(one) for one in exact]
            return results[0] if len(exact) == 1 or ERROR not in sorts else ERROR if any(r != results[0] for r in results) else results[0]
        self._argument(expr, fitting, sorts)
        results = [self.result(one) for one in fitting]
        return results[0] if all(result == results[0] for result in results) else ERROR

    def _argument(self, expr: Call, fitting: list[Signature], sorts: list[ItemSort]) -> None:
        """Tells which argument does not fit: the first that no way of calling the name accepts."""
        for place, (arg, have) in enumerate(zip(expr.args, sorts, strict=True)):
            wants = [one.params[place][1] for one in fitting]
            if any(accepts(want, have) for want in wants):
                continue
            said = " or ".join(dict.fromkeys(shown(want) for want in wants))
            if isinstance(have, Maybe) and any(accepts(want, have.item) for want in wants):
                self.found.add(S016, arg.span, f"`{expr.name}` takes {said} here, and `{self.found.text(arg.span)}` may be none")
            else:
                hint = self.choices(wants[0]) if len(wants) == 1 else ""
                self.found.add(S002, arg.span, f"`{expr.name}` takes {said} here, not {shown(have)} (`{self.found.text(arg.span)}`)", hint)
            if len(fitting) > 1:
                return

    def _bounds(self, expr: Call, signature: Signature) -> None:
        """A constant index of a family of inputs, artifacts or certificates outside its range."""
        for arg, (name, want) in zip(expr.args, signature.params, strict=True):
            value = evaluate(arg, self.names.constants)
            if not isinstance(value, bool | str | frozenset) and value is not None and not inside(value, want):
                self.found.add(R026, arg.span, f"`{expr.name}` has no member {shown_value(value)}: `{name}` is {shown_range(want)}")

    def _extreme(self, expr: Call, sorts: list[ItemSort]) -> ItemSort:
        if expr.name in ("sum", "count"):
            self.found.add(S001, expr.span, f"`{expr.name}` runs over a domain: `{expr.name}(x in S{': …' if expr.name == 'sum' else ''})`")
            return ERROR
        for arg, sort in zip(expr.args, sorts, strict=True):
            if not numeric(sort):
                self.found.add(S002, arg.span, f"`{expr.name}` takes numbers, this is {shown(sort)}")
        return ERROR if ERROR in sorts else RATIONAL if any(isinstance(sort, Number) for sort in sorts) else INT

    def arity(self, symbol: Symbol) -> str:
        counts = sorted({len(one.params) for one in symbol.signatures})
        if counts == [0]:
            return "no arguments"
        return " or ".join(map(str, counts[:-1])) + (" or " if counts[:-1] else "") + counted(counts[-1], "argument")

    def usage(self, symbol: Symbol) -> str:
        """How it is called: `write status(w: Obligation)`."""
        first = symbol.signatures[0]
        if isinstance(first.decl, RelationDecl):
            return f"write {symbol.name}(…, …)"
        return f"write {symbol.name}({', '.join(name for name, _ in first.params)})" if first.params else f"write {symbol.name}"

    def result(self, signature: Signature) -> ItemSort:
        """The result of a way to call a name; inferred from the body of a definition that does not say it."""
        if signature.result is None:
            decl = signature.decl
            if not isinstance(decl, FunctionDecl) or id(decl) in self._inferring:
                return ERROR
            if isinstance(decl.body, TableBody):
                signature.result = RATIONAL
                return RATIONAL
            self._inferring.add(id(decl))
            signature.result = self.infer(decl.body, self.names.params(decl, decl.params))
            self._inferring.discard(id(decl))
        return signature.result

    # ---- fields -------------------------------------------------------------------------------------------------

    def attribute(self, expr: Attr, scope: Scope, writing: bool = False) -> ItemSort:
        owner = self.infer(expr.target, scope)
        span = self.found.word(_after(expr), expr.name)
        if owner == ERROR:
            return ERROR
        if isinstance(owner, Maybe):
            self.found.add(
                S016, expr.target.span, f"`{self.found.text(expr.target.span)}` may be none, and none has no field `{expr.name}`"
            )
            return ERROR
        match owner:
            case Plain("Agent"):
                table = self.names.fields.get(("Agent", ""), {})
            case Kind("Obligation", of):
                return self._static(expr, of)
            case Kind(base, of):
                table = self.names.fields.get((base, of or ""), {})
            case _:
                self.found.add(S017, expr.target.span, f"`{self.found.text(expr.target.span)}` is {shown(owner)}, which has no fields")
                return ERROR
        field = table.get(expr.name)
        if field is None:
            what = f"`{self.found.text(expr.target.span)}` has no field `{expr.name}`"
            self.found.add(R005, span, what, near(expr.name, table))
            return ERROR
        if field.inessential and not writing:
            self.found.add(S012, span, f"`{expr.name}` is inessential: it may be written, but no formula reads it")
            return ERROR
        return self.names.sort(field.sort)

    def _static(self, expr: Attr, of: str | None) -> ItemSort:
        span = self.found.word(_after(expr), expr.name)
        types = [of] if of is not None else [owner for base, owner in self.names.fields if base == "Obligation"]
        fields = [self.names.field("Obligation", owner, expr.name) for owner in types]
        if types and all(field is not None and field.kind == "static" for field in fields):
            sorts = [self.names.sort(field.sort) for field in fields if field is not None]
            return sorts[0] if all(sort == sorts[0] for sort in sorts) else ERROR
        if expr.name == "weight":
            return RATIONAL
        said = self.found.text(expr.target.span)
        symbol = self.names.symbols.get(expr.name)
        if symbol is not None and symbol.kind in ("signature", "function") and self.names.symbols.get("status") is not None:
            self.found.add(R005, span, f"`{said}` has no fixed field `{expr.name}`", f"write {expr.name}({said})")
        else:
            known = {
                name
                for owner in types
                for name, field in self.names.fields.get(("Obligation", owner), {}).items()
                if field.kind == "static"
            }
            where = f"work of type {of}" if of is not None else "every obligation"
            self.found.add(R005, span, f"{where} has no fixed field `{expr.name}`", near(expr.name, known | {"weight"}))
        return ERROR

    def index(self, expr: Index, scope: Scope) -> ItemSort:
        at = self.infer(expr.index, scope)
        symbol = None if expr.name in scope else self.names.symbols.get(expr.name)
        span = self.found.word(expr.span, expr.name)
        if symbol is None and expr.name not in scope:
            self.found.add(R002, span, f"there is no family `{expr.name}`", near(expr.name, self.names.those("family")))
            return ERROR
        decl = None if symbol is None or symbol.kind != "family" else self.names.obligations.get(expr.name)
        if symbol is None or decl is None or decl.index is None:
            hint = f"write {expr.name}(…)" if symbol is not None and symbol.signatures else near(expr.name, self.names.those("family"))
            self.found.add(S021, expr.span, f"`{expr.name}` is no family of obligations", hint)
            return ERROR
        want = self.names.sort(decl.index.sort)
        if not accepts(want, at):
            self.found.add(
                S002, expr.index.span, f"members of `{expr.name}` are chosen by {shown(want)}, not {shown(at)}", self.choices(want)
            )
        value = evaluate(expr.index, self.names.constants)
        if value is not None and not isinstance(value, bool | str | frozenset) and not inside(value, want):
            self.found.add(R026, expr.index.span, f"`{expr.name}` has no member {shown_value(value)}: its index is {shown_range(want)}")
        return symbol.sort

    # ---- what may stand here ------------------------------------------------------------------------------------

    def choices(self, sort: ItemSort) -> str:
        """The values of a small sort, as a hint."""
        match bare(sort):
            case Plain("Status"):
                return f"one of {listed(STATUSES)}"
            case Plain("Marker"):
                return f"one of {listed(MARKERS)}"
            case Plain("Agent"):
                known = self.names.those("agent")
            case Plain(name):
                known = self.names.enumeration(name) or []
            case SetSort(item):
                return self.choices(item)
            case Kind("Obligation", of):
                known = self.names.work(of)
            case _:
                known = []
        return f"one of {listed(known)}" if 0 < len(known) <= 8 else ""

    def fixed(self, expr: Expr, scope: Scope, what: str) -> bool:
        """Whether an expression does not depend on the state; reports the first part that does."""
        for part in walk(expr):
            if isinstance(part, Name | Call):
                name = part.id if isinstance(part, Name) else part.name
                symbol = None if name in scope else self.names.symbols.get(name)
                if symbol is not None and self._moves(symbol):
                    self.found.add(
                        S009, part.span, f"{what} must be known beforehand, and `{self.found.text(part.span)}` depends on the state"
                    )
                    return False
            elif isinstance(part, Attr) and self._changing(part, scope):
                self.found.add(S009, part.span, f"{what} must be known beforehand, and `{self.found.text(part.span)}` may change")
                return False
        return True

    def _changing(self, expr: Attr, scope: Scope) -> bool:
        field = self.names.field("Agent", "", expr.name)
        target = expr.target
        sort = scope.get(target.id) if isinstance(target, Name) else None
        agent = sort == AGENT or (isinstance(target, Name) and target.id in self.names.those("agent"))
        return agent and field is not None and field.kind == "changing"

    def _moves(self, symbol: Symbol) -> bool:
        if symbol.kind == "relation":
            return isinstance(symbol.decl, RelationDecl) and symbol.decl.changing
        if symbol.kind == "function":
            if symbol.name in ("weight", "required", "feasible", "value", "truth"):
                return False
            decl = symbol.decl
            if not symbol.theory and isinstance(decl, FunctionDecl):
                return self._body_moves(decl)
            return True
        return symbol.kind in ("signature", "input", "artifact", "certificate", "clock")

    def _body_moves(self, decl: FunctionDecl) -> bool:
        if isinstance(decl.body, TableBody) or id(decl) in self._inferring:
            return False
        self._inferring.add(id(decl))
        try:
            for part in walk(decl.body):
                if isinstance(part, Name | Call):
                    symbol = self.names.symbols.get(part.id if isinstance(part, Name) else part.name)
                    if symbol is not None and self._moves(symbol):
                        return True
            return False
        finally:
            self._inferring.discard(id(decl))


def shown_range(sort: ItemSort) -> str:
    return named(bare(sort))


def _after(expr: Attr) -> Span:
    """What follows the target: the dot and the name of the field."""
    span, target = expr.span, expr.target.span
    return Span(span.file, target.end, span.end, target.end_line, target.end_column, span.end_line, span.end_column)
