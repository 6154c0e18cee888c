"""Saved runs (`--save-run`, schema `icore.run/1`) and their replay in the scalar meaning.

A run is kept as a list of updates by name, never as states: replaying computes every state anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, Failing, Mode, State, Unaudited
from icore_kernel.meaning import scalar
from icore_kernel.rewriting.witness import Course, breaks
from icore_kernel.runs import step_of
from icore_kernel.system import Domain, DomainKind, PropertyKind, System
from icore_kernel.verdict import Run, Step

SCHEMA = "icore.run/1"


class RunError(Exception):
    """A saved run that cannot be read, or does not fit the package; the message says what and where."""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run with what identifies its system. `initial` holds every field's printed initial value where it was free.

    `unaudited` is as on the command line: False, True (every fault), or the names of those that commit.
    """

    package: str
    version: str
    digests: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    unaudited: bool | tuple[str, ...]
    breaks: str
    initial: tuple[tuple[str, str], ...]
    steps: tuple[str, ...]
    offending: str | None = None
    cycle: tuple[str, ...] = ()

    @staticmethod
    def of(system: System, run: Run, breaks: str, settings: Mapping[str, str], unaudited: bool | tuple[str, ...]) -> SavedRun:
        return SavedRun(
            package=system.name,
            version=system.version,
            digests=digests(system),
            settings=tuple(sorted(settings.items())),
            unaudited=unaudited,
            breaks=breaks,
            initial=run.initial,
            steps=tuple(step.update for step in run.steps),
            offending=None if run.offending is None else run.offending.update,
            cycle=tuple(step.update for step in run.cycle),
        )

    @property
    def mode(self) -> Mode:
        if self.unaudited is False:
            return Audited()
        return Unaudited(None if self.unaudited is True else frozenset(self.unaudited))


def digests(system: System) -> tuple[tuple[str, str], ...]:
    return (("package", system.package_digest), ("theory", system.theory_digest), ("fields", system.fields_digest))


def save(path: Path, run: SavedRun) -> None:
    """Write a run. OSError when the place cannot be written."""
    record = {
        "schema": SCHEMA,
        "package": run.package,
        "version": run.version,
        "digests": dict(run.digests),
        "settings": dict(run.settings),
        "unaudited": run.unaudited,
        "breaks": run.breaks,
        "initial": dict(run.initial),
        "steps": run.steps,
        "offending": run.offending,
        "cycle": run.cycle,
    }
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _is_words(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair)


