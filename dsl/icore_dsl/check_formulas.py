"""The sorts of expressions: unknown names, wrong arguments and wrong operands, each told once."""

from __future__ import annotations

from fractions import Fraction

from icore_dsl.check_calls import Calls
from icore_dsl.constants import evaluate
from icore_dsl.found import near
from icore_dsl.mistakes import (
    D001,
    D002,
    D003,
    D029,
    R001,
    R006,
    R024,
    S001,
    S002,
    S003,
    S004,
    S005,
    S006,
    S007,
    S013,
    S015,
    S016,
    S021,
    S024,
    Code,
)
from icore_dsl.resolve import HIDDEN_SORTS, Scope
from icore_dsl.sorts import (
    BOOL,
    ERROR,
    INT,
    NOTHING,
    RATIONAL,
    ItemSort,
    Maybe,
    Nothing,
    SetSort,
    Whole,
    accepts,
    bare,
    comparable,
    joined,
    numeric,
    shown,
)
from icore_dsl.syntax import (
    Attr,
    Binary,
    Binder,
    BoolLit,
    Call,
    Closure,
    Expr,
    If,
    Index,
    Name,
    NoneLit,
    Num,
    Quant,
    RangeLit,
    SetLit,
    SetOf,
    Unary,
)
from icore_dsl.walk import key

JOINING = ("and", "or", "implies", "iff")
ORDER = ("<", "<=", ">", ">=")


