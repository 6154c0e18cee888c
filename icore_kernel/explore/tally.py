"""The running counts of a search, shared by all engines, and the rules that end it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction
from typing import Any

from icore_kernel.explore import judge
from icore_kernel.explore.memory import anonymous, resident, show_size
from icore_kernel.explore.model import (
    ANSWERED,
    LEGALITY,
    Coverage,
    DeadEnds,
    Exploration,
    Extent,
    FinalityBreak,
    Mode,
    Progress,
    Rules,
    Sighting,
    StepGraph,
    Store,
    Violation,
    Watchlist,
)
from icore_kernel.system import System

FIRST_TOLD, TOLD_EVERY, WEIGHED_EVERY = 1.0, 0.25, 0.02
"""Seconds: before the first progress, between two, between two looks at the memory."""

SMALL_SIZE = 2**20
"""Bytes that may be taken without a look at the memory."""


class Stop(Exception):
    """Ends a search from within; the argument is the reason as it is reported."""

    @property
    def reason(self) -> str:
        return str(self.args[0])


class Clock:
    """Time, memory and interruption. `check` raises Stop when a rule says so, and reports progress a few times a second."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.started = time.monotonic()
        self.phase = "search"
        # Progress is for long work only: nothing is told in the first second.
        self._told = self.started + FIRST_TOLD - TOLD_EVERY
        self._weighed = self.started
        self._steps = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def enter(self, phase: str) -> None:
        """What the search is at from now on."""
        self.phase = phase

    def check(self, states: int = 0, steps: int = 0, frontier: int = 0, depth: int = 0, coming: int = 0) -> None:
        """`steps` of 0 are those told last; `coming`: bytes that are about to be taken."""
        now = time.monotonic()
        self._steps = steps or self._steps
        if self.rules.timeout is not None and now - self.started + self.rules.spent >= self.rules.timeout:
            raise Stop(f"timeout {self.rules.timeout:g} s")
        if self.rules.interrupted is not None and self.rules.interrupted():
            raise Stop("interrupted")
        if self.rules.max_memory is not None and (coming > SMALL_SIZE or now - self._weighed > WEIGHED_EVERY):
            self._weighed = now
            self.take(coming)
        if self.rules.progress is not None and now - self._told > TOLD_EVERY:
            self._told = now
            seconds = now - self.started
            self.rules.progress(Progress(states, self._steps, frontier, depth, seconds, self.phase, resident()))

    def take(self, coming: int) -> None:
        """Stop rather than take so many bytes more than the rules allow."""
        if self.rules.max_memory is not None and anonymous() + coming > self.rules.max_memory:
            raise Stop(f"max-memory {show_size(self.rules.max_memory)}")


