"""Terms as text, in the syntax of the language: `status(unit) == ready and not passed`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Op, Sort, Variable

Names = Callable[[Variable, int], str]
"""The printed form of a code of a variable (`ready` for code 1 of `status(unit)`)."""

_IF, _IFF, _IMPLIES, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(11)
_Piece = str | tuple[Term, int, Variable | None]
"""Text, or a term to print at a level (parenthesised if it binds looser), with the variable whose codes its constants are."""


def show(term: Term, names: Names | None = None, limit: int = 2000) -> str:
    """The text of a term, cut after about `limit` characters with an ellipsis (terms share, so their texts can explode)."""
    out: list[str] = []
    length = 0
    stack: list[_Piece] = [(term, _IF, None)]
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
        own, pieces = _pieces(inner, names, about)
        if own < level:
            pieces = ["(", *pieces, ")"]
        stack.extend(reversed(pieces))
    return "".join(out)


def _pieces(term: Term, names: Names | None, about: Variable | None) -> tuple[int, Sequence[_Piece]]:
    """The level at which a term binds, and its pieces from left to right."""
    args = term.args
    match term.op:
        case Op.CONST:
            if term.sort is Sort.BOOL:
                return _ATOM, ["true" if term.value else "false"]
            text = _code(term.value, names, about)
            return (_UNARY if text.startswith("-") else _ATOM), [text]
        case Op.FIELD:
            return _ATOM, [term.variable.name]
        case Op.NOT if args[0].op is Op.EQ or args[0].op is Op.MEMBER:
            return _COMPARE, _comparison(args[0], names, denied=True)
        case Op.NOT:
            return _NOT, ["not ", (args[0], _NOT, None)]
        case Op.AND:
            return _joined(args, " and ", _AND, _NOT, "true")
        case Op.OR:
            return _joined(args, " or ", _OR, _AND, "false")
        case Op.IMPLIES:
            return _IMPLIES, [(args[0], _OR, None), " implies ", (args[1], _IMPLIES, None)]
        case Op.IFF:
            return _IFF, [(args[0], _IFF, None), " iff ", (args[1], _IMPLIES, None)]
        case Op.EQ | Op.LT | Op.LE | Op.MEMBER:
            return _COMPARE, _comparison(term, names, denied=False)
        case Op.ADD:
            if not args:
                return _ATOM, ["0"]
            pieces: list[_Piece] = [(args[0], _SUM, None)]
            for arg in args[1:]:
                if arg.op is Op.NEG:
                    pieces += [" - ", (arg.args[0], _PRODUCT, None)]
                elif arg.op is Op.CONST and arg.value < 0:
                    pieces.append(f" - {-arg.value}")
                else:
                    pieces += [" + ", (arg, _PRODUCT, None)]
            return _SUM, pieces
        case Op.SUB:
            return _SUM, [(args[0], _SUM, None), " - ", (args[1], _PRODUCT, None)]
        case Op.NEG:
            return _UNARY, ["-", (args[0], _UNARY, None)]
        case Op.MUL | Op.DIV | Op.MOD:
            word = "*" if term.op is Op.MUL else term.op.value
            return _PRODUCT, [(args[0], _PRODUCT, None), f" {word} ", (args[1], _UNARY, None)]
        case Op.MIN | Op.MAX:
            return _ATOM, [f"{term.op.value}(", *_listed(args, about), ")"]
        case Op.ITE:
            return _IF, ["if ", (args[0], _IFF, None), " then ", (args[1], _IFF, about), " else ", (args[2], _IF, about)]
        case Op.ABS:
            return _ATOM, ["abs(", (args[0], _IF, None), ")"]
        case Op.LOOKUP:
            shown: list[_Piece] = [f"{', ' if place else ''}{entry}" for place, entry in enumerate(term.entries)]
            return _ATOM, ["[", *shown, "][", (args[0], _IF, None), "]"]
        case _:
            assert_never(term.op)


def _joined(args: tuple[Term, ...], word: str, own: int, inner: int, empty: str) -> tuple[int, Sequence[_Piece]]:
    if not args:
        return _ATOM, [empty]
    pieces: list[_Piece] = []
    for arg in args:
        pieces += [word, (arg, inner, None)]
    return own, pieces[1:]


def _listed(args: tuple[Term, ...], about: Variable | None) -> list[_Piece]:
    pieces: list[_Piece] = []
    for arg in args:
        pieces += [", ", (arg, _IF, about)]
    return pieces[1:]


def _comparison(term: Term, names: Names | None, denied: bool) -> list[_Piece]:
    about = next((subject for arg in term.args if (subject := _subject(arg)) is not None), None)
    left: _Piece = (term.args[0], _SUM, about)
    if term.op is Op.MEMBER:
        codes = ", ".join(_code(value, names, about) for value in sorted(term.members))
        return [left, f" {'not ' if denied else ''}in {{{codes}}}"]
    word = {Op.EQ: "!=" if denied else "==", Op.LT: "<", Op.LE: "<="}[term.op]
    return [left, f" {word} ", (term.args[1], _SUM, about)]


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
