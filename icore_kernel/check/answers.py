"""How a sighting becomes a result: what a stopped search may and may not say."""

from __future__ import annotations

from icore_dsl.syntax import Span
from icore_kernel.explore.model import Exploration, Sighting
from icore_kernel.verdict import Assurance, Result, Verdict


def engine(exploration: Exploration) -> str:
    return f"explorer ({exploration.engine})"


def exhaustive(exploration: Exploration, name: str, detail: str, span: Span | None = None) -> Result:
    """Nothing bad was found: `holds` after a whole search over at least one state, else `unknown` with what was covered."""
    if exploration.states == 0 and exploration.stopped is None:
        return Result(name, Verdict.UNKNOWN, Assurance.NONE, "no reachable state", span, engine=engine(exploration))
    if exploration.stopped is not None:
        covered = f"nothing found in {exploration.states:,} states ({exploration.stopped})"
        return Result(
            name, Verdict.UNKNOWN, Assurance.BOUNDED, covered, span, engine=engine(exploration),
            not_guaranteed=f"states beyond depth {exploration.depth} or beyond the bound", seconds=exploration.seconds,
        )  # fmt: skip
    return Result(name, Verdict.HOLDS, Assurance.EXHAUSTIVE, detail, span, engine=engine(exploration), seconds=exploration.seconds)


def sighting(exploration: Exploration, table: str, key: str) -> Sighting:
    found = (exploration.checks if table == "checks" else exploration.seen).get(key)
    return found if found is not None else Sighting()


def or_more(exploration: Exploration) -> str:
    """What is said after a count: nothing, or ` or more` where not all states were found."""
    return " or more" if exploration.stopped else ""


def in_states(exploration: Exploration, count: int) -> str:
    """`in 3 states`, `in 3 states or more`."""
    return f"in {plural(count, 'state')}{or_more(exploration)}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