class Tally:
    """Counts by update index, by (schema, label), by watchlist place. `first` numbers are kept least."""

    def __init__(self, system: System, watchlist: Watchlist, rules: Rules) -> None:
        self.system = system
        self.watchlist = watchlist
        self.rules = rules
        count = len(system.updates)
        self.enabled = [0] * count
        self.committable = [0] * count
        self.committed = [0] * count
        self.steps = 0
        self.stutters = 0
        self.refusals: Counter[tuple[str, str]] = Counter()
        self.passed: Counter[str] = Counter()
        self.violations: dict[tuple[str, str], tuple[int, int, int]] = {}
        self.checks: list[tuple[int, int | None]] = [(0, None)] * len(watchlist.checks)
        self.seen: list[tuple[int, int | None]] = [(0, None)] * len(watchlist.seen)
        self.extents: list[Extent] = [Extent()] * len(watchlist.minimums)
        self.quiet = 0
        self.unended = 0
        self.first_dead: int | None = None
        self.due: str | None = None
        """The reason to stop, once a rule of `stop_on` has been met."""

    def violation(self, schema: str, label: str, count: int, state: int, update: int) -> None:
        known = self.violations.get((schema, label))
        if known is None:
            self.violations[schema, label] = (count, state, update)
        else:
            self.violations[schema, label] = (known[0] + count, *min(known[1:], (state, update)))
        if LEGALITY in self.rules.stop_on and self.due is None:
            self.due = f"violated {LEGALITY}"

    def check(self, place: int, count: int, first: int) -> None:
        """`count` more states violate a check, the least of them `first`."""
        self.checks[place] = _more(self.checks[place], count, first)
        name = self.watchlist.checks[place][0]
        if name in self.rules.stop_on and self.due is None:
            self.due = f"violated {name}"

    def sight(self, place: int, count: int, first: int) -> None:
        self.seen[place] = _more(self.seen[place], count, first)
        name = self.watchlist.seen[place][0]
        if name in self.rules.stop_on and self.due is None:
            self.due = f"reached {name}"

    def measure(self, place: int, value: Fraction, state: int) -> None:
        """One value that occurs, and a state that has it."""
        extent = self.extents[place]
        if extent.least is None or extent.least_at is None or (value, state) < (extent.least, extent.least_at):
            extent = replace(extent, least=value, least_at=state)
        if extent.greatest is None or extent.greatest_at is None or (-value, state) < (-extent.greatest, extent.greatest_at):
            extent = replace(extent, greatest=value, greatest_at=state)
        self.extents[place] = extent

    def dead(self, quiet: int, unended: int, first: int | None) -> None:
        self.quiet += quiet
        self.unended += unended
        if first is not None and self.first_dead is None:
            self.first_dead = first

    def begin_level(self) -> None:
        """Before a level is expanded, all of whose states were looked at: raises Stop where every question of `stop_when` is answered."""
        if not self.rules.stop_when:
            return
        met = {name for (name, _), (count, _) in zip(self.watchlist.checks, self.checks, strict=True) if count}
        met |= {name for (name, _), (count, _) in zip(self.watchlist.seen, self.seen, strict=True) if count}
        if self.violations:
            met.add(LEGALITY)
        stop_when_met(self.rules, met)

    def record(self) -> dict[str, Any]:
        """All counts as JSON has them, for a checkpoint; nothing in it changes later."""
        return {
            "enabled": list(self.enabled),
            "committable": list(self.committable),
            "committed": list(self.committed),
            "steps": self.steps,
            "stutters": self.stutters,
            "refusals": [[*key, count] for key, count in self.refusals.items()],
            "passed": dict(self.passed),
            "violations": [[*key, *found] for key, found in self.violations.items()],
            "checks": [list(found) for found in self.checks],
            "seen": [list(found) for found in self.seen],
            "extents": [[_text(e.least), e.least_at, _text(e.greatest), e.greatest_at] for e in self.extents],
            "quiet": self.quiet,
            "unended": self.unended,
            "first_dead": self.first_dead,
        }

    def restore(self, record: Mapping[str, Any]) -> None:
        """The counts of a record of a search that asked the same."""
        self.enabled, self.committable, self.committed = record["enabled"], record["committable"], record["committed"]
        self.steps, self.stutters = record["steps"], record["stutters"]
        self.refusals = Counter({(name, label): count for name, label, count in record["refusals"]})
        self.passed = Counter(record["passed"])
        self.violations = {(schema, label): (count, state, update) for schema, label, count, state, update in record["violations"]}
        self.checks = [(count, first) for count, first in record["checks"]]
        self.seen = [(count, first) for count, first in record["seen"]]
        self.extents = [Extent(_exact(least), at, _exact(greatest), there) for least, at, greatest, there in record["extents"]]
        self.quiet, self.unended, self.first_dead = record["quiet"], record["unended"], record["first_dead"]

    def conclude(
        self,
        mode: Mode,
        engine: str,
        levels: list[int],
        store: Store,
        stopped: str | None,
        finality: tuple[FinalityBreak | None, bool],
        graph: StepGraph | None,
        seconds: float,
    ) -> Exploration:
        system = self.system
        # A search may end before its last level has a state.
        while levels and not levels[-1]:
            levels = levels[:-1]
        states = sum(levels)
        dead = DeadEnds(self.quiet, self.unended, self.first_dead)
        if self.first_dead is not None:
            dead = replace(dead, refused=judge.refused(system, mode, store.state(self.first_dead)))
        violations = [
            Violation(schema, label, count, state, update, judge.failing(system, system.updates[update], store.state(state)))
            for (schema, label), (count, state, update) in self.violations.items()
        ]
        violations.sort(key=lambda violation: (violation.state, violation.update, violation.label))
        checks = {name: Sighting(*found) for (name, _), found in zip(self.watchlist.checks, self.checks, strict=True)}
        seen = {name: Sighting(*found) for (name, _), found in zip(self.watchlist.seen, self.seen, strict=True)}
        return Exploration(
            system=system,
            mode=mode,
            engine=engine,
            states=states,
            steps=self.steps,
            stutters=self.stutters,
            depth=max(0, len(levels) - 1),
            levels=tuple(levels),
            coverage=tuple(map(Coverage, self.enabled, self.committable, self.committed)),
            refusals=dict(sorted(self.refusals.items())),
            passed=dict(sorted(self.passed.items())),
            violations=tuple(violations),
            checks=checks,
            seen=seen,
            minimums={measure.name: extent for measure, extent in zip(self.watchlist.minimums, self.extents, strict=True)},
            dead_ends=dead,
            finality=finality[0],
            finality_checked=finality[1],
            graph=graph,
            stopped=stopped,
            seconds=seconds,
            store=store,
        )


def stop_when_met(rules: Rules, met: Set[str]) -> None:
    """Raises Stop where `met` answers every question of `stop_when`."""
    if rules.stop_when and not any(question.isdisjoint(met) for question in rules.stop_when):
        raise Stop(ANSWERED)


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _exact(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _more(known: tuple[int, int | None], count: int, first: int) -> tuple[int, int | None]:
    return (known[0] + count, first if known[1] is None else min(known[1], first))


def add(tally: Tally, told: Tally, weight: int) -> None:
    """What states of one orbit length tell, for all states of their orbits."""
    for mine, its in ((tally.enabled, told.enabled), (tally.committable, told.committable), (tally.committed, told.committed)):
        for number, count in enumerate(its):
            mine[number] += weight * count
    tally.steps += weight * told.steps
    tally.stutters += weight * told.stutters
    for key, count in told.refusals.items():
        tally.refusals[key] += weight * count
    for name, count in told.passed.items():
        tally.passed[name] += weight * count
    for (schema, label), (count, state, update) in told.violations.items():
        tally.violation(schema, label, weight * count, state, update)
    tally.dead(weight * told.quiet, weight * told.unended, told.first_dead)


def share(tally: Tally, updates: Sequence[Sequence[int]], shared: Sequence[Sequence[int]], whole: bool) -> None:
    """What happened to any update of an orbit happened as often to each of them, over all states of an orbit together; and what was
    seen of formulas that go over into one another, as often of each. The sums divide evenly once all states are counted."""
    for places in shared:
        for place in places:
            count, first = tally.seen[place]
            tally.seen[place] = (count // len(places), first)
    for counts in (tally.enabled, tally.committable, tally.committed):
        for orbit in updates:
            total = sum(counts[number] for number in orbit)
            if whole and total % len(orbit):
                raise AssertionError("the occurrences of symmetric updates are not as many")
            for number in orbit:
                counts[number] = total // len(orbit)
