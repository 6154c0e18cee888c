"""Builds the trees while the automaton reduces: one method for each rule of the grammar, named like the rule or its alias.

Nothing here recurses over trees. Expressions travel as drafts that know their depth; long flat chains of `and`, `or`, `+` and `*` become
balanced trees, so that their depth is the logarithm of their length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from icore_dsl import syntax as s
from icore_dsl.mistakes import P004, P013, Code, Mistake
from icore_dsl.source import MAX_DEPTH, Lines

FLAT = 8
"""Chains of more operands than this become balanced trees."""

CHAINED = {"and": "and", "or": "or", "+": "+", "-": "+", "*": "*"}


@dataclass(slots=True)
class Token:
    """A terminal on the stack."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class Link:
    """One operand of a flat chain with the operator before it; `start..end` includes its parentheses."""

    op: str
    node: s.Expr
    start: int
    end: int


@dataclass(slots=True)
class Draft:
    """An expression being read. `links` is set while it is a flat chain of `op`, and `node` not yet; `height` is the deepest operand's."""

    node: s.Expr | None
    height: int
    start: int
    end: int
    op: str = ""
    links: list[Link] = field(default_factory=list)
    pair: tuple[Draft, Draft] | None = None


@dataclass(slots=True)
class SortDraft:
    """A sort being read, with its depth."""

    node: s.Sort
    height: int


@dataclass(slots=True)
class Block:
    """Statements being read, with the depth of the deepest `for` among them."""

    statements: list[s.Statement]
    height: int


@dataclass(slots=True)
class Repeat:
    """Binders with their `where`, and the depth of the deepest expression in them."""

    binders: tuple[s.Binder, ...]
    where: s.Expr | None
    height: int


@dataclass(slots=True)
class Clause:
    """One clause of a certificate, or one modifier of an obligation."""

    key: str
    value: Any
    start: int
    end: int


@dataclass(slots=True)
class Header:
    """The first line of a file."""

    kind: str
    language: int
    name: str
    version: str
    params: tuple[s.Param, ...]
    span: s.Span
    name_span: s.Span


Args: TypeAlias = list[Any]


