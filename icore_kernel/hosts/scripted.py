"""A host that does what a file says, line after line: for tests, demonstrations and runs that are to be repeated.

A line is one of

    finish(ana, unit)                      the occurrence that is proposed next; its actor is scheduled
    wait                                   whoever is scheduled does nothing
    revise: assign(cy, unit)               the answer to the next request for a recovery
    revise: a(x); b(y)                     a recovery of several steps, in order
    {"update": "finish(ana, unit)", "agent": "bo"}
    {"changes": {"assignee(unit)": "ana", "able(ana, unit)": "active"}, "agent": "ana"}
    {"revise": [{"update": "a(x)"}, {"changes": {…}}], "agent": "cy"}
    # a comment; empty lines are allowed

and a JSON line may carry `outside`, an object for the record. The script is one sequence: while its next line is a recovery that was not
asked for yet, and after its end, agents wait; a recovery that is asked for while the next line is none is answered by waiting. A line
whose agent was scheduled and never asked (it is no agent of the package) is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from icore_kernel.audit.host import Candidate, Choice, CodeOrName, Json, Proposal, Schedule, Step, View
from icore_kernel.hosts.mistakes import HostError, ScriptError, nearest
from icore_kernel.hosts.strict import StrictError, read_json
from icore_kernel.record.canonical import CanonicalError, canonical
from icore_kernel.system import System

LONGEST = 10 * 2**20
"""Bytes of a script that are read."""

_KEYS = {"update", "changes", "revise", "wait", "agent", "outside"}
_DOES = ("update", "changes", "revise", "wait")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a script. No steps: to wait. `agent` is who proposes it, empty where the script leaves that to the occurrence."""

    number: int
    steps: tuple[Step, ...]
    revision: bool = False
    agent: str = ""
    outside: Mapping[str, Json] = field(default_factory=dict)


class ScriptedHost:
    """The lines in order. It remembers how many were used: one object plays one run."""

    name = "scripted"
    features = False

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = tuple(lines)
        self._next = 0
        self._scheduled = -1
        """The line that the last schedule was made for."""

    @classmethod
    def read(cls, path: str | Path, system: System | None = None) -> ScriptedHost:
        """The script in a file. With a `system` names are looked up at once, else the audit refuses what does not exist.

        Raises ScriptError for a wrong line, HostError for a file that is no text or too long, OSError where it cannot be read.
        """
        file = Path(path)
        with file.open("rb") as opened:
            content = opened.read(LONGEST + 1)
        if len(content) > LONGEST:
            raise HostError(f"{file}: a script above {LONGEST:,} bytes")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as wrong:
            raise HostError(f"{file}: byte {wrong.start} is not UTF-8") from wrong
        return cls(read_lines(text, str(file), system))

    @property
    def left(self) -> int:
        """Lines that were not used yet."""
        return len(self.lines) - self._next

    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        if self._scheduled == self._next:
            self._next += 1
        line = self._ahead(revision=False)
        self._scheduled = -1 if line is None else self._next
        if line is None or not line.steps:
            return Choice(line.agent if line is not None and line.agent else enabled[0].actor, enabled[0])
        wanted = squeezed(line.steps[0].update or "")
        named = next((c for c in (*enabled, *view.attempts) if squeezed(c.update) == wanted), None)
        agent = line.agent or (named.actor if named is not None else enabled[0].actor)
        return Choice(agent, min(enabled, key=lambda c: _distance(c, wanted, named, agent)))

    def step(self, agent: str, view: View) -> Proposal:
        return self._answer(revision=False)

    def revise(self, agent: str, view: View) -> Proposal:
        return self._answer(revision=True)

    def _ahead(self, revision: bool) -> Line | None:
        line = self.lines[self._next] if self._next < len(self.lines) else None
        return line if line is not None and line.revision == revision else None

    def _answer(self, revision: bool) -> Proposal:
        line = self._ahead(revision)
        if line is None:
            return Proposal()
        self._next += 1
        return Proposal(line.steps, line.outside)


def _distance(c: Candidate, wanted: str, named: Candidate | None, agent: str) -> tuple[int, int]:
    """How far a candidate is from what the script does next: itself, what it is a fault of, the same work, the same agent, any."""
    if squeezed(c.update) == wanted:
        return (0, c.number)
    if named is not None and c.binding == named.binding and named.schema.split(".")[0] == c.schema:
        return (1, c.number)
    if named is not None and c.actor == agent and c.works == named.works:
        return (2, c.number)
    return (3 if c.actor == agent else 4, c.number)


