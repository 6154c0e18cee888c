"""What the tests of the parser share: declarations and expressions read from text, and trees in brackets to compare with."""

from __future__ import annotations

from icore_dsl import syntax as s
from icore_dsl.parse import parse_text


def module_of(text: str) -> s.Module:
    parsed = parse_text(text, "t.icore")
    assert parsed.mistakes == ()
    assert parsed.module is not None and parsed.partial is parsed.module
    return parsed.module


def decl_of(text: str) -> s.Decl:
    (decl,) = module_of("package A\n" + text).decls
    return decl


def expr_of(text: str) -> s.Expr:
    decl = decl_of(f"invariant x: {text}")
    assert isinstance(decl, s.PropertyDecl)
    return decl.formula


def short(node: object) -> str:
    """An expression with all its brackets, for comparison by eye."""
    match node:
        case s.Num(text=text):
            return text
        case s.BoolLit(value=value):
            return str(value).lower()
        case s.NoneLit():
            return "none"
        case s.Name(id=name):
            return name
        case s.Index(name=name, index=index):
            return f"{name}[{short(index)}]"
        case s.Attr(target=target, name=name):
            return f"{short(target)}.{name}"
        case s.Call(name=name, args=args):
            return f"{name}({','.join(map(short, args))})"
        case s.Unary(op=op, operand=operand):
            return f"({op} {short(operand)})"
        case s.Binary(op=op, left=left, right=right):
            return f"({short(left)} {op} {short(right)})"
        case s.SetLit(items=items):
            return "{" + ",".join(map(short, items)) + "}"
        case s.RangeLit(low=low, high=high):
            return f"{short(low)}..{short(high)}"
        case s.SetOf(item=item, binders=binders, where=where):
            return "{" + f"{short(item)} for {','.join(map(short, binders))} where {short(where)}" + "}"
        case s.If(condition=condition, then=then, otherwise=otherwise):
            return f"if({short(condition)},{short(then)},{short(otherwise)})"
        case s.Binder(name=name, domain=domain):
            return f"{name} in {short(domain)}"
        case s.Quant(kind=kind, binders=binders, where=where, body=body):
            return f"{kind}[{','.join(map(short, binders))} where {short(where)}: {short(body)}]"
        case s.Closure(relation=relation, reflexive=reflexive, left=left, right=right):
            return f"{relation}{'*' if reflexive else '+'}<{short(left)},{short(right)}>"
        case None:
            return "-"
        case _:
            raise AssertionError(node)
