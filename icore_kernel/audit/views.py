"""Lines 11 and 29: what an agent is shown of the state, of the record and of a diagnosis (C.6)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.diagnosis import ASSIGNMENT, assignee_of, status_of
from icore_kernel.audit.features import Features
from icore_kernel.audit.host import Candidate, Choice, Diagnosis, Message, Schedule, View
from icore_kernel.audit.label import STAFFING, shown
from icore_kernel.explore.model import State

SHOWN = 5
"""The last messages that a view holds."""
FEATURES = dict[int, tuple[Fraction, ...]]


class Views:
    """Makes views of an auditor's state. `with_features`: the host asks for the twelve features of C.5."""

    def __init__(self, auditor: Auditor, budget: int, with_features: bool) -> None:
        self.auditor = auditor
        self.budget = budget
        self._asked = Features(auditor.tables, auditor.system) if with_features else None
        self.messages: list[Message] = []

    def tell(self, entry: int, agent: str, text: str) -> None:
        """One more public message; only the last few are kept."""
        self.messages.append(Message(entry, agent, text))
        del self.messages[: -4 * SHOWN]

    def candidates(self, state: State) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
        """(U, attempts) of a state."""
        enabled, attempts = self.auditor.judge.enabled(state)
        label = self.auditor.labeller.candidate
        return tuple(label(n, True) for n in enabled), tuple(label(n, False) for n in attempts)

    def schedule(self, state: State, attempts: Sequence[Candidate], enabled: Sequence[Candidate]) -> Schedule:
        features = self._features(state, [*enabled, *attempts], None)
        return Schedule(self.auditor.labeller.named(state), tuple(attempts), features, self.budget)

    def local(self, state: State, round: int, choice: Choice, enabled: Sequence[Candidate], attempts: Sequence[Candidate]) -> View:
        """L <- LocalView(X, rho): the agent's own candidates, and the fields that the scheduled occurrence may read."""
        own = tuple(c for c in (*enabled, *attempts) if self._speaks_for(choice.agent, c))
        update = self.auditor.system.updates[choice.candidate.number]
        mask = update.when.reads | update.requires.reads
        for write in update.writes:
            mask |= write.value.reads
        visible = {f.name: shown(f, state[f.index]) for f in self.auditor.system.fields if mask >> f.index & 1}
        return View(
            choice.agent, round, self.budget, self._assignments(choice.agent, state), tuple(self.messages[-SHOWN:]), own, choice.candidate,
            visible, None, self._features(state, own, None),
        )  # fmt: skip

    def feedback(self, state: State, round: int, agent: str, diagnosis: Diagnosis) -> View:
        """L_f <- FeedbackView(X-, F): the diagnosis, and what the responsible agent may propose: nothing outside W_F.

        X- is not X of line 8 where the ordinary step was committed, so what is enabled is found again.
        """
        enabled, attempts = self.candidates(state)
        staffing = diagnosis.kind == ASSIGNMENT
        own = tuple(
            c
            for c in (*enabled, *attempts)
            if (self._speaks_for(agent, c) or (staffing and c.operation in STAFFING)) and diagnosis.matched.keys() >= set(c.works)
        )
        visible = {f.name: shown(f, state[f.index]) for f in self.auditor.system.fields if f.root}
        return View(
            agent, round, self.budget, self._assignments(agent, state), tuple(self.messages[-SHOWN:]), own, None, visible, diagnosis,
            self._features(state, own, diagnosis),
        )  # fmt: skip

    @staticmethod
    def _speaks_for(agent: str, candidate: Candidate) -> bool:
        return candidate.actor in {agent, "nobody"}

    def _assignments(self, agent: str, state: State) -> tuple[tuple[str, str], ...]:
        works = self.auditor.tables.works.values()
        return tuple((w.name, status_of(self.auditor.facts, w, state)) for w in works if assignee_of(w, state) == agent)

    def _features(self, state: State, candidates: Sequence[Candidate], diagnosis: Diagnosis | None) -> FEATURES:
        if self._asked is None:
            return {}
        return {c.number: self._asked.of(state, c, diagnosis) for c in candidates}
