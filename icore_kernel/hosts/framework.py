"""For a framework that keeps its own loop: its functions stay as they are, and what they do counts once it was committed.

with api.audit_session("workflow.icore", "run.jsonl") as run:
    gate = Gate(run)
    review = gate.node(review, lambda good: "pass(ben, review)" if good else "refuse(ben, review)")
    …                                 # the framework runs, with the wrapped function in place of its own
    gate.follow("monitor")            # what is left for the monitor: enabling, signing off, accepting
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from icore_kernel.audit.auditor import Receipt
from icore_kernel.audit.host import Json
from icore_kernel.audit.session import Refused, Session

P = ParamSpec("P")
R = TypeVar("R")

MOST = 10_000
"""Updates that `follow` commits before it takes them for an endless play of the package."""


class Gate:
    """A session that several threads may use: proposals are committed one after the other."""

    def __init__(self, run: Session) -> None:
        self.run = run
        self._lock = threading.Lock()

    def propose(self, update: str, *, agent: str | None = None, outside: Mapping[str, Json] | None = None) -> Receipt:
        """As `Session.propose`: the receipt of the commit, or Refused."""
        with self._lock:
            return self.run.propose(update, agent=agent, outside=outside)

    def node(
        self,
        function: Callable[P, R],
        update: str | Callable[[R], str],
        *,
        agent: str | None = None,
        outside: Callable[[R], Mapping[str, Json]] | None = None,
        refused: Callable[[Refused], R] | None = None,
    ) -> Callable[P, R]:
        """`function`, whose result is handed on once its update was committed.

        * `update`: the occurrence that the function does, or what it does by its result; an empty name is nothing that counts.
        * `outside`: what of the result goes into the record beside it (no floats). The function's name always does.
        * `refused`: what is handed on instead where the audit refuses; without it Refused is raised in the framework.
        """
        name = getattr(function, "__name__", type(function).__name__)

        @wraps(function)
        def audited(*args: P.args, **keywords: P.kwargs) -> R:
            result = function(*args, **keywords)
            done = update if isinstance(update, str) else update(result)
            if not done:
                return result
            try:
                self.propose(done, agent=agent, outside={"node": name, **(outside(result) if outside is not None else {})})
            except Refused as wrong:
                if refused is None:
                    raise
                return refused(wrong)
            return result

        return audited

    def follow(self, actor: str = "monitor") -> tuple[Receipt, ...]:
        """Commit what an actor has enabled, the first of it each time, until nothing is. RuntimeError where that has no end."""
        receipts: list[Receipt] = []
        with self._lock:
            while enabled := self.run.enabled(actor):
                if len(receipts) == MOST:
                    raise RuntimeError(f"{actor} has had {MOST:,} updates in a row, and {enabled[0].update} is enabled still")
                receipts.append(self.run.propose(enabled[0].update))
        return tuple(receipts)
