"""An explanation as a person reads it, as JSON (schema `icore.explain/1`), as a graph in DOT, and as W3C PROV-JSON."""

from __future__ import annotations

from collections.abc import Iterator

from icore_kernel.record.conditions import shown
from icore_kernel.record.explain import Explanation, Fact
from icore_kernel.record.history import START
from icore_kernel.record.prov import Document, identifier
from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.version import VERSION

EXPLAIN = "icore.explain/1"
_READ = 8
"""Fields that a condition read, of which a line tells; JSON tells of all."""
_SHAPES = {"assertion": "box", "certificate": "note", "artifact": "ellipse", "input": "house", "event": "cds"}


def explanation_lines(found: Explanation) -> Iterator[Line]:
    """A tree under each goal; what is needed again is named with the line where it stands."""
    asked = ", ".join(found.works) or ", ".join(found.goals)
    yield line(Piece(found.package, Part.STRONG), f" · why {asked} {_stands(found)}, after entry {found.at:,}")
    yield line()
    lines: dict[str, int] = {}
    count = 0
    width = len(str(len(found.facts) * 2))
    stack = [(goal, 0) for goal in reversed(found.goals)]
    while stack:
        id, depth = stack.pop()
        fact = found.facts[id]
        if fact.kind == "event":
            continue
        count += 1
        head = f"  {count:>{width}}  {'  ' * depth}"
        if id in lines:
            yield line(head, id, Piece(f"  see {lines[id]}", Part.DIM))
            continue
        lines[id] = count
        said = _said(fact)
        yield line(head, Piece(f"{id}{said}", Part.STRONG if depth == 0 else Part.PLAIN), Piece(f"  {_origin(fact)}", Part.DIM))
        for words in _conditions(fact):
            yield line(f"  {'':>{width}}  {'  ' * (depth + 1)}", Piece(words, Part.DIM))
        stack.extend((need, depth + 1) for need in reversed(fact.needs))
    yield line()
    events = sum(1 for fact in found.facts.values() if fact.kind == "event")
    inputs = sum(1 for fact in found.facts.values() if fact.kind == "input")
    rests = number(len(found.facts) - events, "fact") + f", {number(events, 'event')}"
    yield line(Piece(f"{rests}, down to {number(inputs, 'input')}", Part.GOOD))


def _stands(found: Explanation) -> str:
    if len(found.works) != 1:
        return "stand" if len(found.works) > 1 else "stands"
    status = found.facts.get(f"status({found.works[0]})")
    return f"is {status.says}" if status is not None else "stands"


def _said(fact: Fact) -> str:
    """What stands after the name: the value of an assertion, the fields of an artifact or an input."""
    if not fact.says:
        return ""
    match fact.kind:
        case "assertion":
            return f" = {fact.says}"
        case "artifact" | "input":
            return f": {fact.says}"
        case _:
            return ""


def _conditions(fact: Fact) -> Iterator[str]:
    """Each condition of a certificate, and the values that it read: `valid when report.passed`, `reading report.passed = true`."""
    for condition in fact.conditions:
        then = "" if condition.entry is None else f" at entry {condition.entry:,}"
        read = [f"{name} = {shown(value)}" for name, value in condition.reads]
        more = f" and {number(len(read) - _READ, 'field')} more" if len(read) > _READ else ""
        yield f"{condition.word}{then} {condition.text or 'a condition that is too long for a line'}"
        yield f"  reading {', '.join(read[:_READ])}{more}"


def _origin(fact: Fact) -> str:
    """Who made it, when and how: the occurrence."""
    event = f"entry {fact.entry:,}, {fact.update}" if fact.update else f"entry {fact.entry:,}"
    match fact.kind:
        case "assertion":
            return "from the start" if fact.entry == START else event
        case "certificate":
            return f"evidence of {fact.says}, " + ("from the start" if fact.entry == START else event)
        case "artifact":
            return f"artifact, {event}"
        case _:
            return "input" if fact.entry == START else f"input, observed at {event}"


def explanation_json(found: Explanation, record: str) -> dict[str, object]:
    facts = [
        {
            "id": fact.id, "kind": fact.kind, "name": fact.name, "says": fact.says, "entry": fact.entry, "agent": fact.agent,
            "operation": fact.operation, "update": fact.update, "needs": list(fact.needs),
            "conditions": [
                {"word": c.word, "text": c.text or None, "reads": dict(c.reads), "entry": c.entry} for c in fact.conditions
            ],
        }
        for fact in found.facts.values()
    ]  # fmt: skip
    return {
        "schema": EXPLAIN,
        "icore": VERSION,
        "record": record,
        "package": found.package,
        "at": found.at,
        "works": list(found.works),
        "goals": list(found.goals),
        "facts": facts,
    }


def explanation_dot(found: Explanation) -> str:
    """Edges point from what is needed to what needs it, as time goes."""
    rows = ["digraph explanation {", "  rankdir=LR;", '  node [fontname="monospace"];']
    for fact in found.facts.values():
        label = f"{fact.name}{_said(fact)}"
        entry = "" if fact.entry == START else f"\\nentry {fact.entry}"
        entry += "".join(f"\\n{_escaped(words)}" for words in _conditions(fact))
        goal = ", penwidth=2" if fact.id in found.goals else ""
        rows.append(f'  {quoted(fact.id)} [shape={_SHAPES[fact.kind]}, label="{_escaped(label)}{entry}"{goal}];')
    for fact in found.facts.values():
        rows.extend(f"  {quoted(need)} -> {quoted(fact.id)};" for need in fact.needs)
    return "\n".join([*rows, "}"]) + "\n"


def quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def explanation_prov(found: Explanation) -> dict[str, object]:
    """Facts are entities, events activities, their actors agents: an assertion is derived from its evidence, that from its premises."""
    document = Document()
    names = {fact.id: identifier(fact.kind, fact.id) for fact in found.facts.values()}
    for fact in found.facts.values():
        own = names[fact.id]
        if fact.kind == "event":
            document.activity(own, "Event", fact.name, entry=fact.entry, operation=fact.operation)
            document.associated(own, document.agent(fact.agent))
            continue
        document.entity(own, fact.kind.capitalize(), fact.name, says=fact.says, entry=fact.entry, conditions="\n".join(_conditions(fact)))
        for need in fact.needs:
            if found.facts[need].kind == "event":
                document.generated(own, names[need])
            else:
                document.derived(own, names[need])
    return document.json()
