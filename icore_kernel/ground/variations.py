"""An update declaration as the flat occurrences it stands for: outcomes split, fault variants made, loops kept for grounding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from icore_dsl import syntax as s

Loop = tuple[tuple[s.Binder, ...], s.Expr | None]


@dataclass(frozen=True, slots=True)
class Item:
    """One effect under its loops (outermost first)."""

    loops: tuple[Loop, ...]
    statement: s.SetField | s.Effect


@dataclass(frozen=True, slots=True)
class Variation:
    """One way an update may go. `schema` is its full name (`finish`, `finish.good`, `finish.careless`)."""

    schema: str
    fault: str
    decl: s.UpdateDecl
    when: tuple[s.Expr, ...]
    requires: tuple[s.Expr, ...]
    items: tuple[Item, ...]
    span: s.Span
    kept: int = 0
    """How many items come before those of a fault variant's own text."""


def variations(decl: s.UpdateDecl) -> Iterator[Variation]:
    """The update itself (or one a declared outcome), then its fault variants."""
    plain: list[s.Statement] = [x for x in decl.body if not isinstance(x, (s.Outcome, s.Variant))]
    outcomes = [x for x in decl.body if isinstance(x, s.Outcome)]
    bases = [(decl.name, plain)] if not outcomes else [(f"{decl.name}.{o.name}", [*plain, *o.body]) for o in outcomes]
    for name, body in bases:
        yield _variation(decl, name, decl.name if decl.is_fault else "", body, decl.span)
    for variant in (x for x in decl.body if isinstance(x, s.Variant)):
        base = bases[0][1]
        body = _replaced(base, variant.body)
        made = _variation(decl, f"{decl.name}.{variant.name}", variant.name, body, variant.span)
        yield replace(made, kept=len(made.items) - len(tuple(_items(variant.body, ()))))


def _variation(decl: s.UpdateDecl, schema: str, fault: str, body: list[s.Statement], span: s.Span) -> Variation:
    when = tuple(x.formula for x in body if isinstance(x, s.When) and x.kind == "when")
    requires = tuple(x.formula for x in body if isinstance(x, s.When) and x.kind == "requires")
    return Variation(schema, fault, decl, when, requires, tuple(_items(body, ())), span)


def _items(body: list[s.Statement] | tuple[s.Statement, ...], loops: tuple[Loop, ...]) -> Iterator[Item]:
    for statement in body:
        match statement:
            case s.SetField() | s.Effect():
                if not (isinstance(statement, s.Effect) and statement.kind == "withhold"):
                    yield Item(loops, statement)
            case s.For():
                yield from _items(statement.body, (*loops, (statement.binders, statement.where)))
            case _:
                continue


def _replaced(base: list[s.Statement], changes: tuple[s.Statement, ...]) -> list[s.Statement]:
    """The base with the variant's statements in place of those for the same target; withheld certificates are not issued."""
    kinds = {x.kind for x in changes if isinstance(x, s.When)}
    withheld = {text(x.target) for x in changes if isinstance(x, s.Effect) and x.kind == "withhold"}
    replaced = {("set", text(x.target)) for x in changes if isinstance(x, s.SetField)}
    replaced |= {(x.kind, text(x.target)) for x in changes if isinstance(x, s.Effect)}
    return [*_kept(base, kinds, withheld, replaced), *changes]


def _kept(
    body: list[s.Statement] | tuple[s.Statement, ...], kinds: set[str], withheld: set[str], replaced: set[tuple[str, str]]
) -> list[s.Statement]:
    kept: list[s.Statement] = []
    for x in body:
        match x:
            case s.When() if x.kind in kinds:
                continue
            case s.SetField() if ("set", text(x.target)) in replaced:
                continue
            case s.Effect() if (x.kind, text(x.target)) in replaced or (x.kind == "issue" and text(x.target) in withheld):
                continue
            case s.For():
                kept.append(s.For(x.binders, x.where, tuple(_kept(x.body, kinds, withheld, replaced)), x.span))
            case _:
                kept.append(x)
    return kept


def in_order(variation: Variation) -> Iterator[tuple[int, Item]]:
    """The statements with their places, `create` first: the status that it gives is where other statements begin."""
    items = list(enumerate(variation.items))
    yield from (pair for pair in items if is_create(pair[1].statement))
    yield from (pair for pair in items if not is_create(pair[1].statement))


def is_create(statement: s.SetField | s.Effect) -> bool:
    return isinstance(statement, s.Effect) and statement.kind == "create"


LOOP = "for "


def block_of(item: Item) -> str:
    """Plain statements of one kind are a block, and so are all iterations of one `for`."""
    kind = simultaneous(item.statement)
    return f"{LOOP}{item.loops[-1][0][0].span} {kind}" if item.loops else kind


def simultaneous(statement: s.SetField | s.Effect) -> str:
    """Statements of one kind write the same things, so that two of them may collide; `set z.f` refines what `emit z` writes."""
    if isinstance(statement, s.SetField):
        return "set"
    match statement.kind:
        case "relate" | "unrelate":
            return "relation"
        case "create" | "report":
            return statement.kind
        case _:
            return "evidence"


def text(expr: s.Expr) -> str:
    """A target as comparable text: `report(w)`, `head.commit`."""
    match expr:
        case s.Name():
            return expr.id
        case s.Attr():
            return f"{text(expr.target)}.{expr.name}"
        case s.Call():
            return f"{expr.name}({', '.join(text(a) for a in expr.args)})"
        case s.Index():
            return f"{expr.name}[{text(expr.index)}]"
        case s.Num():
            return str(expr.value)
        case _:
            return str(expr.span)
