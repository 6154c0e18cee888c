"""The built-in results: well-formed, legality, faults, feasibility, soundness, reports, Proposition 4, dead ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from icore_dsl.syntax import Span
from icore_kernel.check.answers import engine, exhaustive, or_more, plural, sighting
from icore_kernel.check.cheap import legality
from icore_kernel.check.missing import reasons
from icore_kernel.check.places import places, unrequired
from icore_kernel.check.plan import CONCLUSION, FEASIBILITY, SOUNDNESS, Plan
from icore_kernel.check.quiet import waiting, why_no_end
from icore_kernel.check.reasons import reasons_of
from icore_kernel.check.repair import repair_of, was_false
from icore_kernel.explore.judge import successor
from icore_kernel.explore.model import ANSWERED, Exploration, Unaudited, Violation
from icore_kernel.load import Loaded
from icore_kernel.runs import run_of_violation, run_to
from icore_kernel.system import Clause, Kind, System
from icore_kernel.verdict import Assurance, Obligation, Reason, Result, Verdict


class Sections:
    """One method a result of design 1. `obligations` collects what the solver was asked, `seconds` are left for it (None: no limit)."""

    def __init__(self, loaded: Loaded, plan: Plan, exploration: Exploration, seconds: float | None = None) -> None:
        self.loaded = loaded
        self.system = loaded.system
        self.plan = plan
        self.found = exploration
        self.seconds = seconds
        self.obligations: list[Obligation] = []
        never = self.system.has_obligations and plan.accept.is_false and plan.reject.is_false
        self.rootless = unrequired(loaded) if never else ""

    def well_formed(self) -> Result:
        detail = plural(self.system.counts.get("declarations", 0), "declaration")
        return Result("well-formed", Verdict.HOLDS, Assurance.STATIC, detail, engine="checker")

    def no_start(self, where: Span) -> Result:
        detail = "no initial state satisfies `initially`: everything else would hold for no reason"
        return Result("start", Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, where, engine=engine(self.found))

    # ---- updates ---------------------------------------------------------------------------------------------------
    def legality(self) -> Iterator[Result]:
        ordinary = [u for u in self.system.updates if u.kind is not Kind.FAULT]
        if not ordinary:
            return
        proof = legality(self.loaded, self.seconds)
        if proof is not None:
            self.obligations.append(proof)
        violations = [v for v in self.found.violations if not self._inherited(v)]
        if self.found.violations and not violations:
            yield self._not_judged()
            return
        if not violations:
            schemas = {u.schema for u in ordinary}
            detail = f"{plural(len(schemas), 'update')} legal wherever enabled · {plural(len(ordinary), 'occurrence')}"
            if proof is not None and proof.answer == "unsat":
                yield Result("legality", Verdict.PROVED, Assurance.PROVED, detail, engine="Z3", seconds=proof.seconds)
            else:
                yield exhaustive(self.found, "legality", detail)
            return
        if proof is not None and proof.answer == "unsat":
            raise AssertionError("the solver proved every update legal, and the explorer found one that is not")
        yield self._illegal("legality", violations)

    def _illegal(self, name: str, violations: Sequence[Violation]) -> Result:
        """What is broken how often, with a shortest run to an illegal step."""
        shortest = min(violations, key=lambda v: (len(self._steps(v)), v.update))
        total = Counter[str]()
        for violation in violations:
            total[f"{violation.schema} breaks {violation.label}"] += violation.count
        shown = f"{shortest.schema} breaks {shortest.label}"  # what the run below is about comes first
        others = [(what, n) for what, n in total.most_common(3) if what != shown]
        detail = ", ".join(f"{what} ({n:,})" for what, n in [(shown, total[shown]), *others][:3])
        update = self.system.updates[shortest.update]
        return Result(
            name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, update.span, run_of_violation(self.found, shortest),
            self._violation_reasons(shortest), engine(self.found), seconds=self.found.seconds,
            repair=repair_of(self.loaded, shortest, self.found.store.state(shortest.state)),
        )  # fmt: skip

    def _inherited(self, violation: Violation) -> bool:
        """Whether what it is said to break was broken before the step: then it was not this update that broke it."""
        state = self.found.store.state(violation.state)
        broken = [failing for failing in violation.failing if failing.clause.label == violation.label]
        return bool(broken) and all(was_false(failing, state) for failing in broken)

    def _not_judged(self) -> Result:
        """Where every illegal step starts in a state that is infeasible already: the fault is of the start, and nothing is shown."""
        count = plural(sum(v.count for v in self.found.violations), "step")
        detail = f"not judged from infeasible states: {count} would break only what is false from the start (see feasibility)"
        return Result("legality", Verdict.UNKNOWN, Assurance.NONE, detail, engine=engine(self.found))

    def _steps(self, violation: Violation) -> tuple[int, ...]:
        return self.found.store.path(violation.state).updates

    def _violation_reasons(self, violation: Violation) -> tuple[Reason, ...]:
        state = self.found.store.state(violation.state)
        after = successor(self.system.updates[violation.update], state)
        broken = [failing for failing in violation.failing if not was_false(failing, state)]
        return tuple(reasons(self.loaded, broken, broken, state, after)[:4])

    def faults(self) -> Iterator[Result]:
        """Every fault, and every attempt (an update tried where its `when` holds and its `requires` does not), and what refused it."""
        faults = {u.schema: u for u in self.system.updates if u.kind is Kind.FAULT}
        refused = Counter[str]()
        by_schema = Counter[str]()
        for (schema, label), count in self.found.refusals.items():
            refused[label] += count
            by_schema[schema] += count
        attempts = {s for s in by_schema if s.endswith(".attempt")} - set(faults)
        if not faults and not attempts:
            return
        passed = {name: count for name, count in self.found.passed.items() if count}
        always = [name for name in (*faults, *attempts) if by_schema[name] and name not in passed]
        if passed:
            through = [f"{name} passes {count:,} of {plural(count + by_schema[name], 'time')}" for name, count in passed.items()]
            yield exhaustive(self.found, "faults", "; ".join([f"{len(always)} of {len(faults) + len(attempts)} always refused", *through]))
            return
        kinds = ((sum(name in faults for name in always), "fault"), (sum(name in attempts for name in always), "attempt"))
        detail = " and ".join(plural(count, what) for count, what in kinds if count) or "none"
        detail += " refused" + (f" {plural(sum(refused.values()), 'time')}" if always else "")
        said = ", ".join(f"by {label} {count:,}" for label, count in refused.most_common())
        schemas = places(self.loaded).schemas
        silent = sum(name in schemas and schemas[name].fault for name in self.system.silent)
        never = len(faults) - kinds[0][0] + silent  # an attempt is counted where it was made
        detail += (f": {said}" if said else "") + (f"; {plural(never, 'fault')} never attempted" if never else "")
        yield exhaustive(self.found, "faults", detail)

    def let_through(self) -> Iterator[Result]:
        """What an unaudited search let through. A fault that never commits shows nothing: then the rest is about the audited system."""
        mode = self.found.mode
        if not isinstance(mode, Unaudited):
            return
        commits = Counter[str]()
        for update, cover in zip(self.system.updates, self.found.coverage, strict=True):
            if update.kind is Kind.FAULT:
                commits[update.fault if mode.through is None or update.fault in mode.through else update.schema] += cover.committed
            elif not update.requires.is_true:
                commits[f"{update.schema}.attempt"] += cover.enabled - cover.committable
        wanted = sorted(commits if mode.through is None else mode.through)
        idle = [name for name in wanted if not commits[name]]
        said = ", ".join(f"{name} {commits[name]:,}" for name in wanted if commits[name])
        if idle and self.found.stopped is not None:
            detail = " · ".join([*([said] if said else []), f"not committed so far: {', '.join(idle)} ({self.found.stopped})"])
            yield replace(exhaustive(self.found, "let through", ""), detail=detail)
            return
        if not wanted or (idle and (mode.through is not None or not said)):
            never = f"never committed: {', '.join(idle)}" if idle else "no fault, and no attempt that `requires` refuses, is declared"
            yield Result("let through", Verdict.UNKNOWN, Assurance.NONE, f"{never}: nothing is shown", engine=engine(self.found))
            return
        if not idle:  # that each did commit is shown, whatever was not searched
            yield Result("let through", Verdict.HOLDS, Assurance.EXHAUSTIVE, said + or_more(self.found), engine=engine(self.found))
            return
        yield exhaustive(self.found, "let through", f"{said} · never committed: {', '.join(idle)}")

    def definedness(self) -> Iterator[Result]:
        """Unaudited, legality is not asked, and the solver knows nothing of states that need not be feasible; that every write stays in
        its domain still is."""
        if self.found.violations:
            yield self._illegal("definedness", self.found.violations)
        elif self.found.stopped == ANSWERED and not all(update.defined.is_true for update in self.system.updates):
            result = exhaustive(self.found, "definedness", "")
            yield replace(result, detail=f"every write stayed in its domain in {plural(self.found.states, 'state')} ({ANSWERED})")

    # ---- states ----------------------------------------------------------------------------------------------------
    def feasibility(self) -> Iterator[Result]:
        if self.system.has_obligations and self.system.feasibility:
            labels = f"{len(self.system.feasibility)} clauses in {plural(self.found.states, 'state')}"
            yield self._clauses("feasibility", FEASIBILITY, self.system.feasibility, labels)

    def soundness(self) -> Iterator[Result]:
        if not self.system.has_obligations or not self.system.soundness:
            return
        said = []
        for measure, extent in self.found.minimums.items():
            if extent.least is not None:
                said.append(f"{measure} {extent.least}" if measure == "snd" else f"smallest {measure} {extent.least}")
        yield self._clauses("soundness", SOUNDNESS, self.system.soundness, " · ".join(said))

    def _clauses(self, name: str, kind: str, clauses: tuple[Clause, ...], detail: str) -> Result:
        """Every clause in every reachable state; the shortest run to a state that breaks one."""
        broken = [(i, sighting(self.found, "checks", f"{kind}:{i}")) for i in range(len(clauses))]
        bad = [(s.first, i, s.count) for i, s in broken if s.first is not None]
        if not bad:
            return exhaustive(self.found, name, detail)
        first = min(bad)[0]
        state = self.found.store.state(first)
        here = [clauses[i] for where, i, _ in sorted(bad) if where == first]
        counts = ", ".join(f"{clauses[i].label} in {plural(count, 'state')}" for _, i, count in sorted(bad)) + or_more(self.found)
        run = run_to(self.found, first)
        if kind == FEASIBILITY and not run.steps:
            counts = f"{'an' if run.initial else 'the'} initial state is not feasible: {counts}"
        reasons = tuple(r for clause in here for r in reasons_of(self.system, clause, state))[:4]
        return Result(
            name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, counts, here[0].spans[0] if here[0].spans else None, run,
            reasons, engine(self.found), seconds=self.found.seconds,
        )  # fmt: skip

    # ---- reports -----------------------------------------------------------------------------------------------------
    @staticmethod
    def wanted(system: System) -> tuple[str, ...]:
        """Modules that take a while to import, and are wanted here."""
        return ("icore_kernel.prove.exclusion",) if system.has_obligations and system.accept and system.reject else ()

    def reports(self) -> Iterator[Result]:
        if not self.system.has_obligations or not self.system.accept or not self.system.reject:
            return
        from icore_kernel.prove.exclusion import exclude

        answer = exclude(self.system, self.loaded.bank, self.plan.accept, self.plan.reject, self.seconds)
        self.obligations.append(answer.obligation)
        both = sighting(self.found, "seen", "both")
        seconds = answer.obligation.seconds
        if both.first is not None:
            if answer.answer == "unsat":
                raise AssertionError("the solver proved that Acc and Rej exclude each other, and the explorer found a state with both")
            yield Result(
                "reports", Verdict.VIOLATED, Assurance.EXHAUSTIVE, f"Acc and Rej hold together in {plural(both.count, 'state')}", None,
                run_to(self.found, both.first), engine=engine(self.found), seconds=seconds,
            )  # fmt: skip
        elif answer.answer == "unsat":
            yield Result("reports", Verdict.PROVED, Assurance.PROVED, "Acc and Rej exclude each other", engine="Z3", seconds=seconds)
        elif answer.answer == "sat":
            yield exhaustive(self.found, "reports", "Acc and Rej exclude each other where reachable (not in every state)")
        else:
            yield Result("reports", Verdict.UNKNOWN, Assurance.NONE, f"the solver gave up: {answer.reason}", engine="Z3", seconds=seconds)

    def performance(self) -> Iterator[Result]:
        """Proposition 4, where `truth` is declared: in each state where its hypotheses hold, its bound must."""
        if not self.system.conclusions:
            return
        hold = sighting(self.found, "seen", "hypotheses")
        for i, clause in enumerate(self.system.conclusions):
            broken = sighting(self.found, "checks", f"{CONCLUSION}:{i}")
            if broken.first is not None:
                state = self.found.store.state(broken.first)
                yield Result(
                    clause.label, Verdict.VIOLATED, Assurance.EXHAUSTIVE, f"in {plural(broken.count, 'state')}", clause.spans[0],
                    run_to(self.found, broken.first), reasons_of(self.system, clause, state), engine(self.found),
                )  # fmt: skip
                continue
            each = ", ".join(
                f"{c.label.removeprefix(clause.label)} in {sighting(self.found, 'seen', f'hypothesis:{j}').count:,}"
                for j, c in enumerate(self.system.hypotheses)
            )
            detail = f"bound holds in the {plural(hold.count, 'state')} where its hypotheses do · {each} of {self.found.states:,}"
            if hold.count == 0 and self.found.stopped is None and self.found.states:
                detail = f"says nothing: its hypotheses hold together in no reachable state · {each} of {self.found.states:,}"
            yield exhaustive(self.found, clause.label, detail, clause.spans[0] if clause.spans else None)

    def dead_ends(self) -> Iterator[Result]:
        if not self.system.has_obligations:
            return
        ends = self.found.dead_ends
        allowed = next((reason for kind, subject, reason in self.system.allowed if kind == "dead_end" and subject is None), None)
        excused = [f"{subject} ({reason})" for kind, subject, reason in self.system.allowed if kind == "dead_end" and subject is not None]
        settled = f"{plural(ends.quiet, 'settlement')}" + (": Accept, Reject or certified Stuck" if ends.quiet else "")
        if ends.first is None or ends.unended == 0:
            others = f"none but what may leave {', '.join(excused)}" if excused else "none"
            yield exhaustive(self.found, "dead ends", f"{others} · {settled}" + (", or allowed" if excused and ends.quiet else ""))
            return
        count = plural(ends.unended, "state")
        if allowed is not None:
            yield exhaustive(self.found, "dead ends", f"{count} allowed: {allowed}")
            return
        tried = [(self.system.updates[u], label) for u, label in ends.refused]
        refused = Counter(f"{update.name} by {label}" for update, label in tried if update.kind is not Kind.FAULT)
        said = "refused there: " + ", ".join(list(refused)[:4]) if refused else "nothing was refused there: let an update say what follows"
        detail = f"{count} where nothing productive can follow and neither Acc, Rej nor Stuck holds"
        why = waiting if self.rootless else why_no_end
        yield Result(
            "dead ends", Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, None,
            run_to(self.found, ends.first), why(self.system, self.found.store.state(ends.first)), engine(self.found),
            repair=self.rootless or said, seconds=self.found.seconds,
        )  # fmt: skip
