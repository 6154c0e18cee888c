"""Every small change to a clause or definition of spec/: a part dropped, an operator weakened, a formula negated, a branch taken away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from icore_dsl import syntax as s
from icore_kernel.load import load_theory

COMPARED = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "in": "not in", "not_in": "in"}
COUNTED = {"+": "-", "-": "+", "*": "+", "/": "*"}
NUMBERS = {"0": "1", "1": "0", "2": "1"}
TURNED = {"obl", "cov", "sup", "agg"}
"""Relations of the theory that have a direction."""


@dataclass(frozen=True)
class Mutant:
    """`start..end` of a file of the theory becomes `text`. `name` is the declaration's; `change` says what was done."""

    file: str
    name: str
    change: str
    start: int
    end: int
    text: str

    @property
    def identity(self) -> str:
        return f"{self.name}: {self.change}"

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


def mutants(theory: Path) -> list[Mutant]:
    """In the order of the text. Two with one identity get numbers."""
    found: list[Mutant] = []
    for module in load_theory(theory):
        for decl in module.decls:
            if isinstance(decl, s.ClauseDecl):
                found.extend(_Walk(module.text, Path(module.file).name, decl.label).clause(decl))
            elif isinstance(decl, s.FunctionDecl) and not isinstance(decl.body, s.TableBody):
                found.extend(_Walk(module.text, Path(module.file).name, decl.name).definition(decl, decl.body))
    named: dict[str, int] = {}
    numbered = []
    for mutant in found:
        count = named[mutant.identity] = named.get(mutant.identity, 0) + 1
        change = mutant.change if count == 1 else f"{mutant.change} ({count})"
        numbered.append(Mutant(mutant.file, mutant.name, change, mutant.start, mutant.end, mutant.text))
    return numbered