class Builder:
    """Makes nodes from the parts of a rule (`args`) that covers the characters `start..end`. Keeps what is wrong in `mistakes`."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.mistakes: list[Mistake] = []
        self.pairs: dict[int, int] = {}
        self.too_deep = False

    def mistake(self, code: Code, start: int, end: int, message: str, hint: str = "") -> None:
        self.mistakes.append(Mistake(code, self.lines.span(start, end), message, hint))

    def end_declaration(self) -> None:
        """Reports the pairs that no closure took, and forgets what belonged to the declaration."""
        for start, end in self.pairs.items():
            self.mistake(P013, start, end, "a pair stands only after a closure", "write `needs*(p, w)` or `needs+(p, w)`")
        self.pairs.clear()
        self.too_deep = False

    # ---- drafts --------------------------------------------------------------------------------------------------

    def deep(self, height: int, start: int, end: int) -> bool:
        """Whether something is nested too deeply. Reported once for a declaration."""
        if height <= MAX_DEPTH:
            return False
        if not self.too_deep:
            self.too_deep = True
            end = min(end, start + 40)
            self.mistake(P004, start, end, f"nested more than {MAX_DEPTH} deep", "name parts of it with `define`")
        return True

    def draft(self, node: s.Expr, height: int, start: int, end: int) -> Draft:
        if self.deep(height, start, end):
            return Draft(s.BoolLit(True, node.span), 1, start, end)
        return Draft(node, height, start, end)

    def height(self, draft: Draft | None) -> int:
        if draft is None:
            return 0
        if not draft.links:
            return draft.height
        count = len(draft.links)
        return draft.height + (count - 1 if count <= FLAT else (count - 1).bit_length())

    def heights(self, drafts: Iterable[Draft | None]) -> int:
        return max((self.height(draft) for draft in drafts), default=0)

    def expr(self, draft: Draft) -> s.Expr:
        """The finished expression of a draft."""
        if draft.node is None:
            if len(draft.links) <= FLAT:
                node = draft.links[0].node
                for link in draft.links[1:]:
                    node = s.Binary(link.op, node, link.node, self.lines.span(draft.start, link.end))
            else:
                node = self.balanced(draft.links, 0, len(draft.links), False)
            if self.deep(self.height(draft), draft.start, draft.end):
                node = s.BoolLit(True, self.lines.span(draft.start, draft.end))
            draft.node = node
        return draft.node

    def optional(self, draft: Draft | None) -> s.Expr | None:
        return None if draft is None else self.expr(draft)

    def exprs(self, drafts: Iterable[Draft]) -> tuple[s.Expr, ...]:
        return tuple(self.expr(draft) for draft in drafts)

    def balanced(self, links: Sequence[Link], low: int, high: int, flipped: bool) -> s.Expr:
        """The links `low..high` as one tree. `a - b + c` is `a - (b - c)`: behind a minus the signs are `flipped`. Depth is logarithmic."""
        if high - low == 1:
            return links[low].node
        middle = (low + high) // 2
        op = links[middle].op
        minus = op == "-"
        left = self.balanced(links, low, middle, flipped)
        right = self.balanced(links, middle, high, minus)
        if op in "+-":
            op = "-" if minus != flipped else "+"
        return s.Binary(op, left, right, self.lines.span(links[low].start, links[high - 1].end))

    def chain(self, op: str, left: Draft, right: Draft, start: int, end: int) -> Draft:
        """`left op right`, where `left` may be a chain that grows."""
        kind = CHAINED[op]
        height = max(self.height(right), left.height if left.links and left.op == kind and left.node is None else self.height(left))
        link = Link(op, self.expr(right), right.start, right.end)
        if left.node is None and left.op == kind:
            left.links.append(link)
            left.height = height
            left.end = end
            return left
        return Draft(None, height, start, end, kind, [Link(kind, self.expr(left), left.start, left.end), link])

    def binary(self, op: str, left: Draft, right: Draft, start: int, end: int) -> Draft:
        node = s.Binary(op, self.expr(left), self.expr(right), self.lines.span(start, end))
        return self.draft(node, 1 + max(self.height(left), self.height(right)), start, end)

    # ---- expressions ---------------------------------------------------------------------------------------------

    def name(self, args: Args, start: int, end: int) -> s.Name:
        return s.Name(args[0].text, self.lines.span(start, end))

    def number(self, args: Args, start: int, end: int) -> s.Num:
        text = args[0].text
        return s.Num(Fraction(text), args[0].kind == "INT", text, self.lines.span(start, end))

    def number_expr(self, args: Args, start: int, end: int) -> Draft:
        return Draft(args[0], 1, start, end)

    def name_expr(self, args: Args, start: int, end: int) -> Draft:
        return Draft(args[0], 1, start, end)

    def true(self, args: Args, start: int, end: int) -> Draft:
        return Draft(s.BoolLit(True, self.lines.span(start, end)), 1, start, end)

    def false(self, args: Args, start: int, end: int) -> Draft:
        return Draft(s.BoolLit(False, self.lines.span(start, end)), 1, start, end)

    def none(self, args: Args, start: int, end: int) -> Draft:
        return Draft(s.NoneLit(self.lines.span(start, end)), 1, start, end)

    def parens(self, args: Args, start: int, end: int) -> Draft:
        inner: Draft = args[0]
        return Draft(self.expr(inner), self.height(inner), start, end)

    def pair(self, args: Args, start: int, end: int) -> Draft:
        left, right = args
        self.pairs[start] = end
        return Draft(self.expr(left), max(self.height(left), self.height(right)), start, end, pair=(left, right))

    def if_expr(self, args: Args, start: int, end: int) -> Draft:
        condition, then, otherwise = self.exprs(args)
        return self.draft(s.If(condition, then, otherwise, self.lines.span(start, end)), 1 + self.heights(args), start, end)

    def iff_expr(self, args: Args, start: int, end: int) -> Draft:
        return self.binary("iff", args[0], args[1], start, end)

    def implies_expr(self, args: Args, start: int, end: int) -> Draft:
        return self.binary("implies", args[0], args[1], start, end)

    def or_expr(self, args: Args, start: int, end: int) -> Draft:
        return self.chain("or", args[0], args[1], start, end)

    def and_expr(self, args: Args, start: int, end: int) -> Draft:
        return self.chain("and", args[0], args[1], start, end)

    def not_expr(self, args: Args, start: int, end: int) -> Draft:
        return self.draft(s.Unary("not", self.expr(args[0]), self.lines.span(start, end)), 1 + self.height(args[0]), start, end)

    def negative(self, args: Args, start: int, end: int) -> Draft:
        return self.draft(s.Unary("-", self.expr(args[0]), self.lines.span(start, end)), 1 + self.height(args[0]), start, end)

    def compare(self, args: Args, start: int, end: int) -> Draft:
        return self.binary(args[1].text, args[0], args[2], start, end)

    def member(self, args: Args, start: int, end: int) -> Draft:
        return self.binary("in", args[0], args[1], start, end)

    def not_member(self, args: Args, start: int, end: int) -> Draft:
        return self.binary("not_in", args[0], args[1], start, end)

    def member_range(self, args: Args, start: int, end: int) -> Draft:
        return self.binary("in", args[0], self.range(args[1], args[2]), start, end)

    def not_member_range(self, args: Args, start: int, end: int) -> Draft:
        return self.binary("not_in", args[0], self.range(args[1], args[2]), start, end)

    def range(self, low: Draft, high: Draft) -> Draft:
        node = s.RangeLit(self.expr(low), self.expr(high), self.lines.span(low.start, high.end))
        return self.draft(node, 1 + self.heights((low, high)), low.start, high.end)

    def arithmetic(self, args: Args, start: int, end: int) -> Draft:
        left, operator, right = args
        op = operator.text
        if right.pair is not None and op in "*+" and isinstance(left.node, s.Name) and left.start == left.node.span.start:
            first, second = right.pair
            del self.pairs[right.start]
            node = s.Closure(left.node.id, op == "*", self.expr(first), self.expr(second), self.lines.span(start, end))
            return self.draft(node, 1 + right.height, start, end)
        if op in CHAINED:
            return self.chain(op, left, right, start, end)
        return self.binary(op, left, right, start, end)

    def attr(self, args: Args, start: int, end: int) -> Draft:
        return self.draft(s.Attr(self.expr(args[0]), args[1].id, self.lines.span(start, end)), 1 + self.height(args[0]), start, end)

    def call_args(self, args: Args, start: int, end: int) -> list[Draft]:
        return [draft for draft in args if draft is not None]

    def call(self, args: Args, start: int, end: int) -> Draft:
        name, arguments = args
        node = s.Call(name.id, self.exprs(arguments), self.lines.span(start, end), name.span)
        return self.draft(node, 1 + self.heights(arguments), start, end)

    def index(self, args: Args, start: int, end: int) -> Draft:
        node = s.Index(args[0].id, self.expr(args[1]), self.lines.span(start, end))
        return self.draft(node, 1 + self.height(args[1]), start, end)

    def set_lit(self, args: Args, start: int, end: int) -> Draft:
        items = [draft for draft in args if draft is not None]
        return self.draft(s.SetLit(self.exprs(items), self.lines.span(start, end)), 1 + self.heights(items), start, end)

    def set_of(self, args: Args, start: int, end: int) -> Draft:
        item, repeat = args
        node = s.SetOf(self.expr(item), repeat.binders, repeat.where, self.lines.span(start, end))
        return self.draft(node, 1 + max(self.height(item), repeat.height), start, end)

    def binder(self, args: Args, start: int, end: int) -> tuple[s.Binder, int]:
        name, low, high = args
        domain = low if high is None else self.range(low, high)
        return s.Binder(name.id, self.expr(domain), self.lines.span(start, end)), self.height(domain)

    def binders(self, args: Args, start: int, end: int) -> Repeat:
        return Repeat(tuple(node for node, _ in args), None, max(height for _, height in args))

    def repeat(self, binders: Repeat, where: Draft | None) -> Repeat:
        return Repeat(binders.binders, self.optional(where), max(binders.height, self.height(where)))

    def for_binders(self, args: Args, start: int, end: int) -> Repeat:
        return self.repeat(args[0], args[1])

    def aggregate(self, args: Args, start: int, end: int) -> Draft:
        return self.quantifier(args, start, end)

    def quantifier(self, args: Args, start: int, end: int) -> Draft:
        kind, binders, where, body = args
        repeat = self.repeat(binders, where)
        node = s.Quant(kind.text, repeat.binders, repeat.where, self.optional(body), self.lines.span(start, end))
        return self.draft(node, 1 + max(repeat.height, self.height(body)), start, end)

    def aggregate_call(self, args: Args, start: int, end: int) -> Draft:
        kind, *arguments = args
        node = s.Call(kind.text, self.exprs(arguments), self.lines.span(start, end), self.lines.span(kind.start, kind.end))
        return self.draft(node, 1 + self.heights(arguments), start, end)

    # ---- sorts ---------------------------------------------------------------------------------------------------

    def sort_name(self, args: Args, start: int, end: int) -> SortDraft:
        return SortDraft(s.SortName(args[0].id, self.lines.span(start, end)), 1)

    def sort_range(self, args: Args, start: int, end: int) -> SortDraft:
        low, high = self.exprs(args)
        return SortDraft(s.SortRange(low, high, self.lines.span(start, end)), 1)

    def sort_values(self, args: Args, start: int, end: int) -> SortDraft:
        return SortDraft(s.SortValues(tuple(args), self.lines.span(start, end)), 1)

    def sort_set(self, args: Args, start: int, end: int) -> SortDraft:
        span = self.lines.span(start, end)
        if self.deep(1 + args[0].height, start, end):
            return SortDraft(s.SortName("bool", span), 1)
        return SortDraft(s.SortSet(args[0].node, span), 1 + args[0].height)

    def optional_sort(self, args: Args, start: int, end: int) -> SortDraft:
        return SortDraft(s.SortOptional(args[0].node, self.lines.span(start, end)), 1 + args[0].height)

    def param(self, args: Args, start: int, end: int) -> s.Param:
        return s.Param(args[0].id, args[1].node, None, self.lines.span(start, end))

    def package_param(self, args: Args, start: int, end: int) -> s.Param:
        return s.Param(args[0].id, args[1].node, self.optional(args[2]), self.lines.span(start, end))

    def params(self, args: Args, start: int, end: int) -> tuple[s.Param, ...]:
        return tuple(param for param in args if param is not None)

    def package_params(self, args: Args, start: int, end: int) -> tuple[s.Param, ...]:
        return self.params(args, start, end)

    def enum_members(self, args: Args, start: int, end: int) -> tuple[s.Name, ...]:
        return tuple(args)

    def name_list(self, args: Args, start: int, end: int) -> tuple[s.Name, ...]:
        return tuple(args)
