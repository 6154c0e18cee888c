"""Terms as JSON and back: a list of nodes, arguments before the terms they are in, fields by name."""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.prove.steps import field_terms
from icore_kernel.system import System
from icore_kernel.terms.node import SortError, Term, postorder
from icore_kernel.terms.table import Op, Variable
from icore_kernel.terms.term import TermBank

Record = dict[str, object]


class TermError(Exception):
    """The record is of no terms over this system; the message says where."""


def record_of(terms: Sequence[Term]) -> Record:
    """`nodes`: [operator, places of the arguments, payload]; `terms`: the places of the terms themselves."""
    places: dict[Term, int] = {}
    nodes: list[list[object]] = []
    for term in postorder(terms):
        match term.payload:
            case Variable(name=name):
                payload: object = name
            case frozenset() as members:
                payload = sorted(members)
            case tuple() as entries:
                payload = list(entries)
            case other:
                payload = other
        places[term] = len(nodes)
        nodes.append([term.op.value, [places[arg] for arg in term.args], payload])
    return {"nodes": nodes, "terms": [places[term] for term in terms]}


def terms_of(record: object, system: System, bank: TermBank) -> tuple[Term, ...]:
    """The terms of a record, in a bank of the system. TermError where it is none."""
    fields = {f.name: term for f, term in zip(system.fields, field_terms(system, bank), strict=True)}
    made: list[Term] = []
    try:
        assert isinstance(record, dict)
        for op, places, payload in record["nodes"]:
            made.append(_node(bank, fields, Op(op), tuple(made[place] for place in places), payload))
        found = tuple(made[place] for place in record["terms"])
    except (AssertionError, LookupError, TypeError, ValueError, SortError) as wrong:
        why = f": {wrong}" if isinstance(wrong, (ValueError, SortError)) else ""
        raise TermError(f"node {len(made)} is no term{why}") from wrong
    return found


def _node(bank: TermBank, fields: dict[str, Term], op: Op, args: tuple[Term, ...], payload: object) -> Term:
    match op, payload:
        case Op.FIELD, str():
            if payload not in fields:
                raise ValueError(f"there is no field {payload}")
            return fields[payload]
        case Op.CONST, bool():
            return bank.boolean(payload)
        case Op.CONST, int():
            return bank.integer(payload)
        case Op.MEMBER, list():
            return bank.build(op, args, frozenset(payload))
        case Op.LOOKUP, list():
            return bank.build(op, args, tuple(payload))
        case _, None:
            return bank.build(op, args)
        case _:
            raise ValueError(f"{op.value} with {payload!r}")
