"""Terms as text, in the syntax of the language: `status(unit) == ready and not passed`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Op, Sort, Variable

Names = Callable[[Variable, int], str]
"""The printed form of a code of a variable (`ready` for code 1 of `status(unit)`)."""

LEVELS = range(11)
"""How tightly a text binds, from `if` (0) to a name or what stands in brackets (10)."""
IF, IFF, IMPLIES, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, ATOM = LEVELS
Leaf = Callable[[Term, bool], tuple[int, str] | None]
"""The text of a comparison, a Boolean field, `and`, `or`, a look-up or an absolute value, with its level; asked with True, of its denial.
None: as it stands."""
ATOMIC = frozenset({Op.FIELD, Op.EQ, Op.LT, Op.LE, Op.MEMBER})
"""Operators of comparisons and fields."""
_ASKED = ATOMIC | {Op.AND, Op.OR, Op.LOOKUP, Op.ABS}
_Piece = str | tuple[Term, int, Variable | None]
"""Text, or a term to print at a level (parenthesised if it binds looser), with the variable whose codes its constants are."""


def show(
    term: Term, names: Names | None = None, limit: int = 2000, *, leaf: Leaf | None = None, denied: bool = False, level: int = IF
) -> str:
    """The text of a term, cut after about `limit` characters with an ellipsis (terms share, so their texts can explode).

    `leaf` may say comparisons in its own words; `denied`: the text of the term's denial; in brackets where it binds looser than `level`.
    """
    out: list[str] = []
    length = 0
    stack: list[_Piece]
    if denied:
        own, first = _denied(term, names, leaf)
        stack = [")", *reversed(first), "("] if own < level else [*reversed(first)]
    else:
        stack = [(term, level, None)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            if length + len(piece) > limit:
                out.append(" …" if out and not out[-1].endswith(" ") else "…")
                break
            length += len(piece)
            out.append(piece)
            continue
        inner, level, about = piece
        own, pieces = _pieces(inner, names, about, leaf)
        if own < level:
            pieces = ["(", *pieces, ")"]
        stack.extend(reversed(pieces))
    return "".join(out)


def _denied(term: Term, names: Names | None, leaf: Leaf | None) -> tuple[int, Sequence[_Piece]]:
    """As `_pieces`, of the denial of a term."""
    said = leaf(term, True) if leaf is not None and term.op in _ASKED else None
    if said is not None:
        return said[0], [said[1]]
    if term.op is Op.EQ or term.op is Op.MEMBER:
        return COMPARE, _comparison(term, names, denied=True)
    if term.op is Op.NOT:
        return _pieces(term.args[0], names, None, leaf)
    return NOT, ["not ", (term, NOT, None)]


def _pieces(term: Term, names: Names | None, about: Variable | None, leaf: Leaf | None) -> tuple[int, Sequence[_Piece]]:
    """The level at which a term binds, and its pieces from left to right."""
    args = term.args
    said = leaf(term, False) if leaf is not None and term.op in _ASKED else None
    if said is not None:
        return said[0], [said[1]]
    match term.op:
        case Op.CONST:
            if term.sort is Sort.BOOL:
                return ATOM, ["true" if term.value else "false"]
            text = _code(term.value, names, about)
            return (UNARY if text.startswith("-") else ATOM), [text]
        case Op.FIELD:
            return ATOM, [term.variable.name]
        case Op.NOT:
            return _denied(args[0], names, leaf)
        case Op.AND:
            return _joined(args, " and ", AND, NOT, "true")
        case Op.OR:
            return _joined(args, " or ", OR, AND, "false")
        case Op.IMPLIES:
            return IMPLIES, [(args[0], OR, None), " implies ", (args[1], IMPLIES, None)]
        case Op.IFF:
            return IFF, [(args[0], IFF, None), " iff ", (args[1], IMPLIES, None)]
        case Op.EQ | Op.LT | Op.LE | Op.MEMBER:
            return COMPARE, _comparison(term, names, denied=False)
        case Op.ADD:
            if not args:
                return ATOM, ["0"]
            pieces: list[_Piece] = [(args[0], SUM, None)]
            for arg in args[1:]:
                if arg.op is Op.NEG:
                    pieces += [" - ", (arg.args[0], PRODUCT, None)]
                elif arg.op is Op.CONST and arg.value < 0:
                    pieces.append(f" - {-arg.value}")
                else:
                    pieces += [" + ", (arg, PRODUCT, None)]
            return SUM, pieces
        case Op.SUB:
            return SUM, [(args[0], SUM, None), " - ", (args[1], PRODUCT, None)]
        case Op.NEG:
            return UNARY, ["-", (args[0], UNARY, None)]
        case Op.MUL | Op.DIV | Op.MOD:
            word = "*" if term.op is Op.MUL else term.op.value
            return PRODUCT, [(args[0], PRODUCT, None), f" {word} ", (args[1], UNARY, None)]
        case Op.MIN | Op.MAX:
            return ATOM, [f"{term.op.value}(", *_listed(args, about), ")"]
        case Op.ITE:
            return IF, ["if ", (args[0], IFF, None), " then ", (args[1], IFF, about), " else ", (args[2], IF, about)]
        case Op.ABS:
            return ATOM, ["abs(", (args[0], IF, None), ")"]
        case Op.LOOKUP:
            shown: list[_Piece] = [f"{', ' if place else ''}{entry}" for place, entry in enumerate(term.entries)]
            return ATOM, ["[", *shown, "][", (args[0], IF, None), "]"]
        case _:
            assert_never(term.op)


def _joined(args: tuple[Term, ...], word: str, own: int, inner: int, empty: str) -> tuple[int, Sequence[_Piece]]:
    if not args:
        return ATOM, [empty]
    pieces: list[_Piece] = []
    for arg in args:
        pieces += [word, (arg, inner, None)]
    return own, pieces[1:]


def _listed(args: tuple[Term, ...], about: Variable | None) -> list[_Piece]:
    pieces: list[_Piece] = []
    for arg in args:
        pieces += [", ", (arg, IF, about)]
    return pieces[1:]


def _comparison(term: Term, names: Names | None, denied: bool) -> list[_Piece]:
    about = next((subject for arg in term.args if (subject := _subject(arg)) is not None), None)
    left: _Piece = (term.args[0], SUM, about)
    if term.op is Op.MEMBER:
        codes = ", ".join(_code(value, names, about) for value in sorted(term.members))
        return [left, f" {'not ' if denied else ''}in {{{codes}}}"]
    word = {Op.EQ: "!=" if denied else "==", Op.LT: "<", Op.LE: "<="}[term.op]
    return [left, f" {word} ", (term.args[1], SUM, about)]


def _subject(term: Term) -> Variable | None:
    """The variable whose codes the term takes: itself, or the first one among the branches of its conditionals."""
    stack = [term]
    for _ in range(16):
        if not stack:
            break
        inner = stack.pop()
        if inner.op is Op.FIELD:
            return inner.variable
        if inner.op is Op.ITE:
            stack += [inner.args[2], inner.args[1]]
    return None


def _code(value: int, names: Names | None, about: Variable | None) -> str:
    if names is not None and about is not None and about.lo <= value <= about.hi:
        return names(about, value)
    return str(value)
