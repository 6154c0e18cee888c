"""What may be reduced and what was: records, without the machinery, so that a plain check imports none of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from icore_kernel.explore.model import Exploration

if TYPE_CHECKING:
    from icore_kernel.reduce.orbits import Orbits
    from icore_kernel.reduce.partial_order import Ample
    from icore_kernel.reduce.symmetry import Broken


class Reduce(Enum):
    """What may be used. AUTO is what nothing asked means: symmetry where it is declared and pays; SYMMETRY insists on it."""

    AUTO = "auto"
    NONE = "none"
    SYMMETRY = "symmetry"
    PARTIAL_ORDER = "partial-order"
    ALL = "all"

    @property
    def symmetry(self) -> bool:
        return self in {Reduce.AUTO, Reduce.SYMMETRY, Reduce.ALL}

    @property
    def partial_order(self) -> bool:
        return self in {Reduce.PARTIAL_ORDER, Reduce.ALL}


@dataclass
class Reductions:
    """The reductions of one search. `broken`: for each declaration, by its name, why it does not hold, or None."""

    orbits: Orbits | None = None
    ample: Ample | None = None
    shared: tuple[tuple[int, ...], ...] = ()
    broken: dict[str, Broken | None] = field(default_factory=dict)
    insists: bool = True
    """Symmetry is used even where the kernel in C is quicker without."""
    no_symmetry: str = ""
    """Why symmetry is not used, where something is declared symmetric."""
    no_partial_order: str = ""
    """Why partial order is not used, where it was asked for."""


def saved(exploration: Exploration) -> str:
    reduction = exploration.reduction
    assert reduction is not None
    return f"{reduction.stored:,} of {reduction.states:,} states kept"


def said_of(found: Reductions, exploration: Exploration) -> dict[str, object] | None:
    """As a report keeps it. None where nothing was declared or asked that could reduce."""
    reduction = exploration.reduction
    if reduction is None and not found.broken and not found.no_partial_order:
        return None
    not_used = [f"{what}: {why}" for what, why in (("symmetry", found.no_symmetry), ("partial order", found.no_partial_order)) if why]
    said = [] if reduction is None else reduction.said()
    if found.no_partial_order:
        said.append(f"partial order: not used: {found.no_partial_order}")
    return {
        "symmetry": [] if reduction is None else [list(members) for _, members in reduction.sets],
        "permutations": 1 if reduction is None else reduction.group,
        "partial_order": reduction is not None and reduction.partial_order,
        "stored": exploration.states if reduction is None else reduction.stored,
        "left_out": 0 if reduction is None else reduction.cut,
        "not_used": not_used,
        "said": said,
    }
