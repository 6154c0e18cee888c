"""An independent check of definition 7, from the entries of a record alone (design 3, Theorems as tests).

Nothing here is of the kernel: no term, no state and no clause of its. The formulas of the first entry are evaluated anew, every
commit's changes are made to a state of its own, whose digests are computed anew, and evidence is judged by fixpoints of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, KeysView, Mapping
from hashlib import sha256
from typing import Any

MOST, LARGEST = 20, 4096  # problems that are said; bits of a number (a forged formula must not take for ever)
OF_A_STATE = {"refusal", "feedback", "internal", "end"}
LOST = (("artifact", "spent"), ("certificate", "revoked"), ("certificate", "superseded"))
PART = {"present": "Q", "status": "Q", "assignee": "Q", "marker": "Q", "signature": "Q", "relation": "Q", "reported": "Q",
        "artifact": "G", "afield": "G", "ifield": "G", "certificate": "Pi", "cfield": "Pi"}  # fmt: skip
OPERATORS: Mapping[str, Callable[[list[int], Any], int]] = {
    "not": lambda a, _: not a[0], "and": lambda a, _: all(a), "or": lambda a, _: any(a), "implies": lambda a, _: not a[0] or bool(a[1]),
    "iff": lambda a, _: bool(a[0]) == bool(a[1]), "eq": lambda a, _: a[0] == a[1], "lt": lambda a, _: a[0] < a[1],
    "le": lambda a, _: a[0] <= a[1], "member": lambda a, among: a[0] in among, "add": lambda a, _: sum(a), "sub": lambda a, _: a[0] - a[1],
    "neg": lambda a, _: -a[0], "mul": lambda a, _: a[0] * a[1], "div": lambda a, _: a[0] // a[1] if a[1] else 0,
    "mod": lambda a, _: a[0] % a[1] if a[1] else 0, "min": lambda a, _: min(a), "max": lambda a, _: max(a),
    "ite": lambda a, _: a[1] if a[0] else a[2], "abs": lambda a, _: abs(a[0]),
    "lookup": lambda a, table: table[a[0]] if 0 <= a[0] < len(table) else 0,
}  # fmt: skip


def check(entries: Iterable[Any]) -> list[str]:
    """What is wrong with a record's entries (objects or mappings with kind, seq and body); empty where nothing is."""
    problems: list[str] = []
    run: Run | None = None
    for entry in entries:
        kind, seq, body = (entry[k] if isinstance(entry, Mapping) else getattr(entry, k) for k in ("kind", "seq", "body"))
        try:
            begun, run = run, run or Run(kind, body)
            found = begun.follow(kind, body) if begun else run.opened()
        except (AttributeError, LookupError, TypeError, ValueError) as wrong:
            return [*problems, f"entry {seq} ({kind}): not as the format says: {type(wrong).__name__}: {str(wrong)[:120]}"]
        problems += [f"entry {seq} ({kind}): {problem}" for problem in found]
    return problems[:MOST]


