"""Whether an explanation is one: checked against the lines of its record, by nothing of icore.

`wrong(entries, explanation)` says what is wrong, of entries and of an explanation as JSON has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

Entries = list[dict[str, Any]]
RETRACTED = {"revoked", "superseded"}


class Told:
    """What the entries up to `at` tell, by name: the state, and the last event that established, issued or emitted it."""

    def __init__(self, entries: Entries, at: int) -> None:
        self.opening = entries[0]["body"]
        self.declared = self.opening["declared"]
        self.state = dict(self.opening["state"])
        self.commits: dict[int, dict[str, Any]] = {}
        self.established: dict[str, int] = {}
        self.issued = {c["name"]: 0 for c in self.declared["certificates"] if c["starts"]}
        self.emitted: dict[str, int] = {}
        self.observed: dict[str, int] = {}
        for number, entry in enumerate(entries[: at + 1]):
            if entry["kind"] == "commit":
                self._commit(number, entry["body"])
        self.values: list[Any] = []
        for number in range(len(self.declared["formulas"])):
            self.values.append(self._node(number))

    def _commit(self, number: int, body: dict[str, Any]) -> None:
        self.commits[number] = body
        for part in (body["G"]["changed"], body["Q"]["changed"], body["Pi"]["changed"], body["other"]):
            self.state.update((name, after) for name, (_, after) in part.items())
        self.established.update(dict.fromkeys(body["Q"]["established"], number))
        self.issued.update(dict.fromkeys(body["Pi"]["issued"], number))
        self.emitted.update((z["artifact"], number) for z in body["G"]["emitted"])
        for given in self.declared["inputs"]:
            if set(given["fields"]) & set(body["G"]["observed"]):
                self.observed[given["name"]] = number

    def _node(self, number: int) -> Any:
        op, args, *rest = self.declared["formulas"][number]
        if op == "const":
            return args
        if op == "field":
            field = self.declared["fields"][args]
            value = self.state[field["name"]]
            return value if type(value) is not str else field["values"].index(value)
        a = [self.values[arg] for arg in args]
        match op:
            case "not":
                return not a[0]
            case "and":
                return all(a)
            case "or":
                return any(a)
            case "implies":
                return not a[0] or bool(a[1])
            case "iff" | "eq":
                return a[0] == a[1]
            case "lt":
                return a[0] < a[1]
            case "le":
                return a[0] <= a[1]
            case "member":
                return a[0] in rest[0]
            case "ite":
                return a[1] if a[0] else a[2]
            case "add":
                return sum(a)
            case "sub":
                return a[0] - a[1]
            case "mul":
                return reduce(lambda x, y: x * y, a)
            case "lookup":
                return rest[0][a[0]] if 0 <= a[0] < len(rest[0]) else 0
        raise AssertionError(f"the test knows no {op}")

    def reads(self, number: int) -> dict[str, Any]:
        """The fields in a formula, with their values."""
        op, args, *_ = self.declared["formulas"][number]
        if op == "const":
            return {}
        if op == "field":
            name = self.declared["fields"][args]["name"]
            return {name: self.state[name]}
        return {name: value for arg in args for name, value in self.reads(arg).items()}

    def sources(self, fields: dict[str, Any]) -> set[str]:
        """The inputs, and the artifacts that are there, whose fields they are."""
        owners = [*self.declared["inputs"], *(z for z in self.declared["artifacts"] if self.values[z["present"]])]
        return {owner["name"] for owner in owners if set(owner["fields"]) & set(fields)}

    def premises(self, certificate: dict[str, Any], captured: bool) -> set[str]:
        return {p["target"] for p in certificate["premises"] if p["captured"] is captured and self.values[p["when"]]}


def wrong(entries: Entries, explanation: dict[str, Any]) -> list[str]:
    return list(_wrong(entries, explanation))


def _wrong(entries: Entries, explanation: dict[str, Any]) -> Iterator[str]:
    facts = {fact["id"]: fact for fact in explanation["facts"]}
    if len(facts) != len(explanation["facts"]):
        yield "a fact twice"
    tells: dict[int, Told] = {}
    for id, fact in facts.items():
        name, _, past = id.partition("@")
        at = int(past) if past else explanation["at"]
        told = tells.setdefault(at, Told(entries, at))
        missing = [need for need in fact["needs"] if need not in facts]
        if missing:
            yield f"{id}: {missing} are not there"
            continue
        needs = [facts[need] for need in fact["needs"]]
        then = tells.setdefault(fact["entry"], Told(entries, fact["entry"]))
        yield from (f"{id}: {what}" for what in _fact(told, then, name, past, fact, needs))
        if _reaches_itself(facts, id):
            yield f"{id} rests on itself"
    if not explanation["goals"] or any(goal not in facts for goal in explanation["goals"]):
        yield "a goal is not explained"
    if not any(fact["kind"] == "input" for fact in facts.values()):
        yield "it reaches no input"
    used = {need for fact in facts.values() for need in fact["needs"]} | set(explanation["goals"])
    if used != set(facts):
        yield f"{set(facts) - used} explain nothing"


def _fact(told: Told, then: Told, name: str, past: str, fact: dict[str, Any], needs: list[dict[str, Any]]) -> Iterator[str]:
    events = [need for need in needs if need["kind"] == "event"]
    rest = [need for need in needs if need["kind"] != "event"]
    suffix = f"@{past}" if past else ""
    entry = fact["entry"]
    if fact["kind"] == "event":
        if needs or entry not in told.commits or told.commits[entry]["update"] != fact["name"]:
            yield "no such commit"
        return
    if [event["entry"] for event in events] != ([entry] if entry else []):
        yield "not by the event that it names"
    if events and (events[0]["agent"], events[0]["operation"]) != (told.commits[entry]["actor"], told.commits[entry]["operation"]):
        yield "by somebody else, or as another operation"
    if events and (fact["agent"], fact["update"]) != (told.commits[entry]["actor"], told.commits[entry]["update"]):
        yield "by somebody else, or by another update"
    match fact["kind"]:
        case "input":
            if rest or name not in {i["name"] for i in told.declared["inputs"]} or entry != told.observed.get(name, 0):
                yield "no input that was seen then"
        case "artifact":
            if rest or told.emitted.get(name) != entry or told.state.get(name) == "absent":
                yield "not emitted then"
        case "certificate":
            yield from _certificate(told, then, name, suffix, fact, rest)
        case "assertion":
            yield from _assertion(told, name, suffix, fact, rest)
        case _:
            yield "of no kind"


def _certificate(told: Told, then: Told, name: str, suffix: str, fact: dict[str, Any], rest: list[dict[str, Any]]) -> Iterator[str]:
    """`then`: what was told when it was issued."""
    entry = fact["entry"]
    certificate = next(c for c in told.declared["certificates"] if c["name"] == name)
    if told.issued.get(name) != entry:
        yield "not issued then"
    if not told.values[certificate["active"]] or told.state.get(name) in RETRACTED:
        yield "not active"
    if not told.values[certificate["rule"]] or not told.values[certificate["conditions"]]:
        yield "not valid under its conditions"
    flags = {f["name"] for f in told.declared["fields"] if f["kind"] == "captured"}
    read = {name: value for n in ("rule", "conditions") for name, value in told.reads(certificate[n]).items() if name not in flags}
    asked = {name: value for n in certificate["captured"] if entry for name, value in then.reads(n).items()}
    said = {True: {}, False: {}}
    for condition in fact["conditions"]:
        said[condition["entry"] is None].update(condition["reads"])
        if condition["entry"] not in {None, entry}:
            yield "a condition that was asked at another entry"
    if said != {True: read, False: asked}:
        yield "its conditions read something else"
    live = {target + suffix for target in told.premises(certificate, False) | told.sources(read)}
    given = {need["id"] for need in rest}
    if not live <= given:
        yield f"it also rests on {live - given}"
    others = given - live
    captured = {p["target"] for p in certificate["premises"] if p["captured"]} | then.sources(asked)
    if any(other.rpartition("@")[2] != str(entry) or other.rpartition("@")[0] not in captured for other in others):
        yield f"it does not rest on {others}"
    if not {f"{source}@{entry}" for source in then.sources(asked)} <= others:
        yield "it does not rest on all that its captured premises read"


def _assertion(told: Told, name: str, suffix: str, fact: dict[str, Any], rest: list[dict[str, Any]]) -> Iterator[str]:
    assertion = next(a for a in told.declared["assertions"] if a["name"] == name)
    if not told.values[assertion["holds"]]:
        yield "not asserted"
    if [need["kind"] for need in rest] != ["certificate"] or rest[0]["id"] != rest[0]["name"] + suffix:
        yield "it has no certificate, or several"
        return
    support = next(c for c in told.declared["certificates"] if c["name"] == rest[0]["name"])
    if name not in {claim["assertion"] for claim in support["claims"]}:
        yield f"{support['name']} does not claim it"
    if assertion["carriers"] and told.established.get(name, 0) != fact["entry"]:
        yield "not established then"
    if rest[0]["entry"] < fact["entry"]:
        yield f"{support['name']} is evidence of an earlier epoch"
    for way in (way for claim in support["claims"] if claim["assertion"] == name for way in claim["ways"]):
        now = way["then"] if way["field"] is None else told.state[way["field"]]
        if told.values[way["where"]] and (way["values"] is None or any(v == now and told.values[n] for v, n in way["values"])):
            break
    else:
        yield f"{support['name']} claims another value"


def _reaches_itself(facts: dict[str, dict[str, Any]], start: str) -> bool:
    seen: set[str] = set()
    stack = list(facts[start]["needs"])
    while stack:
        at = stack.pop()
        if at == start:
            return True
        if at not in seen and at in facts:
            seen.add(at)
            stack.extend(facts[at]["needs"])
    return False
