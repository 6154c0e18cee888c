"""What a record says of its package, once, in its first entry: enough to check every commit without the package (definition 7).

Formulas are the grounded terms, as one list of nodes that name earlier ones by number: `["field", i]`, `["const", v]`,
`[op, [arguments]]` or `[op, [arguments], payload]`. Values in formulas are codes: a field's value is its place in `values`,
or the integer itself where `values` is `[low, high]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from icore_kernel.audit.tables import Tables
from icore_kernel.system import DomainKind, Field, System
from icore_kernel.terms.node import Term, postorder
from icore_kernel.terms.table import Op


class _Nodes:
    """Terms to numbers; what they share is written once."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self._known: dict[Term, int] = {}

    def number(self, term: Term) -> int:
        for part in postorder((term,), self._known):
            self._known[part] = len(self.nodes)
            self.nodes.append(self._node(part))
        return self._known[term]

    def _node(self, term: Term) -> list[Any]:
        match term.op:
            case Op.CONST:
                return ["const", term.value if abs(term.value) < 2**53 else str(term.value)]
            case Op.FIELD:
                return ["field", term.variable.index]
        args = [self._known[arg] for arg in term.args]
        match term.op:
            case Op.MEMBER:
                return [term.op.value, args, sorted(term.members)]
            case Op.LOOKUP:
                return [term.op.value, args, list(term.entries)]
        return [term.op.value, args]


def declared(system: System, tables: Tables) -> dict[str, Any]:
    """The tables as JSON: fields, agents, obligations, relations, inputs, artifacts, certificates, assertions, formulas."""
    nodes = _Nodes()
    number = nodes.number
    found: dict[str, Any] = {
        "fields": [{"name": f.name, "kind": f.kind, "values": _values(f)} for f in system.fields],
        "agents": list(tables.agents),
        "obligations": [
            {
                "name": w.name, "type": w.type, "weight": str(w.weight), "required": w.required, "latent": w.latent,
                "present": number(w.present), "status": w.status.name if w.status else None, "status_then": w.status_then,
                "assignee": w.assignee.name if w.assignee else None, "assignee_then": w.assignee_then,
            }
            for w in tables.works.values()
        ],
        "relations": [
            {
                "name": r.name, "contributes": list(r.contributes), "facts": [list(pair) for pair in r.facts],
                "changing": [[a, b, f.name] for a, b, f in r.changing],
            }
            for r in tables.relations
        ],
        "inputs": [{"name": n.name, "schema": n.schema, "fields": [f.name for f in n.fields]} for n in tables.inputs.values()],
        "artifacts": [
            {
                "name": n.name, "schema": n.schema, "present": number(n.present), "live": number(n.live),
                "fields": [f.name for f in n.fields],
            }
            for n in tables.artifacts.values()
        ],
        "assertions": [
            {"name": a.name, "kind": a.kind, "about": a.about, "holds": number(a.holds), "carriers": [f.name for f in a.carriers]}
            for a in tables.assertions.values()
        ],
        "certificates": [
            {
                "name": c.name, "schema": c.schema, "issuer": c.issuer, "issuers": _cases(c.issuers, number), "starts": c.starts,
                "active": number(c.active), "rule": number(c.rule), "conditions": number(c.conditions),
                "captured": [number(term) for term in c.captured], "fields": [f.name for f in c.fields],
                "premises": [
                    {"kind": p.kind, "target": p.target, "when": number(p.when), "captured": p.captured} for p in c.premises
                ],
                "claims": [
                    {
                        "assertion": claim.assertion,
                        "ways": [
                            {
                                "where": number(way.where), "field": way.field.name if way.field else None, "then": way.then,
                                "values": _cases(way.values, number),
                            }
                            for way in claim.ways
                        ],
                    }
                    for claim in c.claims
                ],
            }
            for c in tables.certificates.values()
        ],
    }  # fmt: skip
    found["formulas"] = nodes.nodes
    return found


def _cases(cases: tuple[tuple[str, Term], ...] | None, number: Callable[[Term], int]) -> list[list[Any]] | None:
    return None if cases is None else [[value, number(term)] for value, term in cases]


def _values(field: Field) -> list[Any]:
    match field.domain.kind:
        case DomainKind.BOOL:
            return [False, True]
        case DomainKind.INT:
            return [field.domain.lo, field.domain.hi]
        case DomainKind.ENUM:
            return list(field.domain.names)
