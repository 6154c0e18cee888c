"""A desk with two jobs and two clerks: the package, the host and the runs by which the tests of the audit loop are told by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from icore_kernel.api import Loaded, load
from icore_kernel.audit.auditor import Auditor, Decider
from icore_kernel.audit.frame import Outcome, Parameters
from icore_kernel.audit.host import Candidate, Choice, Proposal, Schedule, Step, View
from icore_kernel.audit.loop import Loop
from icore_kernel.record.store import Store, open_store

DESK = """language 1
package Desk "1.0"

agents { ana  bo }
input    request
artifact note(w: Job) { good: bool }
artifact trouble(w: Job)
obligation type Job {}
obligations {
  left:  Job starts ready, required
  right: Job { weight = 2 } starts ready, required
}

certificate asked(w: Job)         { issuer environment  premises request     claims node(w), status(w) is ready  starts active }
certificate able(m: Agent, w: Job) { issuer environment  premises request     claims assignment(w) is m  valid when feasible(m, w) }
certificate done(w: Job)          { issuer assignee(w)  premises note(w)     claims status(w) is closed  valid when note(w).good }
certificate ok(w: Job)            { issuer monitor      premises done(w)     claims status(w) is accepted, coverage(w) }
certificate failed(w: Job)        { issuer assignee(w)  premises trouble(w)  claims status(w) is rejected, failure(w) }
certificate mixed                 { issuer monitor  premises failed(w) for w in Job where status(w) == rejected  claims terminal(stuck) }

update assign(m: Agent, w: Job) operation assign by m {
  when     status(w) == ready and assignee(w) == none
  requires feasible(m, w)
  set      assignee(w) := m
  issue    able(m, w)
}
update reassign(m: Agent, w: Job) operation reassign by monitor {
  when  status(w) == ready and assignee(w) not in {none, m} and feasible(m, w) and value(m, w) - worth(w) > tolerance
  set   assignee(w) := m
  issue able(m, w)
}
update finish(m: Agent, w: Job) operation complete by m {
  when  status(w) == ready and assignee(w) == m
  emit  note(w) { good = true }
  set   status(w) := closed
  issue done(w)
  fault withheld: withhold done(w)
}
update fail(m: Agent, w: Job) operation resolve by m {
  when  status(w) == ready and assignee(w) == m
  emit  trouble(w)
  set   status(w) := rejected
  issue failed(w)
}
update sign(w: Job) operation accept by monitor {
  when    status(w) == closed and valid(done(w))
  set     status(w) := accepted
  issue   ok(w)
  consume note(w)
}
update halt operation report by monitor {
  when   (exists w in Job: status(w) == rejected) and (exists w in Job: status(w) == accepted)
  report stuck
  issue  mixed
}

define capability(m: Agent) = if m == ana then 0.9 else 0.6
define worth(w: Job) = sum(m in Agent where assignee(w) == m: capability(m))
feasible(m: Agent, w: Job) = true
value(m: Agent, w: Job) = capability(m)

audit {
  tolerance 0.05  threshold 0.9  patience 3  budget 12
  progress  some w in Job: status(w) changes to closed
  repairs   { assignment: monitor  work: assignee, proposer }
}
allow dead_end because "mixed outcomes end in a certified stop"
"""

CLOSING = """certificate spent { issuer monitor  premises request  claims terminal(budget) }
update close_books operation report by monitor { when status(left) == closed report budget issue spent }
"""


def desk(folder: Path, more: str = "") -> Loaded:
    path = folder / "desk.icore"
    path.write_text(DESK + more, encoding="utf-8")
    return load(path)


@dataclass
class Scripted:
    """Says what it was told: in round t the agent proposes `steps[t]`, and `revisions[t]` when asked for a recovery in it."""

    steps: Mapping[int, tuple[str, str]]
    revisions: Mapping[int, Sequence[str]] = field(default_factory=dict)
    name: str = "desk"
    features: bool = False

    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        agent, update = self.steps.get(round, (enabled[0].actor, ""))
        return Choice(agent, next((c for c in enabled if c.update == update), enabled[0]))

    def step(self, agent: str, view: View) -> Proposal:
        own, update = self.steps.get(view.round, ("", ""))
        return Proposal((Step(update),)) if update and own == agent else Proposal()

    def revise(self, agent: str, view: View) -> Proposal:
        return Proposal(tuple(Step(update) for update in self.revisions.get(view.round, ())))


@dataclass
class Ran:
    loop: Loop
    outcome: Outcome
    store: Store

    @property
    def told(self) -> list[tuple[Any, ...]]:
        """The run in short: every entry by kind, line of the paper, agent, and what there was."""
        return [_short(entry.kind, entry.body) for entry in self.store.entries()]


def _short(kind: str, body: Mapping[str, Any]) -> tuple[Any, ...]:
    match kind:
        case "open":
            return ("open",)
        case "commit":
            return ("commit", body["line"], body["agent"], body["update"])
        case "wait":
            return ("wait", body["line"], body["agent"])
        case "refusal" | "feedback":
            return (kind, body["line"], body["agent"], body["update"], *dict.fromkeys(v["clause"] for v in body["violations"]))
        case "diagnosis":
            return ("diagnosis", body["kind"], body["responsible"], *body["triggers"])
        case "end":
            return ("end", body["line"], body["outcome"])
        case _:
            return (kind,)


def ran(
    loaded: Loaded, host: Any, kind: type[Loop] = Loop, *, decider: Decider | None = None, threshold: Fraction | None = None,
    patience: int | None = None, budget: int | None = None,
) -> Ran:  # fmt: skip
    store = open_store("memory:")
    auditor = Auditor(loaded, store, decider=decider)
    given = Parameters.of(auditor.tables.settings, threshold=threshold, patience=patience, budget=budget)
    loop = kind(auditor, host, given)
    return Ran(loop, loop.run(), store)
