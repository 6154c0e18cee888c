"""The search by the C kernel: blocks of states, bit-sliced; states are numbered exactly as by the search in plain Python.

The kernel takes some blocks at a time, so that Ctrl-C, time and progress are looked after every few hundredths of a second. What it
counted is read once, at the end.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from itertools import accumulate, chain
from math import prod
from time import perf_counter
from typing import IO, TYPE_CHECKING

from icore_kernel.explore import _kernel
from icore_kernel.explore.ahead import Ahead
from icore_kernel.explore.judge import roles
from icore_kernel.explore.layout import lay_out
from icore_kernel.explore.memory import anonymous, available, show_size
from icore_kernel.explore.model import LEGALITY, Exploration, FinalityBreak, Mode, Rules, StepGraph, Watchlist
from icore_kernel.explore.native_store import NativeStore
from icore_kernel.explore.native_tables import EXPAND, LOOK, Measured, Tables
from icore_kernel.explore.scalar_search import initial_states
from icore_kernel.explore.tally import Clock, Stop, Tally, stop_when_met
from icore_kernel.system import System

# NumPy is imported where it is needed: a search without checkpoints, finality and steps does not need it.
if TYPE_CHECKING:
    from icore_kernel.explore.blocks import Words
    from icore_kernel.explore.native_kept import Kept


class Status(Enum):
    """What `advance` comes back with, as in search.h."""

    MORE = 0
    LEVEL_DONE = 1
    FULL = 2
    EXHAUSTED = 3
    DUE = 4


_TURN = 0.05
"""Seconds of work in one call of the kernel, about."""

_FEW = 4096
"""So many candidates for an initial state are looked at one by one."""

_PLAIN = 2000
"""The step graph of so few states is walked in plain Python, without NumPy's start-up."""

_LONG = 100_000
"""From so many states on, what is wanted after the search is imported meanwhile, where there is a core for it."""

_WIDE = 6 * _kernel.BLOCK
"""A level of fewer states is not worth a second thread."""

_SPILL_AT = 0.75
"""Of the memory that is available at the start: what is more goes to disk."""


