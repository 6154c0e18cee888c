"""Formulas over a grounded state as users would write them: what may be pasted back into a package means the same there.

A state has codes and no words: `done(unit)` is absent, pending, active, revoked or superseded, which a package asks with
`active(done(unit))` and the like; a number that is none of consecutive ones is a code. Comparisons of codes are told by what they
are true of, case by case. What a package has no words for stays as the state calls it (`sayable`): which evidence an assertion
rests on, what was captured or reported, the context of an assignment, how many rounds of a delay are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import prod

from icore_kernel.meaning import scalar
from icore_kernel.system import DomainKind, Field, System
from icore_kernel.terms.node import Term, variables
from icore_kernel.terms.show import AND, ATOM, ATOMIC, COMPARE, IF, NOT, OR, PRODUCT, Leaf, show
from icore_kernel.terms.table import Op, Sort, Variable

MOST_CASES = 1_000
"""A comparison is told by what it is true of where that is at most so many cases; else as it stands."""
NO_WORDS = frozenset({"under", "captured", "reported", "then"})
"""Kinds of fields that no formula of a package can read."""
_SLOTS = frozenset({"artifact", "certificate"})
_NUMERIC = frozenset({Op.CONST, Op.ITE, Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MOD, Op.MIN, Op.MAX, Op.ABS})
MOST_ENTRIES = 8
"""A table read by a field is told case by case where it has at most so many different entries."""
_QUERIES = ("active", "pending", "revoked", "superseded")
"""What a package asks of a certificate; one of which nothing holds is absent."""
Said = tuple[int, str]
"""How tightly a text binds, and the text."""


def said(system: System, term: Term, wanted: bool = True, limit: int = 2_000, level: int = IF) -> str:
    """The text of a BOOL term, or of its denial; in brackets where it binds looser than `level`; cut after about `limit` characters."""
    return show(term, _names(system), limit, leaf=_leaf(system), denied=not wanted, level=level)


def sayable(system: System, term: Term) -> bool:
    """Whether a package has words for all that the term reads, so that its text is a formula of the language."""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if part in seen:
            continue
        seen.add(part)
        if part.op is Op.AND or part.op is Op.OR:
            for field, args in _grouped(system, part):
                if field is None:
                    stack.extend(args)
                elif _joined(field, part.op, args) is None:
                    return False
        elif part.sort is Sort.BOOL and part.op in ATOMIC:
            if _compared(system, part, False) is None and (part.op is Op.FIELD or not _natural(system, part)):
                return False
            stack.extend(part.args)
        else:
            stack.extend(part.args)
    return True


def name_of(system: System, variable: Variable, code: int) -> str:
    """A code as its field prints it; numbers outside the domain as numbers."""
    if variable.index >= len(system.fields):
        return str(code)
    domain = system.fields[variable.index].domain
    return domain.show(code) if domain.lo <= code <= domain.hi else str(code)


def _names(system: System) -> Callable[[Variable, int], str]:
    return lambda variable, code: name_of(system, variable, code)


def _leaf(system: System) -> Leaf:
    def leaf(term: Term, denied: bool) -> Said | None:
        if term.op is Op.AND or term.op is Op.OR:
            return _together(system, term, denied)
        if term.sort is Sort.BOOL:
            return _compared(system, term, denied)
        if term.op is Op.LOOKUP:
            return _looked_up(system, term)
        if term.op is Op.ABS:
            inner = show(term.args[0], _names(system), leaf=leaf)
            return ATOM, f"max({inner}, -({inner}))"
        return None  # a number that is a field's

    return leaf


def _grouped(system: System, term: Term) -> list[tuple[Field | None, list[Term]]]:
    """The parts of an `and` or `or`, in their order, those together that speak of one certificate or artifact (`pending(c)` is several
    of them), or say that one field has some value or some other."""
    found: list[tuple[Field | None, list[Term]]] = []
    of: dict[int, list[Term]] = {}
    for arg in term.args:
        index = arg.reads.bit_length() - 1
        if arg.reads.bit_count() != 1 or not _grouping(system, term.op, arg, index):
            found.append((None, [arg]))
        elif index in of:
            of[index].append(arg)
        else:
            of[index] = [arg]
            found.append((system.fields[index], of[index]))
    return found


def _grouping(system: System, op: Op, arg: Term, index: int) -> bool:
    if index >= len(system.fields) or system.fields[index].domain.size > MOST_CASES:
        return False
    kind = system.fields[index].kind
    return kind in _SLOTS or (op is Op.OR and kind not in NO_WORDS and arg.op in {Op.EQ, Op.MEMBER})


def _joined(field: Field, op: Op, args: list[Term]) -> list[int] | None:
    """The codes with which all (`and`) or some (`or`) of these hold; None where a package cannot say that."""
    each = [{codes[0] for codes, holds in _cases(arg, [field]) if holds} for arg in args]
    codes = sorted(set.intersection(*each) if op is Op.AND else set.union(*each))
    return None if _among(field, codes) is None else codes


def _together(system: System, term: Term, denied: bool) -> Said | None:
    """An `and` or `or` in which several parts speak of one field, or which says that two fields are the same, or are not."""
    alike = _alike(system, term, denied)
    if alike is not None:
        return alike
    groups = _grouped(system, term)
    if all(len(args) == 1 for _, args in groups):
        return None
    field, args = groups[0]
    if len(groups) == 1 and field is not None:
        codes = _joined(field, term.op, args)
        every = range(field.domain.lo, field.domain.hi + 1)
        return None if codes is None else _among(field, [c for c in every if (c in codes) != denied])
    if denied:
        return None
    inner, word = (NOT, " and ") if term.op is Op.AND else (AND, " or ")
    told: list[str] = []
    for field, args in groups:
        codes = None if field is None else _joined(field, term.op, args)
        known = None if field is None or codes is None else _among(field, codes)
        if known is not None:
            told.append(known[1] if known[0] >= inner else f"({known[1]})")
        else:
            told.extend(said(system, arg, level=inner) for arg in args)
    return (AND if term.op is Op.AND else OR), word.join(told)


def _alike(system: System, term: Term, denied: bool) -> Said | None:
    if term.reads.bit_count() != 2 or len(term.args) > MOST_CASES or term.reads.bit_length() > len(system.fields):
        return None
    fields = [system.fields[v.index] for v in variables(term)]
    if prod(field.domain.size for field in fields) > MOST_CASES or any(field.domain.kind is not DomainKind.ENUM for field in fields):
        return None
    return _same(fields[0], fields[1], {codes for codes, holds in _cases(term, fields) if holds != denied})


def _looked_up(system: System, term: Term) -> Said | None:
    """A table read by the code of a field: a multiple of the number that the field is, or case by case."""
    (at,) = term.args
    if at.op is not Op.FIELD or at.variable.index >= len(system.fields):
        return None
    field = system.fields[at.variable.index]
    if field.kind in _SLOTS | NO_WORDS or field.domain.lo != 0 or field.domain.size != len(term.entries):
        return None
    factor = _factor(field, term.entries)
    if factor is not None:
        return PRODUCT, f"{field.name} * {factor}"
    if len(set(term.entries)) > MOST_ENTRIES:
        return None
    *others, last = dict.fromkeys(term.entries)
    told = ""
    for entry in others:
        among = _among(field, [code for code, value in enumerate(term.entries) if value == entry])
        told += "" if among is None else f"if {among[1]} then {entry} else "
    return IF, f"{told}{last}"


def _factor(field: Field, entries: tuple[int, ...]) -> Fraction | None:
    """What the values of a field of numbers are multiplied by in the table."""
    try:
        values = [Fraction(field.domain.show(code)) for code in range(field.domain.size)]
    except ValueError:
        return None
    factors = {Fraction(entry) / value for entry, value in zip(entries, values, strict=True) if value}
    zeros = all(entry == 0 for entry, value in zip(entries, values, strict=True) if not value)
    return factors.pop() if len(factors) == 1 and zeros else None


def _compared(system: System, term: Term, denied: bool) -> Said | None:
    """The text of a comparison or a Boolean field, or of its denial. None: as it stands."""
    read = variables(term)
    if any(v.index >= len(system.fields) or system.fields[v.index].kind in NO_WORDS for v in read):
        return None
    fields = [system.fields[v.index] for v in read]
    if term.op is Op.FIELD:
        return _flag(fields[0], denied)
    if _natural(system, term):
        return _turned(system, term) if denied and term.op in {Op.LT, Op.LE} else None
    if not fields or prod(field.domain.size for field in fields) > MOST_CASES or len(fields) > 2:
        return None
    true_of = [codes for codes, holds in _cases(term, fields) if holds != denied]
    if len(fields) == 1:
        return _among(fields[0], [code for (code,) in true_of])
    return _related(fields[0], fields[1], true_of)


def _flag(field: Field, denied: bool) -> Said:
    """A Boolean field; of a set-valued one, `red in box.held`."""
    element, inside, owner = field.name.partition(" in ")
    if inside:
        return COMPARE, f"{element} {'not in' if denied else 'in'} {owner}"
    return (NOT, f"not {field.name}") if denied else (ATOM, field.name)


def _natural(system: System, term: Term) -> bool:
    """Whether the comparison may stand as it is: between whole numbers, or of an enumeration with its members or with another like it."""
    if all(_whole(system, arg) for arg in term.args):
        return True
    left = term.args[0]
    if left.op is not Op.FIELD or system.fields[left.variable.index].kind in _SLOTS | NO_WORDS:
        return False
    domain = system.fields[left.variable.index].domain
    if term.op is Op.MEMBER:
        return all(domain.lo <= code <= domain.hi for code in term.members)
    right = term.args[-1]
    if term.op is Op.EQ and right.op is Op.FIELD:
        return system.fields[right.variable.index].domain == domain
    return term.op is Op.EQ and right.op is Op.CONST and domain.lo <= right.value <= domain.hi


def _whole(system: System, term: Term) -> bool:
    """Whether a term is a whole number as it is written: it reads no code of anything, but for what its conditions read."""
    seen: set[Term] = set()  # terms share: as trees they can be huge
    stack = [term]
    while stack:
        part = stack.pop()
        if part in seen:
            continue
        seen.add(part)
        if part.op is Op.FIELD:
            if system.fields[part.variable.index].domain.kind is not DomainKind.INT:
                return False
        elif part.op is Op.LOOKUP and _looked_up(system, part) is not None:
            continue
        elif part.op not in _NUMERIC:
            return False
        stack.extend(part.args[1:] if part.op is Op.ITE else part.args)
    return True


def _turned(system: System, term: Term) -> Said:
    """`a >= b`, the denial of `a < b`."""
    one, other = (show(arg, _names(system), leaf=_leaf(system), level=COMPARE + 1) for arg in term.args)
    return COMPARE, f"{one} {'>=' if term.op is Op.LT else '>'} {other}"


def _cases(term: Term, fields: list[Field]) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Every choice of codes for the fields that the term reads, and whether it holds there."""
    state = [0] * (fields[-1].index + 1)
    for codes in product(*(range(f.domain.lo, f.domain.hi + 1) for f in fields)):
        for field, code in zip(fields, codes, strict=True):
            state[field.index] = code
        yield codes, bool(scalar.evaluate(term, tuple(state)))