class _Walk:
    """The changes to one declaration."""

    def __init__(self, source: str, file: str, name: str) -> None:
        self.source = source
        self.file = file
        self.name = name

    def clause(self, decl: s.ClauseDecl) -> Iterator[Mutant]:
        yield self._made("the clause is dropped", decl.span, "")
        if decl.moment is not None:
            at = self.source.index(f" {decl.moment}", decl.span.start)
            other = "before" if decl.moment == "after" else "after"
            yield Mutant(self.file, self.name, f"read {other}", at, at + 1 + len(decl.moment), f" {other}")
        if decl.kind == "measure":
            yield from self._number(decl.formula)
            return
        yield self._made("the clause is negated", decl.formula.span, f"not ({self._text(decl.formula)})")
        yield self._made("false", decl.formula.span, "false")
        yield from self._formula(decl.formula, whole=True)

    def definition(self, decl: s.FunctionDecl, body: s.Expr) -> Iterator[Mutant]:
        if isinstance(decl.result, s.SortName) and decl.result.name == "bool":
            yield self._made("true", body.span, "true")
            yield self._made("false", body.span, "false")
            yield from self._formula(body, whole=True)
        else:
            yield self._made("0", body.span, "0")
            yield self._made("1", body.span, "1")
            yield from self._number(body)

    # ---- conditions ------------------------------------------------------------------------------------------------------
    def _formula(self, node: s.Expr, whole: bool = False) -> Iterator[Mutant]:
        match node:
            case s.Binary(op="and" | "or" as op, left=left, right=right):
                yield self._instead(node, op, "or" if op == "and" else "and")
                if not (isinstance(left, s.Binary) and left.op == op):
                    yield self._kept(node, left, right)
                yield self._kept(node, right, left)
                yield from self._formula(left)
                yield from self._formula(right)
            case s.Binary(op="implies", left=left, right=right):
                yield self._made(f"without the condition {self._short(left)}", node.span, f"({self._text(right)})")
                yield from self._formula(left)
                yield from self._formula(right)
            case s.Binary(op=op, left=left, right=right) if op in COMPARED:
                yield self._instead(node, op.replace("_", " "), COMPARED[op])
                for side in (left, right):
                    yield from self._number(side)
                if isinstance(right, s.SetLit):
                    yield from self._members(right)
            case s.Unary(op="not", operand=operand):
                yield self._made(f"not … of {self._short(operand)} taken away", node.span, f"({self._text(operand)})")
                yield from self._formula(operand)
            case s.Quant(kind="forall" | "exists"):
                yield from self._quantified(node)
            case s.If():
                yield from self._branches(node)
                yield from self._formula(node.condition)
                yield from self._formula(node.then)
                yield from self._formula(node.otherwise)
            case s.Closure():
                yield from self._closure(node)
                if not whole:
                    yield self._negated(node)
            case s.Call():
                if node.name in TURNED and len(node.args) == 2:
                    first, second = (self._text(a) for a in node.args)
                    yield self._made(f"{self._short(node)} turned round", node.span, f"{node.name}({second}, {first})")
                if not whole:
                    yield self._negated(node)
            case s.Name() if not whole:
                yield self._negated(node)
            case _:
                return

    def _quantified(self, node: s.Quant) -> Iterator[Mutant]:
        other = "exists" if node.kind == "forall" else "forall"
        start = node.span.start
        if node.body is not None:
            yield Mutant(self.file, self.name, f"{node.kind} {self._bound(node)} -> {other}", start, start + len(node.kind), other)
        if node.where is not None:
            yield from self._without_where(node)
            yield from self._formula(node.where)
        if node.body is not None:
            yield from self._formula(node.body)

    def _without_where(self, node: s.Quant) -> Iterator[Mutant]:
        """The `where` taken away, where a body is left to say something."""
        assert node.where is not None
        if node.body is not None:
            at = self.source.rindex("where", node.span.start, node.where.span.start)
            closing = self.source.index(":", node.where.span.end)
            yield Mutant(self.file, self.name, f"without where {self._short(node.where)}", at, closing, "")

    def _closure(self, node: s.Closure) -> Iterator[Mutant]:
        first, second = self._text(node.left), self._text(node.right)
        star = "+" if node.reflexive else "*"
        yield self._made(f"{self._short(node)} -> {node.relation}{star}", node.span, f"{node.relation}{star}({first}, {second})")
        yield self._made(f"{self._short(node)} -> {node.relation}", node.span, f"{node.relation}({first}, {second})")
        yield self._made(
            f"{self._short(node)} turned round", node.span, f"{node.relation}{'*' if node.reflexive else '+'}({second}, {first})"
        )

    def _members(self, node: s.SetLit) -> Iterator[Mutant]:
        for out in node.items:
            rest = ", ".join(self._text(item) for item in node.items if item is not out)
            yield self._made(f"without {self._short(out)}", node.span, "{" + rest + "}")

    def _negated(self, node: s.Expr) -> Mutant:
        return self._made(f"{self._short(node)} negated", node.span, f"(not {self._text(node)})")

    def _kept(self, node: s.Expr, gone: s.Expr, stays: s.Expr) -> Mutant:
        return self._made(f"without {self._short(gone)}", node.span, f"({self._text(stays)})")

    # ---- numbers ---------------------------------------------------------------------------------------------------------
    def _number(self, node: s.Expr) -> Iterator[Mutant]:
        match node:
            case s.Binary(op=op, left=left, right=right) if op in COUNTED:
                yield self._instead(node, op, COUNTED[op])
                yield from self._number(left)
                yield from self._number(right)
            case s.If():
                yield from self._branches(node)
                yield from self._formula(node.condition)
                yield from self._number(node.then)
                yield from self._number(node.otherwise)
            case s.Quant():
                if node.where is not None:
                    yield from self._without_where(node)
                    yield from self._formula(node.where)
                if node.body is not None:
                    yield from self._number(node.body)
            case s.Num(text=text) if text in NUMBERS:
                yield self._made(f"{text} -> {NUMBERS[text]}", node.span, NUMBERS[text])
            case s.Call(name="max" | "min", args=args):
                for arg in args:
                    yield self._made(f"{self._short(node)} -> {self._short(arg)}", node.span, f"({self._text(arg)})")
                    yield from self._number(arg)
            case _:
                return

    def _branches(self, node: s.If) -> Iterator[Mutant]:
        yield self._made(f"if {self._short(node.condition)}: always then", node.span, f"({self._text(node.then)})")
        yield self._made(f"if {self._short(node.condition)}: always else", node.span, f"({self._text(node.otherwise)})")

    # ---- text ------------------------------------------------------------------------------------------------------------
    def _instead(self, node: s.Binary, old: str, new: str) -> Mutant:
        """The operator between the two sides, parentheses and comments aside."""
        first, last = node.left.span.end, node.right.span.start
        between = self.source[first:last]
        at = first + between.index(old if old in between else old.replace(" ", "_"))
        shown = f"{self._short(node.left)} {old} {self._short(node.right)} -> {new}"
        return Mutant(self.file, self.name, shown, at, at + len(old), new)

    def _made(self, change: str, span: s.Span, text: str) -> Mutant:
        return Mutant(self.file, self.name, change, span.start, span.end, text)

    def _text(self, node: s.Expr) -> str:
        return self.source[node.span.start : node.span.end]

    def _short(self, node: s.Expr) -> str:
        lines = [line.partition("#")[0] for line in self._text(node).splitlines()]
        text = " ".join(" ".join(lines).split())
        return text if len(text) <= 60 else f"{text[:45]} … {text[-10:]}"

    def _bound(self, node: s.Quant) -> str:
        return ", ".join(binder.name for binder in node.binders)
