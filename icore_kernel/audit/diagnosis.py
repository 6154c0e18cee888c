"""Lines 25 to 29: the diagnostics of a state, its diagnosis F, the matched set W_F, the responsible agent (section 5, A.9).

Everything here is a function of the state, the open flags and the package: two auditors of one record agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from icore_kernel.audit.auditor import Auditor, Flag
from icore_kernel.audit.facts import Facts
from icore_kernel.audit.host import Diagnosis, Finding, Message
from icore_kernel.audit.label import STAFFING, WORLD
from icore_kernel.audit.tables import Work
from icore_kernel.explore.model import State
from icore_kernel.meaning.scalar import compile_terms

NOTHING_ENABLED, PATIENCE, FLAG, REASSIGN, QUALITY = (
    "no enabled productive update",
    "patience",
    "hard flag",
    "beneficial reassignment",
    "quality",
)
"""The five triggers of line 26, in its order."""

ASSIGNMENT, WORK, EVIDENCE, PROGRESS = "assignment", "work", "evidence", "progress"
"""What is to be repaired: the words of `repairs { … }`."""

HISTORY = 5
"""Messages in a diagnosis: the last ones about its components (C.6 shows five)."""


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Line 25 of one state: the three scores, and the components of W(X) that are not sound, or not epsilon-stable."""

    soundness: Fraction
    stability: Fraction
    quality: Fraction
    unsound: tuple[str, ...]
    unstable: tuple[str, ...]


