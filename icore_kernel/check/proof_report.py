"""What `prove` says: each part of what was proved, found or left open as a Result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from icore_kernel.check.answers import plural
from icore_kernel.check.places import places
from icore_kernel.check.reasons import reasons_of
from icore_kernel.explore.judge import failing, successor
from icore_kernel.explore.model import Exploration, Path, Phase, State
from icore_kernel.load import Loaded
from icore_kernel.meaning import smt
from icore_kernel.prove.bounded import Bounded
from icore_kernel.prove.exclusion import Exclusion
from icore_kernel.prove.induction import Facts, Invariant
from icore_kernel.prove.lemmas import Found
from icore_kernel.prove.onestep import ANSWERED, Lemma2, Outcome
from icore_kernel.runs import end_of, run_of, run_to
from icore_kernel.system import Clause, Kind, Property, System
from icore_kernel.verdict import Assurance, Reason, Result, Verdict


@dataclass(frozen=True)
class Said:
    """What one `prove` found. `exists`: whether there is an initial state; `exclusion`: None where there are no reports."""

    loaded: Loaded
    exists: smt.Result
    lemma2: Lemma2
    found: Found | None
    facts: Facts
    invariants: tuple[Invariant, ...]
    bounded: Bounded | None
    exploration: Exploration | None
    exclusion: Exclusion | None

    @property
    def system(self) -> System:
        return self.loaded.system

    @property
    def unrefused(self) -> list[int]:
        """Faults that are not proved refused."""
        return unrefused(self.lemma2)

    def results(self) -> list[Result]:
        where = places(self.loaded).start
        if self.exists is smt.Result.UNSAT:
            detail = "no initial state satisfies `initially`: everything else would hold for no reason"
            return [Result("start", Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, where, engine="Z3")]
        results = [self._legality()]
        if any(u.kind is Kind.FAULT for u in self.system.updates):
            results.append(self._faults())
        if self.system.has_obligations and self.system.feasibility:
            results.append(self._feasibility(results[0]))
        if self.exists is smt.Result.UNKNOWN:
            results.append(
                Result("start", Verdict.UNKNOWN, Assurance.NONE, "whether an initial state exists was left open", where, engine="Z3")
            )
        properties = {p.name: p for p in self.system.properties}
        for invariant in self.invariants:
            results.append(self._invariant(invariant, properties.get(invariant.name)))
        if self.exclusion is not None:
            results.append(self._reports(self.exclusion))
        return results

    def _legality(self) -> Result:
        total = Counter(p.outcome for p in self.lemma2.pairs)
        moving = sum(u.kind is not Kind.FAULT for u in self.system.updates)
        by_feasibility = total[Outcome.PROVED] + total[Outcome.UNTOUCHED]
        parts = [f"{by_feasibility:,} of {len(self.lemma2.pairs):,} pairs of update and clause from feasibility alone"]
        if total[Outcome.STRENGTHENED]:
            parts.append(f"{total[Outcome.STRENGTHENED]:,} with {len(self.found.lemmas) if self.found else 0:,} lemmas")
        seconds = self.lemma2.seconds
        violated = self._violation()
        if violated is not None:
            path, update = violated
            state = end_of(self.system, path)
            return Result(
                "legality", Verdict.VIOLATED, Assurance.EXHAUSTIVE, ", ".join(parts), self.system.updates[update].span,
                run_of(self.system, path, update), self._reasons(update, state), "Z3", seconds=seconds,
            )  # fmt: skip
        open_count = len(self.lemma2.pairs) - sum(total[o] for o in ANSWERED)
        if not open_count and self.lemma2.complete:
            detail = f"{moving:,} updates legal wherever enabled · {', '.join(parts)}"
            return Result("legality", Verdict.PROVED, Assurance.PROVED, detail, engine="Z3", seconds=seconds)
        if self.exploration is not None and self.exploration.stopped is None and not self.exploration.violations:
            detail = f"{', '.join(parts)}, {open_count:,} by exploration of {self.exploration.states:,} states"
            return Result("legality", Verdict.HOLDS, Assurance.EXHAUSTIVE, detail, engine="Z3 and explorer", seconds=seconds)
        return Result(
            "legality", Verdict.UNKNOWN, Assurance.BOUNDED, f"{', '.join(parts)}, {open_count:,} open{self._covered()}", engine="Z3",
            not_guaranteed="the open pairs, beyond what was searched", seconds=seconds,
        )  # fmt: skip

    def _covered(self) -> str:
        said = ""
        if self.bounded is not None and self.bounded.depth >= 0:
            said += f" · nothing else in runs of up to {self.bounded.depth} steps"
        if self.exploration is not None and self.exploration.stopped is not None:
            said += f" · nothing found in {self.exploration.states:,} states ({self.exploration.stopped})"
        return said

    def _violation(self) -> tuple[Path, int] | None:
        """A shortest run to an illegal occurrence, and its update."""
        if self.exploration is not None and self.exploration.violations:
            paths = [(self.exploration.store.path(v.state), v.update) for v in self.exploration.violations]
            return min(paths, key=lambda found: (len(found[0].updates), found[1]))
        for found in self.bounded.found if self.bounded else ():
            if found.bad.update is not None:
                return found.path, found.bad.update
        return None

    def _reasons(self, update: int, state: State) -> tuple[Reason, ...]:
        after = successor(self.system.updates[update], state)
        reasons: list[Reason] = []
        for broken in failing(self.system, self.system.updates[update], state):
            where = after if broken.phase in {Phase.AFTER, Phase.FEASIBILITY} else state
            reasons.extend(reasons_of(self.system, broken.clause, where))
        return tuple(reasons[:4])

    def _faults(self) -> Result:
        faults = {self.system.updates[r.update].schema for r in self.lemma2.refusals}
        occurrences = len(self.lemma2.refusals)
        seconds = sum(r.seconds for r in self.lemma2.refusals)
        left = self.unrefused
        if not left and self.lemma2.complete:
            detail = f"{plural(len(faults), 'fault')} refused in every state · {plural(occurrences, 'occurrence')}"
            if any(u.kind is not Kind.FAULT and not u.requires.is_true for u in self.system.updates):
                detail += " · attempts are refused by their `requires`"
            return Result("faults", Verdict.PROVED, Assurance.PROVED, detail, engine="Z3", seconds=seconds)
        names = ", ".join(dict.fromkeys(self.system.updates[n].schema for n in left))
        if self.exploration is not None and self.exploration.stopped is None:
            passed = {name: count for name, count in self.exploration.passed.items() if count}
            said = "passed: " + ", ".join(f"{n} {c:,}" for n, c in passed.items()) if passed else "none passed where reachable"
            detail = f"not refused in every feasible state: {names} · {said}"
            return Result("faults", Verdict.HOLDS, Assurance.EXHAUSTIVE, detail, engine="Z3 and explorer")
        detail = f"not proved refused: {names}{self._covered()}"
        return Result("faults", Verdict.UNKNOWN, Assurance.BOUNDED, detail, engine="Z3", seconds=seconds)

    def _feasibility(self, legality: Result) -> Result:
        count = f"{len(self.system.feasibility)} clauses"
        if self.facts.closed:
            return Result("feasibility", Verdict.PROVED, Assurance.PROVED, f"{count} in every reachable state", engine="Z3")
        if legality.verdict is Verdict.HOLDS:
            return Result("feasibility", Verdict.HOLDS, Assurance.EXHAUSTIVE, f"{count} in every reachable state", engine="explorer")
        return Result("feasibility", Verdict.UNKNOWN, Assurance.NONE, "the environment is not proved to keep it", engine="Z3")

    def _invariant(self, invariant: Invariant, prop: Property | None) -> Result:
        span = prop.span if prop is not None else None
        clause = Clause(invariant.name, invariant.goal, spans=() if span is None else (span,))
        if invariant.way is not None:
            detail = invariant.way.value + (f" (k = {invariant.k})" if invariant.k > 1 else "")
            if invariant.lemmas:
                detail += f": {len(invariant.lemmas)} clauses"
            return Result(invariant.name, Verdict.PROVED, Assurance.PROVED, detail, span, engine="Z3", seconds=invariant.seconds)
        path = invariant.path
        engine = "Z3"
        if path is None and self.exploration is not None:
            sighting = self.exploration.checks[f"invariant:{invariant.name}"]
            if sighting.first is not None:
                run = run_to(self.exploration, sighting.first)
                reasons = reasons_of(self.system, clause, self.exploration.store.state(sighting.first))
                return Result(
                    invariant.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, "", span, run, reasons, "explorer", seconds=invariant.seconds
                )  # fmt: skip
        if path is None and self.bounded is not None:
            path = next((f.path for f in self.bounded.found if f.bad.update is None and f.bad.name == invariant.name), None)
        if path is not None:
            reasons = reasons_of(self.system, clause, end_of(self.system, path))
            return Result(
                invariant.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, f"after {len(path.updates)} steps", span,
                run_of(self.system, path), reasons, engine, seconds=invariant.seconds,
            )  # fmt: skip
        if self.exploration is not None and self.exploration.stopped is None:
            detail = f"in {self.exploration.states:,} states (not proved for all: {invariant.reason or 'not inductive'})"
            return Result(invariant.name, Verdict.HOLDS, Assurance.EXHAUSTIVE, detail, span, engine="explorer", seconds=invariant.seconds)
        return Result(
            invariant.name, Verdict.UNKNOWN, Assurance.BOUNDED, f"{invariant.reason or 'not proved'}{self._covered()}", span, engine="Z3",
            seconds=invariant.seconds,
        )  # fmt: skip

    def _reports(self, answer: Exclusion) -> Result:
        if answer.answer == "unsat":
            return Result("reports", Verdict.PROVED, Assurance.PROVED, "Acc and Rej exclude each other", engine="Z3")
        return Result("reports", Verdict.UNKNOWN, Assurance.NONE, f"Acc and Rej: {answer.answer} {answer.reason}".rstrip(), engine="Z3")


def unrefused(lemma2: Lemma2) -> list[int]:
    return [r.update for r in lemma2.refusals if r.outcome not in ANSWERED]
