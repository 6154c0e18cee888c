"""What is missing: the fewest leaves of a failing formula that would have to change for it to hold.

Where a whole family of alternatives fails (no certificate supports an assertion, say), the alternative that lacks least says more
than all of them together.
"""

from __future__ import annotations

from collections.abc import Callable

from icore_kernel.meaning.scalar import HANDLERS, State
from icore_kernel.terms.node import Term, postorder
from icore_kernel.terms.table import Op

Wanted = tuple[Term, bool]


def nearest(term: Term, state: State, weight: Callable[[Term], int] = lambda leaf: 1) -> tuple[Wanted, ...]:
    """Leaves with the truth value they would need, of least total `weight`, the first found; empty where the term holds.

    Of an implication the consequent is looked at: making an antecedent false is no repair.
    """
    truth: dict[Term, int] = {}
    for part in postorder((term,)):
        truth[part] = HANDLERS[part.op](part, [truth[arg] for arg in part.args], state)
    cost: dict[Wanted, int] = {}
    pending: list[Wanted] = [(term, True)]
    while pending:
        here = pending[-1]
        if here in cost:
            pending.pop()
            continue
        part, wanted = here
        if bool(truth[part]) == wanted:
            cost[here] = 0
            continue
        below = _below(part, wanted)
        if below is None:
            cost[here] = weight(part)
            continue
        missing = [w for w in below[1] if w not in cost]
        if missing:
            pending.extend(missing)
            continue
        costs = [cost[w] for w in below[1]]
        cost[here] = sum(costs) if below[0] else min(costs)
    return tuple(_leaves(term, truth, cost))


def _below(part: Term, wanted: bool) -> tuple[bool, list[Wanted]] | None:
    """(whether all are needed, the parts with what they would need to be); None for a leaf."""
    match part.op:
        case Op.AND | Op.OR:
            return (part.op is Op.AND) == wanted, [(arg, wanted) for arg in part.args]
        case Op.NOT:
            return True, [(part.args[0], not wanted)]
        case Op.IMPLIES if wanted:
            return True, [(part.args[1], True)]
        case Op.IMPLIES:
            return True, [(part.args[0], True), (part.args[1], False)]
        case _:
            return None


def _leaves(term: Term, truth: dict[Term, int], cost: dict[Wanted, int]) -> list[Wanted]:
    found: dict[Wanted, None] = {}
    pending: list[Wanted] = [(term, True)]
    while pending:
        part, wanted = pending.pop()
        if bool(truth[part]) == wanted:
            continue
        below = _below(part, wanted)
        if below is None:
            found[part, wanted] = None
        elif below[0]:
            pending.extend(reversed(below[1]))
        else:
            pending.append(min(below[1], key=cost.__getitem__))
    return list(found)
