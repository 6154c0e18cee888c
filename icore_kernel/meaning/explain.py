"""Why a formula fails in a state: its smallest failing sub-formulas, with the values in them."""

from __future__ import annotations

from dataclasses import dataclass

from icore_kernel.meaning.scalar import HANDLERS, State
from icore_kernel.terms.node import SortError, Term, postorder, variables
from icore_kernel.terms.table import Op, Sort

_ALTERNATIVES = 3
"""Up to this many failing alternatives are each explained; of more, the whole disjunction is the explanation."""


@dataclass(frozen=True, slots=True)
class Failure:
    """`term` is not what it has to be: it had to be `wanted`. `because` are the antecedents that made it binding.

    `values` are the variables it reads with their values there (a bool for a BOOL field, else the code), in field order.
    """

    term: Term
    wanted: bool
    values: tuple[tuple[str, int], ...]
    because: tuple[Term, ...] = ()
    note: str = ""


def explain(term: Term, state: State, limit: int = 3) -> list[Failure]:
    """The failures of a BOOL `term` in `state`: empty where it holds; of a conjunction at most `limit` parts, the rest counted."""
    if term.sort is not Sort.BOOL:
        raise SortError(f"only a BOOL term can fail, not {term!r}")
    truth: dict[Term, int] = {}
    for part in postorder((term,)):
        truth[part] = HANDLERS[part.op](part, [truth[arg] for arg in part.args], state)
    failures: list[Failure] = []
    pending: list[tuple[Term, bool, tuple[Term, ...], str]] = [] if truth[term] else [(term, True, (), "")]
    explained: set[tuple[Term, bool]] = set()
    while pending:
        part, wanted, because, note = pending.pop()
        if (part, wanted) in explained:
            continue
        explained.add((part, wanted))
        inner = _narrowed(part, wanted, truth, limit)
        if inner is None:
            own = "" if part.op not in (Op.AND, Op.OR) else _none_of(part, wanted)
            values = tuple((variable.name, _value(state, variable.index, variable.boolean)) for variable in variables(part))
            failures.append(Failure(part, wanted, values, because, "; ".join(text for text in (own, note) if text)))
        else:
            parts, binding, more = inner
            remark = f"{more} more parts fail" if more else ""
            because = because if binding is None or binding in because else (*because, binding)
            pending.extend((below, want, because, remark or note) for below, want in reversed(parts))
    return failures


def _value(state: State, index: int, boolean: bool) -> int:
    return bool(state[index]) if boolean else int(state[index])


def _none_of(part: Term, wanted: bool) -> str:
    if part.op is Op.OR and wanted:
        return f"none of its {len(part.args)} alternatives holds"
    return f"all of its {len(part.args)} parts hold"


def _narrowed(part: Term, wanted: bool, truth: dict[Term, int], limit: int) -> tuple[list[tuple[Term, bool]], Term | None, int] | None:
    """The parts to blame with what each had to be, an antecedent to record, and how many more there are; None for a leaf."""
    match part.op:
        case Op.NOT:
            return [(part.args[0], not wanted)], None, 0
        case Op.AND | Op.OR if (part.op is Op.AND) == wanted:
            wrong = [arg for arg in part.args if bool(truth[arg]) is not wanted]
            return [(arg, wanted) for arg in wrong[:limit]], None, max(0, len(wrong) - limit)
        case Op.AND | Op.OR if 0 < len(part.args) <= _ALTERNATIVES:
            return [(arg, wanted) for arg in part.args], None, 0
        case Op.IMPLIES:
            condition, consequent = part.args
            if truth[condition]:
                return [(consequent, wanted)], condition, 0
            return [(condition, True)], None, 0
        case _:
            return None