class Formulas(Calls):
    """Infers sorts against `Names`. Every method may add mistakes; `ERROR` comes back where one was found."""

    # ---- what is wanted -----------------------------------------------------------------------------------------

    def condition(self, expr: Expr, scope: Scope, what: str) -> None:
        """A formula that must be true or false: a guard, an invariant, a `where`."""
        sort = self.infer(expr, scope)
        if not accepts(BOOL, sort):
            self.found.add(S005, expr.span, f"{what} must be true or false, this is {shown(sort)}", self.found.commented(expr.span))

    def value(self, expr: Expr, scope: Scope, want: ItemSort, what: str) -> ItemSort:
        """A value for something of sort `want`: a field, a default, a parameter of a run."""
        sort = self.infer(expr, scope)
        if not accepts(want, sort):
            if isinstance(sort, Maybe) and accepts(want, sort.item):
                self.found.add(S016, expr.span, f"{what} wants {shown(want)}, and `{self.found.text(expr.span)}` may be none")
            else:
                hint = self.choices(want)
                self.found.add(S007, expr.span, f"{what} wants {shown(want)}, not {shown(sort)} (`{self.found.text(expr.span)}`)", hint)
            return ERROR
        return sort

    # ---- the walk -----------------------------------------------------------------------------------------------

    def infer(self, expr: Expr, scope: Scope) -> ItemSort:
        """The sort of an expression in a scope."""
        match expr:
            case Num(value=value, whole=is_whole):
                return Whole(int(value), int(value)) if is_whole else RATIONAL
            case BoolLit():
                return BOOL
            case NoneLit():
                return NOTHING
            case Name():
                return self._name(expr, scope)
            case Index():
                return self.index(expr, scope)
            case Attr():
                return self.attribute(expr, scope)
            case Call():
                return self.call(expr, scope)
            case Unary(op=op, operand=operand):
                if op == "not":
                    self._truth(operand, scope, op)
                    return BOOL
                sort = self._number(operand, scope, op)
                if isinstance(sort, Whole):
                    return Whole(None if sort.high is None else -sort.high, None if sort.low is None else -sort.low)
                return sort
            case Binary():
                return self._binary(expr, scope)
            case SetLit(items=items):
                return SetSort(self._members(items, scope))
            case RangeLit(low=low, high=high):
                self._range(low, high, expr, scope)
                return SetSort(INT)
            case SetOf(item=item, binders=binders, where=where):
                inner = self.bind(binders, where, scope)
                return SetSort(self.infer(item, inner))
            case If(condition=condition, then=then, otherwise=otherwise):
                self.condition(condition, scope, "the condition of an `if`")
                left, right = self.infer(then, scope), self.infer(otherwise, scope)
                both = joined(left, right)
                if both is None:
                    self.found.add(S015, otherwise.span, f"one branch is {shown(left)}, the other {shown(right)}")
                return ERROR if both is None else both
            case Quant():
                return self._quantified(expr, scope)
            case Closure():
                return self._closure(expr, scope)

    def _name(self, expr: Name, scope: Scope) -> ItemSort:
        if expr.id in scope:
            return scope[expr.id]
        symbol = self.names.symbols.get(expr.id)
        if symbol is None:
            self.unknown(expr.id, expr, R001, scope)
            return ERROR
        match symbol.kind:
            case "sort":
                self.found.add(S013, expr.span, f"`{expr.id}` is a sort, not a value", f"say which: `x in {expr.id}`")
                return ERROR
            case "family":
                self.found.add(S021, expr.span, f"`{expr.id}` is a family of obligations", f"choose a member, as {expr.id}[1]")
                return ERROR
            case "function" | "signature" | "input" | "artifact" | "certificate" | "relation":
                if symbol.signatures and all(signature.params for signature in symbol.signatures):
                    self.found.add(S001, expr.span, f"`{expr.id}` takes {self.arity(symbol)}, none is given", self.usage(symbol))
                    return ERROR
                return self.result(symbol.signatures[0]) if symbol.signatures else symbol.sort
            case _:
                return symbol.sort

    def unknown(self, name: str, expr: Name | Call, code: Code, scope: Scope) -> None:
        """An unknown name in a formula: the theory's own, or none at all."""
        call = isinstance(expr, Call)
        span = expr.name_span if isinstance(expr, Call) else expr.span
        if name in self.names.private:
            self.found.add(R024, span, f"`{name}` belongs to the theory, which does not export it")
            return
        kinds = ("function", "signature", "input", "artifact", "certificate", "relation")
        others = ("member", "agent", "status", "marker", "obligation", "clock", "parameter", "function", "input", "artifact", "certificate")
        choices = [*self.names.those(*(kinds if call else others)), *([] if call else scope)]
        what = "nothing is called" if not call else "nothing that takes arguments is called"
        self.found.add(code, span, f"{what} `{name}`", near(name, choices, 6))

    # ---- operators ----------------------------------------------------------------------------------------------

    def _truth(self, expr: Expr, scope: Scope, op: str) -> None:
        sort = self.infer(expr, scope)
        if not accepts(BOOL, sort):
            self.found.add(S003, expr.span, f"`{op}` takes what is true or false, this is {shown(sort)}", self.found.commented(expr.span))

    def _number(self, expr: Expr, scope: Scope, op: str) -> ItemSort:
        sort = self.infer(expr, scope)
        if numeric(sort):
            return sort
        if isinstance(sort, Maybe) and numeric(sort.item):
            said = self.found.text(expr.span)
            hint = f"compare with ==, or write `exists x in … where {said} == x: …`"
            self.found.add(S006, expr.span, f"`{said}` may be none, and `{op}` takes numbers", hint)
        else:
            self.found.add(S003, expr.span, f"`{op}` takes numbers, this is {shown(sort)}")
        return ERROR

    def _binary(self, expr: Binary, scope: Scope) -> ItemSort:
        op, left, right = expr.op, expr.left, expr.right
        if op in JOINING:
            self._truth(left, scope, op)
            self._truth(right, scope, op)
            return BOOL
        if op in ("==", "!="):
            self._equal(expr, self.infer(left, scope), self.infer(right, scope))
            return BOOL
        if op in ("in", "not_in"):
            self._element(expr, scope)
            return BOOL
        one, other = self._number(left, scope, op), self._number(right, scope, op)
        if op in ORDER:
            return BOOL
        if op in ("/", "div", "mod") and evaluate(right, self.names.constants) == Fraction(0):
            self.found.add(D029, right.span, f"the divisor of `{op}` is zero")
            return ERROR
        return self._arithmetic(op, expr, one, other)

    def _arithmetic(self, op: str, expr: Binary, one: ItemSort, other: ItemSort) -> ItemSort:
        if op in ("div", "mod"):
            for part, sort in ((expr.left, one), (expr.right, other)):
                if not isinstance(sort, Whole) and sort != ERROR:
                    self.found.add(S003, part.span, f"`{op}` takes whole numbers, `{self.found.text(part.span)}` is {shown(sort)}")
                    return ERROR
            return INT
        if ERROR in (one, other):
            return ERROR
        return INT if op != "/" and isinstance(one, Whole) and isinstance(other, Whole) else RATIONAL

    def _equal(self, expr: Binary, one: ItemSort, other: ItemSort) -> None:
        if comparable(one, other):
            return
        left, right = self.found.text(expr.left.span), self.found.text(expr.right.span)
        if isinstance(one, Nothing) or isinstance(other, Nothing):
            name = right if isinstance(one, Nothing) else left
            self.found.add(S004, expr.span, f"`{name}` is never none")
        else:
            hint = self.choices(bare(one)) if isinstance(expr.right, Name) else ""
            self.found.add(S004, expr.span, f"`{left}` is {shown(one)} and `{right}` is {shown(other)}: they are never equal", hint)

    def _element(self, expr: Binary, scope: Scope) -> None:
        if isinstance(expr.right, RangeLit):
            self._number(expr.left, scope, expr.op.replace("_", " "))
            self._range(expr.right.low, expr.right.high, expr.right, scope)
            return
        one, other = self.infer(expr.left, scope), self.infer(expr.right, scope)
        if other == ERROR:
            return
        if not isinstance(other, SetSort):
            self.found.add(S003, expr.right.span, f"`in` takes a set or a range on its right, this is {shown(other)}")
        elif not comparable(one, other.item):
            left = self.found.text(expr.left.span)
            hint = self.choices(bare(one))
            self.found.add(S004, expr.span, f"`{left}` is {shown(one)}, never a member of {shown(other)}", hint)

    def _range(self, low: Expr, high: Expr, expr: RangeLit, scope: Scope) -> None:
        self._number(low, scope, "..")
        self._number(high, scope, "..")
        if isinstance(low, Num) and isinstance(high, Num) and low.value > high.value:
            self.found.add(D001, expr.span, f"the range {low.text}..{high.text} is empty", f"write {high.text}..{low.text}")

    def _members(self, items: tuple[Expr, ...], scope: Scope) -> ItemSort:
        sort: ItemSort = ERROR
        seen: set[object] = set()
        for item in items:
            mine = self.infer(item, scope)
            both = joined(sort, mine)
            if both is None:
                self.found.add(S015, item.span, f"this is {shown(mine)}, the members before it are {shown(sort)}")
            else:
                sort = both
            if isinstance(item, Num | Name):
                if key(item) in seen:
                    self.found.add(D003, item.span, f"`{self.found.text(item.span)}` is in the set already")
                seen.add(key(item))
        return sort

    # ---- bound names --------------------------------------------------------------------------------------------

    def bind(self, binders: tuple[Binder, ...], where: Expr | None, scope: Scope) -> dict[str, ItemSort]:
        """The scope inside a quantifier, a `for` or a comprehension; checks domains and `where`."""
        inner = dict(scope)
        for binder in binders:
            sort = self.domain(binder.domain, inner)
            self.names.bind(binder.name, self.found.word(binder.span, binder.name), inner, "a bound name")
            inner[binder.name] = sort
        if where is not None:
            self.condition(where, inner, "`where`")
        return inner

    def domain(self, expr: Expr, scope: Scope) -> ItemSort:
        """What a bound name ranges over: a sort, a range, or the members of a set."""
        if isinstance(expr, Name) and expr.id not in scope:
            symbol = self.names.symbols.get(expr.id)
            if symbol is not None and symbol.kind == "sort":
                if expr.id in ("int", "rational", "text"):
                    self.found.add(S013, expr.span, f"`{expr.id}` has no end to range over", "write a range, as 1..3")
                return symbol.sort
            if symbol is None and expr.id in HIDDEN_SORTS:
                self.found.add(R024, expr.span, f"only the theory speaks of the sort `{expr.id}`")
                return ERROR
            if symbol is None:
                hint = near(expr.id, self.names.those("sort"), 14)
                self.found.add(R001, expr.span, f"there is no sort and no set `{expr.id}`", hint)
                return ERROR
        if isinstance(expr, RangeLit):
            self._range(expr.low, expr.high, expr, scope)
            self.fixed(expr, scope, "the ends of a range that a name runs over")
            low, high = (evaluate(end, self.names.constants) for end in (expr.low, expr.high))
            return Whole(int(low), int(high)) if isinstance(low, Fraction) and isinstance(high, Fraction) else INT
        if isinstance(expr, SetLit) and not expr.items:
            self.found.add(D002, expr.span, "there is nothing in this set to range over")
        sort = self.infer(expr, scope)
        if sort == ERROR:
            return ERROR
        if isinstance(sort, SetSort):
            return sort.item
        self.found.add(S013, expr.span, f"a name ranges over a sort, a range or a set; `{self.found.text(expr.span)}` is {shown(sort)}")
        return ERROR

    def _quantified(self, expr: Quant, scope: Scope) -> ItemSort:
        inner = self.bind(expr.binders, expr.where, scope)
        if expr.kind == "count" and expr.body is not None:
            self.found.add(S024, expr.body.span, "`count` counts, and says nothing of what it counts", "say after `where` which ones count")
        elif expr.kind in ("forall", "sum", "max", "min") and expr.body is None:
            names = " and ".join(f"`{binder.name}`" for binder in expr.binders)
            self.found.add(S024, expr.span, f"`{expr.kind}` says nothing of {names}", "say it after a colon")
        if expr.kind in ("forall", "exists"):
            if expr.body is not None:
                self.condition(expr.body, inner, f"what `{expr.kind}` says")
            return BOOL
        if expr.kind == "count" or expr.body is None:
            return Whole(0, None)
        sort = self._number(expr.body, inner, expr.kind)
        return INT if isinstance(sort, Whole) else sort

    def _closure(self, expr: Closure, scope: Scope) -> ItemSort:
        symbol = self.names.symbols.get(expr.relation)
        left, right = self.infer(expr.left, scope), self.infer(expr.right, scope)
        pairs = [] if symbol is None else [one for one in symbol.signatures if len(one.params) == 2 and accepts(BOOL, self.result(one))]
        if symbol is None or symbol.kind not in ("relation", "function") or not pairs:
            span = self.found.word(expr.span, expr.relation)
            what = "there is no relation" if symbol is None else "neither a relation nor a definition of two arguments:"
            self.found.add(R006, span, f"{what} `{expr.relation}`", near(expr.relation, self.names.those("relation")))
            return BOOL
        for part, sort, (_, want) in zip((expr.left, expr.right), (left, right), pairs[0].params, strict=True):
            if not accepts(want, sort):
                self.found.add(S002, part.span, f"`{expr.relation}` takes {shown(want)} here, this is {shown(sort)}")
        return BOOL