class Run:
    """The state that a record's entries lead to, and the evidence of each assertion's present epoch."""

    def __init__(self, kind: str, body: Mapping[str, Any]) -> None:
        if kind != "open":
            raise ValueError("the first entry of a record is its opening")
        declared = self.declared = body["declared"]
        kinds = ("fields", "obligations", "assertions", "certificates", "artifacts")
        self.fields, self.works, self.assertions, self.certificates, self.artifacts = (
            {item["name"]: item for item in declared[kind]} for kind in kinds)  # fmt: skip
        self.slots = {n: c["name"] for c in declared["certificates"] for n in c["fields"] if self.fields[n]["kind"] == "certificate"}
        self.rules = sha256(f"{body['theory']['digest']} {body['package']['digest']}".encode()).hexdigest()
        self.said: str = body["digest"]
        self.state: dict[str, Any] = {name: body["state"][name] for name in self.fields}
        self.values: list[int] = []
        self.under = {(c["name"], claim["assertion"]) for c in self.certificates.values() if c["starts"] for claim in c["claims"]}
        self.held = {name: bool(c["starts"]) for name, c in self.certificates.items()}  # its captured premises held at its issue
        self.ended = False
        self.evaluate()

    def code(self, name: str) -> int:
        value, values = self.state[name], self.fields[name]["values"]
        if type(values[0]) is not type(value) or not (values[0] <= value <= values[1] if type(value) is int else value in values):
            raise ValueError(f"{name} cannot be {value!r}")
        return value if type(value) is int else values.index(value)

    def digest(self) -> str:
        return sha256(json.dumps(list(self.state.values()), ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()

    def evaluate(self) -> None:
        values, codes = self.values, [self.code(name) for name in self.fields]
        values.clear()
        for op, first, *payload in self.declared["formulas"]:
            value = int(first) if op == "const" else codes[first] if op == "field" else (
                OPERATORS[op]([values[arg] for arg in first], payload[0] if payload else None))  # fmt: skip
            if value.bit_length() > LARGEST:
                raise ValueError(f"formula {len(values)} has a value of {value.bit_length()} bits")
            values.append(value)

    def on(self, number: int) -> bool:
        return bool(self.values[number])

    def premises(self, c: Mapping[str, Any], kind: str, captured: bool = False) -> list[str]:
        return [p["target"] for p in c["premises"] if p["kind"] == kind and p["captured"] == captured and self.on(p["when"])]

    def claims(self, c: Mapping[str, Any]) -> list[str]:
        """The assertions that it claims, with the values they have now."""
        return [claim["assertion"] for claim in c["claims"] for way in claim["ways"] if self.on(way["where"]) and (way["values"] is None
                or any(self.state.get(way["field"], way["then"]) == value and self.on(n) for value, n in way["values"]))]  # fmt: skip

    def evidence(self) -> tuple[list[str], list[str], dict[str, str]]:
        """The valid and the anchored certificates, and of each justified assertion one that supports it: least, in order of derivation."""
        every = self.certificates
        inner = {name: set(self.premises(c, "certificate")) for name, c in every.items()}
        outer = {name for name, c in every.items() if self.premises(c, "input")}
        sound = [name for name, c in every.items() if self.on(c["active"]) and self.on(c["rule"]) and self.on(c["conditions"])
                 and self.held[name] and all(self.on(self.artifacts[z]["present"]) for z in self.premises(c, "artifact"))]  # fmt: skip
        valid = _least(sound, lambda name, found: found >= inner[name])
        anchored = _least(every, lambda name, found: name in outer or not found.isdisjoint(inner[name]))
        support: dict[str, str] = {}

        def rests(name: str, found: KeysView[str]) -> bool:
            reaches = name in anchored or not every[name]["starts"]
            if holds := reaches and found >= inner[name] and support.keys() >= set(self.premises(every[name], "assertion")):
                support.update((a, name) for a in self.claims(every[name]) if (name, a) in self.under and a not in support)
            return holds

        _least(valid, rests)
        return valid, anchored, support

    def captures(self, c: Mapping[str, Any]) -> bool:
        """Whether its captured premises hold, asked in the state that its issue makes."""
        wanted = [*c["captured"], *(self.artifacts[z]["present"] for z in self.premises(c, "artifact", True))]
        inner = set(self.premises(c, "certificate", True))
        return all(map(self.on, wanted)) and (not inner or inner <= set(self.evidence()[0]))

    def asserted(self, a: Mapping[str, Any]) -> bool:
        """Whether an assertion is made: by the fields that carry it, or by its formula."""
        work, values = self.works.get(a["about"]), [self.state[name] for name in a["carriers"]]
        there = work is not None and self.on(work["present"])
        told = {"node": there, "status": there, "assignment": there and [*values, work["assignee_then"]][0] != "none"} if work else {}
        if values:
            some = any(value != "none" for value in values)
            told |= {"signature": there and some, "removal": some, "relation": values[0], "terminal": values[0]}
        return bool(told.get(a["kind"])) or self.on(a["holds"])

    def judged(self, wrong: Mapping[str, bool]) -> list[str]:
        """With A.4(2): every assertion that is made is justified. That is definition 7 for all work, and not only for that of W(X)."""
        found, support = [what for what, so in wrong.items() if so], self.evidence()[2]
        lacking = (name for name, a in self.assertions.items() if name not in support and self.asserted(a))
        return found + [f"{name} is asserted, and no valid evidence supports it" for name in lacking]

    def opened(self) -> list[str]:
        wrong = {f"{name} is active, and was not issued": self.on(c["active"]) != c["starts"] for name, c in self.certificates.items()}
        return self.judged({**wrong, "the digest is not that of the state": self.digest() != self.said})

    def follow(self, kind: str, body: Mapping[str, Any]) -> list[str]:
        if kind == "seal" or (kind == "commit" and not self.ended):
            return self.commit(body) if kind == "commit" else []
        outcome, late = body["outcome"] if kind == "end" else "", self.ended
        self.ended = late or outcome not in {"", "interrupted"}
        report = self.assertions.get(f"terminal({outcome})")
        wrong = {
            "no such kind of entry, or after the end": kind not in OF_A_STATE | {"wait", "diagnosis"} or late,
            "it speaks of another state than the present one": kind in OF_A_STATE and body["state"] != self.said,
            "it ends as no standing report says": outcome in {"stuck", "budget"} and not (report and self.asserted(report)),
            "other weights than the work's": any(self.works[w]["weight"] != n for w, n in body.get("matched", {}).items()),
        }
        return [what for what, so in wrong.items() if so]

    def commit(self, body: Mapping[str, Any]) -> list[str]:
        graph, work, audit, issued = body["G"], body["Q"], body["Pi"], body["Pi"]["issued"]
        retracted = (audit["revoked"], audit["superseded"])
        parts = {"G": graph["changed"], "Q": work["changed"], "Pi": audit["changed"], "other": body["other"]}
        changed = {name: pair for part in parts.values() for name, pair in part.items()}
        became = {name: (self.fields[name]["kind"], new) for name, (_, new) in changed.items()}
        lost = [sorted(n for n, new in became.items() if new == what) for what in LOST]
        appeared = {c for n, c in self.slots.items() if n in changed and changed[n][1] not in {"revoked", "superseded"}
                    and not changed[n][0].startswith("pending")}  # fmt: skip
        delegated = body["phase"] == "recovery" and body["operation"] in {"assign", "reassign", "unassign"}
        wrong = {
            "it is not found legal by the rules of the package": body["rules"] != self.rules or body["solver"]["answer"] != "legal",
            "the state before is another": body["before"] != self.said,
            "a value before is another": any(self.state[name] != old or old == new for name, (old, new) in changed.items()),
            "a change stands in the wrong part": any(PART.get(became[n][0], "other") != p for p, own in parts.items() for n in own),
            "it is for another to do": body["actor"] not in {body["agent"], "nobody"} and not delegated,
            "something else is lost": lost != [sorted(names) for names in (graph["spent"], *retracted)],
            "what is observed is something else": graph["observed"] != {n: new for n, (kind, new) in became.items() if kind == "ifield"},
            "evidence becomes active that was not issued": not appeared <= set(issued),
            "evidence is issued by somebody else than its issuer": any(  # in the state before
                not any(who == body["actor"] and self.on(n) for who, n in issuers)
                for issuers in (self.certificates[c]["issuers"] for c in issued) if issuers is not None),
        }  # fmt: skip
        self.state.update((name, new) for name, (_, new) in changed.items())
        self.evaluate()
        anew = set(work["established"])
        gone = {self.slots[name] for names in retracted for name in names}
        self.under = {(c, a) for c, a in self.under if c not in gone and a not in anew}
        self.under |= {(c, claim["assertion"]) for c in issued for claim in self.certificates[c]["claims"]}
        self.held.update(dict.fromkeys(issued, False))
        while more := [c for c in issued if not self.held[c] and self.captures(self.certificates[c])]:
            self.held.update(dict.fromkeys(more, True))
        self.said = body["after"]
        carried = {a for a, said in self.assertions.items() if not changed.keys().isdisjoint(said["carriers"])}
        wrong["an assertion changes that is not established anew"] = not carried <= anew
        wrong["what is emitted is not so"] = any(self.state[n] != v for z in graph["emitted"] for n, v in z["fields"].items())
        wrong["the digest is not that of the state after"] = self.digest() != self.said
        return self.judged(wrong)


def _least(names: Collection[str], holds: Callable[[str, KeysView[str]], bool]) -> list[str]:
    """The least set of names each of which holds by those that came before it, in the order in which they came."""
    found: dict[str, None] = {}
    while more := [name for name in names if name not in found and holds(name, found.keys())]:
        found.update(dict.fromkeys(more))
    return list(found)