def _among(field: Field, codes: list[int]) -> Said | None:
    """That the field has one of these codes, in ascending order; None where a package cannot say it."""
    if not codes or len(codes) == field.domain.size:
        return ATOM, "true" if codes else "false"
    if field.kind == "artifact":
        return _artifact(field, codes)
    if field.kind == "certificate":
        return _certificate(field, codes)
    words = [field.domain.show(code) for code in codes]
    others = [field.domain.show(code) for code in range(field.domain.lo, field.domain.hi + 1) if code not in codes]
    few, word, only = (words, "in", "==") if len(words) <= len(others) else (others, "not in", "!=")
    return COMPARE, f"{field.name} {only} {few[0]}" if len(few) == 1 else f"{field.name} {word} {{{', '.join(few)}}}"


def _artifact(field: Field, codes: list[int]) -> Said:
    present, live = f"present({field.name})", f"live({field.name})"
    match [field.domain.show(code) for code in codes]:
        case ["absent"]:
            return NOT, f"not {present}"
        case ["live"]:
            return ATOM, live
        case ["spent"]:
            return AND, f"{present} and not {live}"
        case ["absent", "live"]:
            return OR, f"not {present} or {live}"
        case ["absent", "spent"]:
            return NOT, f"not {live}"
        case _:
            return ATOM, present


