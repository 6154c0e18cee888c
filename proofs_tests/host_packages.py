"""A small package for the tests of hosts, and views of it that need no loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from icore_kernel.audit.host import Candidate, Diagnosis, Finding, Message, Schedule, View
from icore_kernel.audit.tables import Tables
from icore_kernel.load import Loaded, load
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.system import Kind, System

PAPER = """language 1
package Paper "1.0"
# Two parts, put together into one whole. Small enough for everything about it to be computed by hand.
agents { ana  bo }
input    request
artifact page(w: Item)
obligation type Item { static weight: rational = 1 }
obligations {
  left:  Item starts ready
  right: Item starts ready
  whole: Item starts blocked, required
}
relation feeds(Item, Item) contributes support, aggregation
feeds = {left, right} -> whole
relation serves(Item, Item) contributes coverage
serves = whole -> {left, right}

certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) in {ready, blocked} starts active }
certificate able(m: Agent, w: Item) { issuer environment premises request claims assignment(w) is m }
certificate done(w: Item) {
  issuer assignee(w)
  premises page(w), done(p) for p in Item where feeds(p, w)
  claims status(w) is closed, compatibility(w)
}
certificate enabled(w: Item) { issuer monitor premises done(p) for p in Item where feeds(p, w) claims status(w) is ready }
certificate ok(w: Item) { issuer monitor premises done(w) claims status(w) is accepted, coverage(w) }

update assign(m: Agent, w: Item) operation assign by m {
  when unresolved(w) and assignee(w) == none
  set assignee(w) := m
  issue able(m, w)
}
update finish(m: Agent, w: Item) operation complete by m {
  view feeds depth 1
  when unresolved(w) and assignee(w) == m
  requires status(w) == ready
  emit page(w)
  set status(w) := closed
  issue done(w)
  fault careless: withhold done(w)
}
update enable(w: Item) operation enable by monitor {
  view feeds depth 1
  when status(w) == blocked and forall p in Item where feeds(p, w): valid(done(p))
  set status(w) := ready
  issue enabled(w)
}
update sign_off(w: Item) operation accept by monitor {
  when status(w) == closed and valid(done(w))
  set status(w) := accepted
  issue ok(w)
  consume page(w)
}
feasible(m: Agent, w: Item) = true
value(m: Agent, w: Item) = table {
       left right whole
  ana: 0.9  0.5   0.8
  bo:  0.6  0.7   0.8
} at (m, w)
audit {
  tolerance 0.05  floor 0.5  threshold 0.5  patience 3  budget 30
  progress some w in Item: status(w) changes to closed
  repairs { assignment: ana  work: assignee, proposer }
}
"""


@dataclass
class Small:
    """The package, and the candidates of a state as a loop would make them."""

    loaded: Loaded
    tables: Tables

    @property
    def system(self) -> System:
        return self.loaded.system

    def after(self, *names: str) -> tuple[int, ...]:
        """The state that these updates lead to, each written as it stands."""
        state = self.system.initial
        for name in names:
            update = self.system.updates[self.number(name)]
            assert evaluate(update.when, state), name
            later = list(state)
            for write in update.writes:
                later[write.field.index] = int(evaluate(write.value, state))
            state = tuple(later)
        return state

    def number(self, name: str) -> int:
        return next(i for i, u in enumerate(self.system.updates) if u.name == name)

    def candidate(self, name: str, enabled: bool = True) -> Candidate:
        number = self.number(name)
        u = self.system.updates[number]
        works = tuple(w for w in self.tables.works if w in self.tables.footprints[number].works)
        return Candidate(number, u.name, u.schema, dict(u.binding), u.actor, u.operation, works, enabled, u.fault)

    def candidates(self, state: Sequence[int]) -> tuple[Candidate, ...]:
        """Everything whose `when` holds; enabled where `requires` does and it is no fault."""
        found = [u for u in self.system.updates if evaluate(u.when, state)]
        return tuple(self.candidate(u.name, u.kind is not Kind.FAULT and bool(evaluate(u.requires, state))) for u in found)


def small(folder: Path) -> Small:
    path = folder / "paper.icore"
    path.write_text(PAPER, encoding="utf-8")
    loaded = load(path)
    assert loaded.grounded is not None
    return Small(loaded, loaded.grounded.tables())


def schedule_view(
    attempts: Sequence[Candidate] = (), features: Mapping[int, tuple[Fraction, ...]] | None = None, rounds: int = 30
) -> Schedule:
    return Schedule({}, tuple(attempts), features or {}, rounds)


def view(
    agent: str,
    candidates: Sequence[Candidate],
    *,
    chosen: Candidate | None = None,
    round: int = 0,
    feedback: Diagnosis | None = None,
    features: Mapping[int, tuple[Fraction, ...]] | None = None,
    messages: Sequence[Message] = (),
) -> View:
    return View(agent, round, 30, (("left", "ready"),), tuple(messages), tuple(candidates), chosen, {}, feedback, features or {})


def diagnosis(kind: str, *findings: Finding, flag: int | None = None) -> Diagnosis:
    return Diagnosis(kind, ("hard flag",), tuple(findings), flag, "bo", ("definition 7",), ())


RICH = """language 1
package Rich "1.0"
# What the first package lacks: failure, exclusion, latent work, infeasible agents, submission, reports, several subjects, a narrow range.
agents { ana  bo  cy }
input    request
input    meter { level: 0..2 = 0 }
artifact page(w: Item)
artifact trouble(w: Item)
obligation type Item { static weight: rational = 1 }
obligations {
  left:   Item starts ready
  right:  Item starts ready
  later:  Item latent
  whole:  Item starts blocked, required
  other:  Item starts ready, required
}
relation feeds(Item, Item) contributes support
feeds = {left, right, later} -> whole
relation joins(Item, Item) contributes aggregation
joins = {left, right} -> whole
relation serves(Item, Item) contributes coverage
serves = whole -> {left, right}