class Diagnostician:
    """Reads an auditor's state; changes nothing."""

    def __init__(self, auditor: Auditor) -> None:
        self.auditor = auditor
        self.tables = auditor.tables
        self.works = auditor.tables.works
        self.true = auditor.facts.true
        scores = [term for r in (self.tables.soundness, self.tables.stability, self.tables.quality) for term in (r.num, r.den)]
        self._scores = compile_terms([*scores, *(term for w in self.works.values() for term in (w.evaluated, w.sound, w.stable))])

    # ---- line 25 ---------------------------------------------------------------------------------------------------------
    def diagnostics(self, state: State) -> Diagnostics:
        sound, sound_of, stable, stable_of, quality, quality_of, *rest = self._scores(state)
        of_works = list(zip(self.works, zip(rest[::3], rest[1::3], rest[2::3], strict=True), strict=True))
        return Diagnostics(
            Fraction(sound, sound_of),
            Fraction(stable, stable_of),
            Fraction(quality, quality_of),
            tuple(name for name, (evaluated, is_sound, _) in of_works if evaluated and not is_sound),
            tuple(name for name, (evaluated, _, is_stable) in of_works if evaluated and not is_stable),
        )

    # ---- line 27: F ------------------------------------------------------------------------------------------------------
    def diagnose(self, triggers: Sequence[str], found: Diagnostics, history: Sequence[Message]) -> Diagnosis:
        """The gravest trigger says what is diagnosed: a hard flag (the oldest that is still required), unsound work, a beneficial
        reassignment, then whatever is unresolved where nothing moves."""
        state = self.auditor.state
        flag = self.required_flag() if FLAG in triggers else None
        if flag is not None:
            kind, components = (EVIDENCE if self._about_evidence(flag) else WORK), flag.components
        elif found.unsound:
            kind, components = EVIDENCE, found.unsound
        elif REASSIGN in triggers or (QUALITY in triggers and found.unstable):
            kind, components = ASSIGNMENT, found.unstable
        else:
            kind = PROGRESS
            waiting = [w for w in self.works.values() if self.true(w.unresolved, state) and self.true(w.evaluated, state)]
            components = tuple(w.name for w in waiting) or tuple(w.name for w in self.works.values() if self.true(w.effective_root, state))
        return Diagnosis(
            kind=kind,
            triggers=tuple(triggers),
            findings=tuple(self._finding(self.works[name], state) for name in components),
            flag=None if flag is None else flag.entry,
            proposer="" if flag is None else flag.agent,
            broken=() if flag is None else flag.clauses,
            history=tuple(m for m in history if any(name in m.text for name in components))[-HISTORY:],
        )

    def required_flag(self) -> Flag | None:
        """The oldest flag that has to be settled for continuation or acceptance: one of its components is in W(X), or on the way there."""
        state = self.auditor.state
        for flag in self.auditor.flags:
            if any(
                self.true(self.works[name].evaluated, state) or self.true(self.works[name].unresolved, state) for name in flag.components
            ):
                return flag
        return None

    def _about_evidence(self, flag: Flag) -> bool:
        own = {"when", "requires", "range", "definition 6(ii)", "definition 6(ii) actor"}
        return not own.intersection(flag.clauses)

    def _finding(self, work: Work, state: State) -> Finding:
        now = Fraction(0)
        gains: list[tuple[str, Fraction]] = []
        for agent in work.agents:
            if self.true(agent.assigned, state):
                now = self.auditor.ratio(agent.worth, state)
        for agent in work.agents:
            if self.true(agent.candidate, state) and not self.true(agent.assigned, state):
                gain = self.auditor.ratio(agent.worth, state) - now
                if gain > self.tables.settings.tolerance:
                    gains.append((agent.agent, gain))
        gains.sort(key=lambda pair: -pair[1])
        return Finding(
            work.name, status_of(self.auditor.facts, work, state), assignee_of(work, state), tuple(self._missing(work, state)), tuple(gains)
        )

    def _missing(self, work: Work, state: State) -> Iterable[str]:
        """What each assertion without support lacks: of the certificates that could claim it, their state and their premises."""
        for name in work.assertions:
            assertion = self.tables.assertions[name]
            if not self.true(assertion.holds, state) or self.true(assertion.justified, state):
                continue
            able = [c for c in self.tables.certificates.values() if any(claim.assertion == name for claim in c.claims)]
            said = [f"{c.name} is {self._lifecycle(c.name, state)}" for c in able]
            yield f"{name}: {', '.join(said) or 'no certificate can claim it'}"

    def _lifecycle(self, name: str, state: State) -> str:
        certificate = self.tables.certificates[name]
        if self.true(certificate.active, state):
            return "valid, for another occasion" if self.true(certificate.valid, state) else "active and not valid"
        for word, term in (("pending", certificate.pending), ("revoked", certificate.revoked), ("superseded", certificate.superseded)):
            if self.true(term, state):
                return word
        return "absent"

    # ---- line 27: W_F ----------------------------------------------------------------------------------------------------
    def matched(self, diagnosis: Diagnosis, state: State) -> dict[str, Fraction]:
        """W_F with its weights: the diagnosed components, those that the responsible agent's enabled updates may write, and the
        support ancestors of all of them, as far as they are there (decision on W_F)."""
        found: dict[str, None] = {f.component: None for f in diagnosis.findings}
        agent = self.responsible(diagnosis, state)
        staffing = diagnosis.kind == ASSIGNMENT
        updates = self.auditor.system.updates
        enabled, _ = self.auditor.judge.enabled(state)
        for number in enabled:
            if updates[number].actor == agent or (staffing and updates[number].operation in STAFFING):
                own = self.tables.footprints[number].works
                found.update((name, None) for name in self.works if name in own and self.true(self.works[name].present, state))
        for name in list(found):
            found.update((p, None) for p, is_ancestor in self.works[name].ancestors if self.true(is_ancestor, state))
        return {name: self.works[name].weight for name in self.works if name in found}

    def answering(self, diagnosis: Diagnosis, state: State) -> frozenset[str]:
        """The work of which a recovery has to say something new to settle the diagnosed flag: the flagged work, or what it stands on."""
        found = {f.component for f in diagnosis.findings}
        for name in tuple(found):
            found.update(p for p, is_ancestor in self.works[name].ancestors if self.true(is_ancestor, state))
        return frozenset(found & diagnosis.matched.keys())

    def matched_quality(self, weights: dict[str, Fraction], state: State) -> Fraction:
        """cq(Y; W_F) of A.9: one where the set is empty. What is gone without valid transport counts as unsound and unstable."""
        total = sum(weights.values(), Fraction(0))
        if total == 0:
            return Fraction(1)
        sound = sum((w for name, w in weights.items() if self.true(self.works[name].matched_sound, state)), Fraction(0))
        stable = sum((w for name, w in weights.items() if self.true(self.works[name].matched_stable, state)), Fraction(0))
        return (sound + stable) / (2 * total)

    # ---- line 28 ---------------------------------------------------------------------------------------------------------
    def responsible(self, diagnosis: Diagnosis, state: State) -> str:
        """Who may propose the repair: the first of the declared list (`repairs`) that names somebody; then the assignee, the proposer,
        and the first agent. Roles: assignee, proposer, issuer, monitor, environment."""
        asked = self.tables.settings.repairs.get(diagnosis.kind, ())
        if not asked and diagnosis.kind in {EVIDENCE, PROGRESS}:
            asked = self.tables.settings.repairs.get(WORK, ())
        for role in (*asked, "assignee", "proposer"):
            found = self._named(role, diagnosis, state)
            if found:
                return found
        return self.tables.agents[0] if self.tables.agents else "monitor"

    def _named(self, role: str, diagnosis: Diagnosis, state: State) -> str:
        components = [self.works[f.component] for f in diagnosis.findings]
        match role:
            case "assignee":
                return next((name for w in components if (name := assignee_of(w, state)) != "none"), "")
            case "proposer":
                return diagnosis.proposer
            case "issuer":
                return self._issuer(components, state)
            case _:
                return role if role in self.tables.agents or role in WORLD else ""

    def _issuer(self, components: Iterable[Work], state: State) -> str:
        """Who may issue evidence for the first assertion that lacks it; of work without such an assertion, for its status."""
        for work in components:
            unjustified = [n for n in work.assertions if not self.true(self.tables.assertions[n].justified, state)]
            for name in (*unjustified, f"status({work.name})"):
                for certificate in self.tables.certificates.values():
                    if any(claim.assertion == name for claim in certificate.claims):
                        issuer = assignee_of(work, state) if certificate.issuer.startswith("assignee(") else certificate.issuer
                        if issuer in self.tables.agents or issuer in WORLD:
                            return issuer
        return ""


def status_of(facts: Facts, work: Work, state: State) -> str:
    if not facts.true(work.present, state):
        return "absent"
    return work.status_then if work.status is None else work.status.domain.show(state[work.status.index])


def assignee_of(work: Work, state: State) -> str:
    return work.assignee_then if work.assignee is None else work.assignee.domain.show(state[work.assignee.index])