def squeezed(name: str) -> str:
    """A name without its spaces: `finish(ana,unit)` and `finish(ana, unit)` are one occurrence."""
    return "".join(name.split())


# ---- reading ----------------------------------------------------------------------------------------------------------------


def read_lines(text: str, script: str = "script", system: System | None = None) -> tuple[Line, ...]:
    """The lines of a script. Raises ScriptError for the first wrong one."""
    reader = _Reader(script, system)
    # Only these end a line: a record may hold any other character, and `splitlines` knows more of them.
    lines = text.replace("\r\n", "\n").split("\n")
    return tuple(reader.line(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#")


class _Reader:
    def __init__(self, script: str, system: System | None) -> None:
        self.script = script
        self.updates = None if system is None else {squeezed(u.name): u.name for u in system.updates}
        self.fields = None if system is None else {squeezed(f.name): f.name for f in system.fields}
        self.number = 0

    def wrong(self, what: str) -> ScriptError:
        return ScriptError(self.script, self.number, what)

    def line(self, number: int, text: str) -> Line:
        self.number = number
        if text.startswith("{"):
            return self._object(text)
        text = text.partition("#")[0].strip()
        head, colon, rest = text.partition(":")
        if colon and head.strip() == "revise":
            return Line(number, () if rest.strip() == "wait" else tuple(self._named(part) for part in rest.split(";")), revision=True)
        if text == "wait":
            return Line(number, ())
        return Line(number, (self._named(text),))

    def _named(self, text: str) -> Step:
        text = text.strip()
        if not text:
            raise self.wrong("the name of an occurrence is expected, such as `finish(ana, unit)`")
        if self.updates is None:
            return Step(text)
        known = self.updates.get(squeezed(text))
        if known is None:
            raise self.wrong(f"{text[:200]!r} is no occurrence{nearest(text[:200], [*self.updates.values(), 'wait', 'revise:'])}")
        return Step(known)

    def _object(self, text: str) -> Line:
        try:
            found = read_json(text)
        except StrictError as broken:
            raise self.wrong(str(broken)) from broken
        try:
            canonical(found)
        except CanonicalError as wrong:
            raise self.wrong(f"no record can hold this: {wrong}") from wrong
        for key in found:
            if key not in _KEYS:
                raise self.wrong(f"the key {key[:80]!r} is not known{nearest(key, _KEYS) or '; known: ' + ', '.join(sorted(_KEYS))}")
        does = [key for key in _DOES if key in found]
        if len(does) != 1:
            raise self.wrong(f"one of {', '.join(_DOES)} is expected, and {' and '.join(does) or 'none'} is there")
        agent, outside = found.get("agent", ""), found.get("outside", {})
        if not isinstance(agent, str):
            raise self.wrong("`agent` is a name")
        if not isinstance(outside, dict):
            raise self.wrong("`outside` is an object")
        match found:
            case {"revise": list(steps)}:
                return Line(self.number, tuple(self._step(step) for step in steps), True, agent, outside)
            case {"revise": _}:
                raise self.wrong("`revise` is a list of steps")
            case {"wait": True}:
                return Line(self.number, (), False, agent, outside)
            case {"wait": _}:
                raise self.wrong("`wait` is true or not there")
        own = {key: value for key, value in found.items() if key in ("update", "changes")}
        return Line(self.number, (self._step(own),), False, agent, outside)

    def _step(self, step: object) -> Step:
        match step:
            case {"update": str(name), **rest} if not rest:
                return self._named(name)
            case {"changes": dict(changes), **rest} if not rest:
                return Step(changes=dict(self._change(name, value) for name, value in changes.items()))
        raise self.wrong('a step is {"update": "…"} or {"changes": {…}}')

    def _change(self, name: str, value: object) -> tuple[str, CodeOrName]:
        if not isinstance(value, bool | int | str):
            raise self.wrong(f"the value of {name[:80]!r} is true, false, a whole number or a name")
        if self.fields is None:
            return name, value
        known = self.fields.get(squeezed(name))
        if known is None:
            raise self.wrong(f"{name[:200]!r} is no field{nearest(name[:200], self.fields.values())}")
        return known, value