certificate asked(w: Item) {
  issuer environment
  premises request
  claims node(w), status(w) in {ready, blocked}
  starts active when present(w)
}
certificate able(m: Agent, w: Item) { issuer environment premises request claims assignment(w) is m }
certificate done(w: Item) { issuer any premises page(w) claims status(w) in {closed, submitted} }
certificate failed(w: Item) { issuer any premises trouble(w) claims status(w) is rejected, failure(w) }
certificate twin(w: Item) { issuer monitor premises request claims removal(w) }
certificate over { issuer monitor premises request claims terminal(stuck) }

update assign(m: Agent, w: Item) operation assign by m { when assignee(w) == none set assignee(w) := m issue able(m, w) }
update finish(m: Agent, w: Item) operation complete by m {
  when assignee(w) == m
  emit page(w)
  set status(w) := closed
  issue done(w)
}
update fail(m: Agent, w: Item) operation resolve by m { when assignee(w) == m emit trouble(w) set status(w) := rejected issue failed(w) }
update begin(w: Item) operation create by monitor { when not present(w) create w issue asked(w) }
update both(m: Agent) operation complete by m {
  view global
  when assignee(left) == m
  for w in {left, right} { emit page(w) set status(w) := closed issue done(w) }
}
update unsay(w: Item) operation reopen by monitor { when status(w) == closed set status(w) := ready revoke done(w) issue asked(w) }
update fold(w: Item) operation exclude by monitor { when marker(w) == none set marker(w) := duplicated issue twin(w) }
update submit(m: Agent, w: Item) operation submit by m { when assignee(w) == m emit page(w) set status(w) := submitted issue done(w) }
update tidy(w: Item) operation observe by monitor { when present(page(w)) consume page(w) }
update rise operation observe by environment { when true set meter.level := meter.level + 1 }
update halt operation report by monitor { when true report stuck issue over }
feasible(m: Agent, w: Item) = m != cy
value(m: Agent, w: Item) = if m == ana then 0.4 else if m == bo then 0.6 else 1
allow dead_end because "only the first steps matter here"
"""


def rich(folder: Path) -> Small:
    path = folder / "rich.icore"
    path.write_text(RICH, encoding="utf-8")
    loaded = load(path)
    assert loaded.grounded is not None
    return Small(loaded, loaded.grounded.tables())