class NativeSearch:
    """One search. Unsupported where a term has no circuit; ValueError for a field too wide."""

    def __init__(self, system: System, watchlist: Watchlist, rules: Rules, mode: Mode, clock: Clock, turn: int | None = None) -> None:
        self.system = system
        self.watchlist = watchlist
        self.rules = rules
        self.mode = mode
        self.clock = clock
        self.layout = lay_out(system.fields)
        self.roles = roles(system, mode)
        self.tables = Tables(system, self.layout, self.roles, watchlist, rules)
        self.search = self._new()
        self.store = NativeStore(self.search, system, mode, self.layout)
        self.tally = Tally(system, watchlist, rules)
        self.levels: list[int] = []
        self.final_states = 0
        """How many are final; known once what was counted is collected."""
        self._turn = turn
        """Blocks a call, where it is fixed."""
        # A core that others use as well does no harm here: the imports would be due in any case.
        self._ahead = Ahead(rules.wanted if rules.cores != 1 and cores() > 1 else ())
        self._kept = self._keeping()

    def _keeping(self) -> Kept | None:
        asked = self.rules.checkpoints
        if asked is None:
            return None
        from icore_kernel.explore.checkpoint import Folder
        from icore_kernel.explore.native_kept import Kept

        folder = Folder.of(asked, self.system, self.watchlist, self.rules, self.mode, "native", more=1)
        return Kept(folder, self.search, self.layout.words)

    def _new(self) -> object:
        tables, rules = self.tables, self.rules
        most = -1 if rules.max_states is None else rules.max_states
        room = 0 if rules.max_memory is None else max(1, rules.max_memory - anonymous())
        search: object = _kernel.new(self.layout.words, len(self.system.updates), most, room)
        file = spill_file()
        if file is not None:
            with file:
                _kernel.spill(search, file.fileno(), int(_SPILL_AT * available()) if rules.spill_at is None else rules.spill_at)
        for which, program in tables.programs.items():
            _kernel.program(search, which, program.registers, program.counters, program.gates, program.loads, program.kept)
        slots, edges = len(tables.slots), int(rules.keep_graph)
        _kernel.moves(
            search, slots, int(tables.judging), tables.ends, edges, tables.moves, tables.masks, tables.values, tables.clauses
        )
        _kernel.watch(search, int(LEGALITY in rules.stop_on), tables.measures, tables.stops)
        return search

    def run(self) -> Exploration:
        stopped: str | None = None
        final: tuple[FinalityBreak | None, bool] = (None, False)
        graph: StepGraph | None = None
        try:
            try:
                self._search()
            finally:
                self._ahead.end()
        except Stop as stop:
            stopped = stop.reason
            if self._kept is not None:
                self._kept.write()
        except KeyboardInterrupt:
            stopped = "interrupted"
        # What was found is looked at, whatever ended the search.
        _kernel.look(self.search)
        found = _kernel.totals(self.search)[0]
        if found > sum(self.levels):
            self.levels.append(found - sum(self.levels))
        self._collect()
        if stopped is None:
            try:
                self.clock.enter("finality")
                if self.final_states:
                    from icore_kernel.explore.native_finality import finality

                    final = finality(self), True
                if self.rules.keep_graph:
                    self.clock.enter("graph")
                    graph = self._graph()
            except Stop as stop:
                stopped = stop.reason
            except KeyboardInterrupt:
                stopped = "interrupted"
        elif self.tally.due is not None and stopped == _DUE:
            stopped = self.tally.due
        engine = "native, spilled to disk" if _kernel.totals(self.search)[8] else "native"
        return self.tally.conclude(self.mode, engine, self.levels, self.store, stopped, final, graph, self.clock.seconds)

    def _search(self) -> None:
        going_on = self._begun()
        blocks = self._turn or 1
        while going_on or self._next_level():
            going_on = False
            size, depth = self.levels[-1], len(self.levels) - 1
            two = size >= _WIDE and threads(self.rules) == 2
            self._stop_when_answered()
            if depth == self.rules.max_depth:
                raise Stop(f"max-depth {self.rules.max_depth}")
            status = Status.MORE.value
            while status == Status.MORE.value:
                if self._kept is not None:
                    self._kept.mark(self.levels)
                states, steps, *_ = _kernel.totals(self.search)
                self.clock.check(states, steps, size, depth)
                if states >= _LONG:
                    self._ahead.begin()
                begun = perf_counter()
                status = _kernel.advance(self.search, blocks, 2 if two and blocks > 1 else 1)
                self._heed(status)
                if self._turn is None and status == Status.MORE.value:
                    blocks = max(1, min(2 * blocks, int(blocks * _TURN / max(1e-6, perf_counter() - begun))))
        if self._kept is not None:
            self._kept.mark(self.levels)
            self._kept.write()

    def _begun(self) -> bool:
        """Whether a level is under way, as a checkpoint says; else the search begins with the initial states."""
        if self._kept is not None:
            try:
                self.levels = self._kept.begun()
            except MemoryError:
                raise Stop(self._exhausted()) from None
            if self.levels:
                return True
            self._kept.mark([])
        for words in self._initial():
            self.clock.check()
            self._heed(_kernel.admit(self.search, words))
        return False

    def _initial(self) -> Iterator[array[int] | Words]:
        """The words of the initial states, some at a time."""
        if prod(field.domain.size for field in self.system.free) <= _FEW:
            yield array("Q", chain.from_iterable(map(self.layout.pack, initial_states(self.system, self.clock))))
            return
        import numpy as np

        from icore_kernel.explore.block_search import initial_blocks

        yield from map(np.ascontiguousarray, initial_blocks(self.system, self.layout, 2**14))

    def _next_level(self) -> bool:
        size = _kernel.begin_level(self.search)
        if not size:
            return False
        self.levels.append(size)
        if len(self.levels) == 1:
            self._heed(_kernel.look(self.search))
        return True

    def _stop_when_answered(self) -> None:
        """Raises Stop at the beginning of a level, all of whose states were looked at, where every question of `stop_when` is answered."""
        if not self.rules.stop_when or _kernel.totals(self.search)[-1] != sum(self.levels[:-1]):
            return
        tables, watched = self.tables, self.watchlist
        counts, _ = (_integers(table) for table in _kernel.counters(self.search, LOOK))
        met = {name for (name, _), counter in zip(watched.checks, tables.checks, strict=True) if counts[counter]}
        met |= {name for (name, _), counter in zip(watched.seen, tables.seen, strict=True) if counts[counter]}
        if any(LEGALITY in question for question in self.rules.stop_when) and self._illegal():
            met.add(LEGALITY)
        stop_when_met(self.rules, met)

    def _illegal(self) -> bool:
        """Whether an occurrence was illegal, or its write left its domain."""
        _, slots = (_integers(table) for table in _kernel.tallies(self.search))
        if any(slots[3 * place] and not slot.fault for slot, place in self.tables.slots.items()):
            return True
        counts, _ = (_integers(table) for table in _kernel.counters(self.search, EXPAND))
        return any(counts[counted.lost] and not self.roles[counted.update].fault for counted in self.tables.counted)

    def _exhausted(self) -> str:
        most = self.rules.max_memory
        return "out of memory" if most is None else f"max-memory {show_size(most)}"

    def _heed(self, status: int) -> None:
        match Status(status):
            case Status.MORE | Status.LEVEL_DONE:
                pass
            case Status.FULL:
                raise Stop(f"max-states {self.rules.max_states}")
            case Status.EXHAUSTED:
                raise Stop(self._exhausted())
            case Status.DUE:
                raise Stop(_DUE)

    # What was counted.

    def _collect(self) -> None:
        tables, tally = self.tables, self.tally
        _, tally.steps, tally.stutters, quiet, unended, first, *_ = _kernel.totals(self.search)
        tally.dead(quiet, unended, first if unended else None)
        committed, slots = (_integers(table) for table in _kernel.tallies(self.search))
        tally.committed = committed
        counts, firsts = (_integers(table) for table in _kernel.counters(self.search, EXPAND))
        for counted in tables.counted:
            number, part = counted.update, self.roles[counted.update]
            enabled, committable = counts[counted.enabled], counts[counted.committable]
            tally.enabled[number], tally.committable[number] = enabled, committable
            if enabled > committable and not part.attempts_pass:
                tally.refusals[part.attempt, "requires"] += enabled - committable
            if counts[counted.lost_attempts]:
                tally.refusals[part.attempt, "range"] += counts[counted.lost_attempts]
            if counts[counted.lost] and part.fault:
                tally.refusals[part.name, "range"] += counts[counted.lost]
            elif counts[counted.lost]:
                tally.violation(self.system.updates[number].schema, "range", counts[counted.lost], firsts[counted.lost], number)
            if part.fault and part.judged and committed[number]:
                tally.passed[part.name] += committed[number]
        for counter, name, label in tables.refused_before:
            if counts[counter]:
                tally.refusals[name, label] += counts[counter]
        for slot, place in tables.slots.items():
            count, state, update = slots[3 * place : 3 * place + 3]
            if count and slot.fault:
                tally.refusals[slot.name, slot.label] += count
            elif count:
                tally.violation(slot.name, slot.label, count, state, update)
        counts, firsts = (_integers(table) for table in _kernel.counters(self.search, LOOK))
        for place, counter in enumerate(tables.checks):
            if counts[counter]:
                tally.check(place, counts[counter], firsts[counter])
        for place, counter in enumerate(tables.seen):
            if counts[counter]:
                tally.sight(place, counts[counter], firsts[counter])
        self.final_states = counts[tables.final] if tables.final >= 0 else 0
        for place, measured in enumerate(tables.measured):
            for value, state in self._values(place, measured):
                tally.measure(place, value, state)

    def _values(self, place: int, measured: Measured) -> Iterator[tuple[Fraction, int]]:
        """The different values of a measure, each with the first state that has it. ZeroDivisionError unless den > 0."""
        codes, firsts = _kernel.values_met(self.search, place)
        for code, state in zip(memoryview(codes).cast("Q"), _integers(firsts), strict=True):
            num, den, bit = measured.num, measured.den, 0
            for weight in measured.num_bits:
                num += (code >> bit & 1) << weight
                bit += 1
            for weight in measured.den_bits:
                den += (code >> bit & 1) << weight
                bit += 1
            if den <= 0:
                raise ZeroDivisionError(f"a measure with the divisor {den}")
            yield Fraction(num, den), state

    def _graph(self) -> StepGraph:
        counts, updates, targets = _kernel.edges(self.search)
        if counts.nbytes <= 4 * _PLAIN:
            update, target = array("i"), array("i")
            update.frombytes(updates)
            target.frombytes(targets)
            return StepGraph(array("q", accumulate(counts.cast("I"), initial=0)), update, target)
        import numpy as np

        start = np.zeros(counts.nbytes // 4 + 1, dtype=np.int64)
        np.cumsum(np.frombuffer(counts, dtype=np.uint32), out=start[1:])
        return StepGraph(start, np.frombuffer(updates, dtype=np.int32), np.frombuffer(targets, dtype=np.int32))


_DUE = "due"


def _integers(table: bytes) -> list[int]:
    values = array("q")
    values.frombytes(table)
    return values.tolist()


def threads(rules: Rules) -> int:
    """How many the search may use now: two at most; where nothing is asked, two if no other process wants the second core."""
    if rules.cores is not None:
        return min(2, rules.cores)
    return 2 if cores() - others() >= 2 else 1


def others() -> float:
    """How many threads of other processes run or want to: at this moment, where the system says so, else in the last minute."""
    try:
        with open("/proc/loadavg", encoding="ascii") as told:
            return int(told.read().split()[3].partition("/")[0]) - 1  # This one runs.
    except (OSError, ValueError, IndexError):
        return os.getloadavg()[0] + 0.5 if hasattr(os, "getloadavg") else 0.0


def cores() -> int:
    """How many this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spill_file() -> IO[bytes] | None:
    """A file without a name for states that memory has no room for, in TMPDIR, else where temporary files may be large."""
    folder = os.environ.get("TMPDIR") or ("/var/tmp" if os.path.isdir("/var/tmp") else None)
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError:
        return None


def explore_native(system: System, watchlist: Watchlist, rules: Rules, mode: Mode, clock: Clock, turn: int | None = None) -> Exploration:
    """The search, by the kernel; `turn` fixes how many blocks it takes a call."""
    return NativeSearch(system, watchlist, rules, mode, clock, turn).run()