def _is_names(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_saved_run(path: Path) -> bool:
    """Whether a file begins as `save` writes one. A line of a record never does: it has no spaces between its parts."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip().startswith(f'{{\n  "schema": "{SCHEMA}"'.encode())
    except OSError:
        return False


def read(path: Path) -> SavedRun:
    """Read a saved run. RunError says which key is wrong; OSError when the file cannot be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as wrong:
        raise RunError(f"{path}: not a saved run: {wrong}") from wrong
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        found = record.get("schema") if isinstance(record, dict) else type(record).__name__
        raise RunError(f"{path}: not a saved run: schema {SCHEMA} is expected, found {found!r}")

    def word(key: str) -> str:
        value = record.get(key)
        if not isinstance(value, str):
            raise RunError(f"{path}: `{key}` must be a text")
        return value

    def words(key: str) -> tuple[tuple[str, str], ...]:
        value = record.get(key)
        if not _is_words(value):
            raise RunError(f"{path}: `{key}` must map texts to texts")
        return tuple(value.items())

    steps, unaudited, offending = record.get("steps"), record.get("unaudited"), record.get("offending")
    cycle = record.get("cycle", [])
    if not _is_names(steps):
        raise RunError(f"{path}: `steps` must be a list of the names of updates")
    if not _is_names(cycle):
        raise RunError(f"{path}: `cycle` must be a list of the names of updates")
    if not (isinstance(unaudited, bool) or _is_names(unaudited)):
        raise RunError(f"{path}: `unaudited` must be true, false, or a list of names")
    if not (offending is None or isinstance(offending, str)):
        raise RunError(f"{path}: `offending` must be the name of an update, or null")
    return SavedRun(
        package=word("package"),
        version=word("version"),
        digests=words("digests"),
        settings=words("settings"),
        unaudited=unaudited if isinstance(unaudited, bool) else tuple(unaudited),
        breaks=word("breaks"),
        initial=words("initial"),
        steps=tuple(steps),
        offending=offending,
        cycle=tuple(cycle),
    )


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """One step as it went: `enabled` when its `when` held; `committed` when it took place; `failing` why it is not legal."""

    step: Step
    enabled: bool
    committed: bool
    failing: tuple[Failing, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found. It ends at the first step that does not commit.

    * `steps`: those replayed, then those of the cycle once round; the offending one (if the run has one) not among them;
    * `offending`: how that one went; it bears the run out when it is enabled and not legal;
    * `false_at_end`: the invariants and the clauses of feasibility and soundness that are false in the last state;
    * `broken`: whether the run breaks what it was saved for; None where one run cannot show it.
    """

    run: SavedRun
    steps: tuple[ReplayedStep, ...]
    offending: ReplayedStep | None
    false_at_end: tuple[str, ...]
    broken: bool | None

    @property
    def committed(self) -> bool:
        """Whether each step was enabled and committed."""
        return len(self.steps) == len(self.run.steps) + len(self.run.cycle) and all(step.committed for step in self.steps)

    @property
    def borne_out(self) -> bool:
        """Whether the run is one of this system, ends in an occurrence that may not commit where it says so, and breaks what it was
        saved for as far as one run can show it."""
        if not self.committed or self.broken is False:
            return False
        return self.run.offending is None or (self.offending is not None and self.offending.enabled and bool(self.offending.failing))


def replay(system: System, run: SavedRun) -> Replay:
    """Replay a run on a system. RunError for a field, a value or an update that the system does not have."""
    numbers = {update.name: number for number, update in enumerate(system.updates)}
    for name in (*run.steps, *run.cycle, *filter(None, (run.offending,))):
        if name not in numbers:
            raise RunError(f"the package has no update `{name}`: the run was saved from another text of it")
    states = [_initial(system, run)]
    steps: list[ReplayedStep] = []
    for name in (*run.steps, *run.cycle):
        went, after = _take(system, run.mode, numbers[name], states[-1])
        steps.append(went)
        if after is None:
            break
        states.append(after)
    offending = broken = None
    if all(step.committed for step in steps):
        if run.offending is None:
            stem, cycle = states[: len(run.steps) + 1], states[len(run.steps) + 1 :]
            broken = breaks(system, run.mode, run.breaks, Course(tuple(stem), tuple(cycle), tuple(numbers[name] for name in run.cycle)))
        else:
            offending, _ = _take(system, run.mode, numbers[run.offending], states[-1])
    return Replay(run, tuple(steps), offending, _false(system, states[-1]), broken)


def _initial(system: System, run: SavedRun) -> State:
    state = list(system.initial)
    places = {field.name: field for field in system.fields}
    for name, shown in run.initial:
        if name not in places:
            raise RunError(f"the package has no field `{name}`: the run was saved from another text of it")
        state[places[name].index] = code_of(places[name].domain, name, shown)
    if not scalar.evaluate(system.initially, state):
        raise RunError("the run starts in a state that is not an initial state of the package")
    return tuple(state)


def code_of(domain: Domain, field: str, shown: str) -> int:
    """The code of a printed value. RunError when the domain has no such value."""
    if domain.kind is DomainKind.INT:
        negative = shown.startswith("-")
        digits = shown.removeprefix("-")
        code = int(digits) * (-1 if negative else 1) if digits.isdecimal() and len(digits) < 20 else domain.hi + 1
        if domain.lo <= code <= domain.hi:
            return code
    else:
        for code in range(domain.lo, domain.hi + 1):
            if domain.show(code) == shown:
                return code
    raise RunError(f"`{field}` has no value {shown}")


def _take(system: System, mode: Mode, number: int, state: State) -> tuple[ReplayedStep, State | None]:
    update = system.updates[number]
    enabled = judge.occurs(update, state)
    failing = judge.failing(system, update, state) if enabled else ()
    after = judge.committed(system, mode, number, state)
    step = step_of(system, number, state, judge.successor(update, state))
    return ReplayedStep(step, enabled, after is not None, failing), after


def _false(system: System, state: State) -> tuple[str, ...]:
    invariants = [(p.name, p.formula) for p in system.properties if p.kind is PropertyKind.INVARIANT]
    clauses = [(clause.label, clause.formula) for clause in (*system.feasibility, *system.soundness)]
    return tuple(dict.fromkeys(name for name, formula in (*invariants, *clauses) if not scalar.evaluate(formula, state)))