def _certificate(field: Field, codes: list[int]) -> Said | None:
    """`active(c) or pending(c)`; with absence among the codes, what it is not."""
    words = {field.domain.show(code) for code in codes}
    waits = {name for name in field.domain.names if name.startswith("pending")}
    if words & waits not in (set(), waits):
        return None
    asked = [query for query in _QUERIES if query in field.domain.names or (query == "pending" and waits)]
    met = [query for query in asked if query in words or (query == "pending" and words & waits)]
    if "absent" not in words:
        return (ATOM if len(met) == 1 else OR), " or ".join(f"{query}({field.name})" for query in met)
    unmet = [query for query in asked if query not in met]
    return (NOT if len(unmet) == 1 else AND), " and ".join(f"not {query}({field.name})" for query in unmet)


def _same(one: Field, other: Field, found: set[tuple[int, ...]]) -> Said | None:
    """`a == b` or `a != b`, where that is what these pairs of codes are."""
    if (_SLOTS | NO_WORDS) & {one.kind, other.kind}:
        return None
    cases = set(product(range(one.domain.lo, one.domain.hi + 1), range(other.domain.lo, other.domain.hi + 1)))
    same = {(a, b) for a, b in cases if one.domain.show(a) == other.domain.show(b)}
    if found not in (same, cases - same) or not same:
        return None
    return COMPARE, f"{one.name} {'==' if found == same else '!='} {other.name}"


def _related(one: Field, other: Field, pairs: list[tuple[int, ...]]) -> Said | None:
    """What two fields are to each other: the same, or not; else case by case."""
    found = set(pairs)
    alike = _same(one, other, found)
    if alike is not None:
        return alike
    told: list[str] = []
    rows: dict[tuple[int, ...], list[int]] = {}
    for a in range(one.domain.lo, one.domain.hi + 1):
        right = tuple(b for b in range(other.domain.lo, other.domain.hi + 1) if (a, b) in found)
        rows.setdefault(right, []).append(a)
    for right, left in rows.items():
        if not right:
            continue
        both = (_among(one, left), _among(other, list(right)))
        said = [part for part in both if part is not None and part != (ATOM, "true")]
        if None in both:
            return None
        told.append(" and ".join(text if level >= NOT else f"({text})" for level, text in said) or "true")
    return (OR if len(told) > 1 else AND), " or ".join(told) or "false"
