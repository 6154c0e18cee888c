"""Commits: the solver decides, the scalar meaning explains, and where the two differ nothing is committed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from audit_desk import Scripted, desk, ran
from systems_by_hand import Draft

from icore_kernel.api import Loaded, load
from icore_kernel.audit.auditor import Audit, Auditor, Disagreement
from icore_kernel.audit.frame import Outcome, Parameters
from icore_kernel.audit.host import Step
from icore_kernel.audit.judge import Judge
from icore_kernel.audit.loop import Loop
from icore_kernel.audit.session import Refused, open_session
from icore_kernel.explore.model import Failing, Phase, State
from icore_kernel.hosts.random_host import RandomHost
from icore_kernel.meaning import scalar
from icore_kernel.prove.commit import NOT_SUCCESSOR, CommitSolver, Ruling
from icore_kernel.record.store import open_store
from icore_kernel.system import Clause, System

CHECKOUT = Path(__file__).parents[1]
EXAMPLES = sorted((CHECKOUT / "examples").glob("*.icore"))
MODEL = CHECKOUT / "proofs_tests" / "bench" / "models" / "coverage_obligations.icore"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return desk(tmp_path_factory.mktemp("desk"))


@cache
def _package(path: Path) -> tuple[Loaded, CommitSolver]:
    loaded = load(path)
    return loaded, CommitSolver(loaded.system, loaded.bank)


# ---- the two meanings ----------------------------------------------------------------------------------------------------------


def _by_hand(system: System, number: int, before: State, after: State | None) -> set[tuple[str, str]]:
    """Every clause that the occurrence breaks, by the reference evaluator alone."""
    update = system.updates[number]
    asked = [(Phase.REQUIRES, "when", update.when), (Phase.REQUIRES, "requires", update.requires), (Phase.RANGE, "range", update.defined)]
    asked.extend((Phase.BEFORE, c.label, c.formula) for c in update.before)
    found = {(phase.value, label) for phase, label, formula in asked if not scalar.evaluate(formula, before)}
    if after is not None:
        late = [(Phase.AFTER, c) for c in update.after] + [(Phase.FEASIBILITY, c) for c in system.feasibility]
        found |= {(phase.value, c.label) for phase, c in late if not scalar.evaluate(c.formula, after)}
    return found


def _keys(failing: tuple[Failing, ...]) -> set[tuple[str, str]]:
    return {(f.phase.value, f.clause.label) for f in failing}


def _walk(loaded: Loaded, judge: Judge, draw: random.Random, states: int) -> Iterator[State]:
    """States of random walks: along legal steps mostly, now and then along one that is refused, and now and then any state at all."""
    system, state = loaded.system, loaded.system.initial
    for _ in range(states):
        yield state
        enabled, attempts = judge.enabled(state)
        number = draw.choice(attempts) if attempts and draw.random() < 0.15 else draw.choice(enabled) if enabled else None
        after = None if number is None else judge.successor(state, number)
        state = system.initial if after is None else after
        if draw.random() < 0.1:
            field = draw.choice(system.fields)
            state = (*state[: field.index], draw.randint(field.domain.lo, field.domain.hi), *state[field.index + 1 :])


def _compared(path: Path, states: int, share: float = 1.0) -> tuple[int, int]:
    """(legal, illegal) over random states: every occurrence, and a `share` of the updates whose `when` fails there."""
    loaded, solver = _package(path)
    system, judge, draw = loaded.system, Judge(loaded.system), random.Random(7)
    counts = [0, 0]
    for state in _walk(loaded, judge, draw, states):
        for number, update in enumerate(system.updates):
            if not scalar.evaluate(update.when, state) and draw.random() > share:
                continue
            after = judge.successor(state, number)
            expected = _by_hand(system, number, state, after)
            assert _keys(judge.failing(state, number, after)) == expected
            ruling = solver.decide(state, number, after)
            assert ruling.legal is (not expected), (path.stem, update.name, ruling, expected)
            assert _keys(ruling.broken) == expected, (path.stem, update.name)
            counts[bool(expected)] += 1
    return counts[0], counts[1]


@pytest.mark.parametrize("name", ["code_change", "literature_answer", "release_pipeline"])
def test_solver_and_evaluation_break_the_same_clauses(name: str) -> None:
    legal, illegal = _compared(next(p for p in EXAMPLES if p.stem == name), 6, share=0.1)
    assert legal >= 6 and illegal >= 30


def test_solver_and_evaluation_break_the_same_clauses_of_every_update() -> None:
    loaded, _ = _package(MODEL)
    legal, illegal = _compared(MODEL, 2)
    assert legal + illegal == 2 * len(loaded.system.updates) and legal >= 6


@pytest.mark.parametrize("path", [*EXAMPLES, MODEL], ids=lambda path: path.stem)
def test_solver_and_evaluation_break_the_same_clauses_in_two_hundred_states(path: Path) -> None:
    legal, illegal = _compared(path, 200, share=0.05)
    assert min(legal, illegal) >= 200


def test_a_state_after_that_the_update_does_not_lead_to_is_no_commit() -> None:
    """Neither a field that is written, nor one that is kept, may be another."""
    loaded, solver = _package(MODEL)
    system, judge = loaded.system, Judge(loaded.system)
    before, number = system.initial, next(i for i, u in enumerate(system.updates) if u.name == "open(p[2])")
    after = judge.successor(before, number)
    assert after is not None and solver.decide(before, number, after).legal
    for field in system.fields:
        for value in range(field.domain.lo, field.domain.hi + 1):
            if value != after[field.index]:
                other = (*after[: field.index], value, *after[field.index + 1 :])
                ruling = solver.decide(before, number, other)
                assert ruling.legal is False and NOT_SUCCESSOR in ruling.broken, (field.name, value)


def test_one_formula_is_another_clause_of_the_state_before_and_of_the_state_after() -> None:
    d = Draft((0, 4))
    below = d.bank.lt(d.x(), d.n(3))
    one_more = d.update("tick", below, (0, d.bank.add(d.x(), d.n(1))), after=(Clause("below", below),))
    solver = CommitSolver(d.system([one_more]), d.bank)
    assert solver.decide((1,), 0, (2,)).legal
    late = solver.decide((2,), 0, (3,))
    assert (late.legal, _keys(late.broken)) == (False, {("after", "below")})
    early = solver.decide((3,), 0, (4,))
    assert (early.legal, _keys(early.broken)) == (False, {("requires", "when"), ("after", "below")})
    assert _keys(solver.decide((4,), 0, None).broken) == {("requires", "when"), ("range", "range")}


# ---- doubles of the solver -------------------------------------------------------------------------------------------------------


class Double:
    """The solver, but for one occurrence, of which it says something else."""

    version = "a double"

    def __init__(self, loaded: Loaded, number: int, ruling: Ruling) -> None:
        self.real, self.number, self.ruling, self.asked = CommitSolver(loaded.system, loaded.bank), number, ruling, 0

    def decide(self, before: State, number: int, after: State | None) -> Ruling:
        if number == self.number:
            self.asked += 1
            return self.ruling
        return self.real.decide(before, number, after)


def _number(loaded: Loaded, name: str) -> int:
    return next(i for i, u in enumerate(loaded.system.updates) if u.name == name)


def _refusing(loaded: Loaded) -> Ruling:
    clause = next(c for c in loaded.system.feasibility if c.label == "A.4(6)")
    return Ruling(False, (Failing(Phase.FEASIBILITY, clause),))


UNSUPPORTED = ["after: definition 6(iii) evidence", "feasibility: A.4(2)", "feasibility: A.4(7)"]
GIVE, TAKE_ON, CARELESS = "assign(ana, right)", "assign(ana, left)", "finish.withheld(ana, left)"


@pytest.mark.parametrize(
    ("update", "rule", "said"),
    [
        (TAKE_ON, "refuses", ([], ["feasibility: A.4(6)"])),
        (CARELESS, "allows", (UNSUPPORTED, [])),
        (CARELESS, "blames another", (UNSUPPORTED, ["feasibility: A.4(6)"])),
        (TAKE_ON, "refuses for nothing", ([], ["illegal"])),
    ],
)
def test_where_the_two_differ_nothing_is_committed(loaded: Loaded, update: str, rule: str, said: tuple[list[str], list[str]]) -> None:
    """Both ways, and where they blame different clauses: the run ends as internal, the record says in what they differ."""
    ruling = {
        "refuses": _refusing(loaded), "allows": Ruling(True), "blames another": _refusing(loaded), "refuses for nothing": Ruling(False),
    }[rule]  # fmt: skip
    double = Double(loaded, _number(loaded, update), ruling)
    steps = {0: ("ana", TAKE_ON), 1: ("ana", update)}
    run = ran(loaded, Scripted(steps, {0: (GIVE,)}), decider=double)
    assert run.outcome is Outcome.INTERNAL
    assert double.asked == 1
    before = [
        ("commit", 16, "ana", TAKE_ON),
        ("diagnosis", "assignment", "monitor", "beneficial reassignment", "quality"),
        ("commit", 34, "monitor", GIVE),
    ]
    committed = before if update == CARELESS else []
    assert run.told == [("open",), *committed, ("internal",), ("end", 0, "internal")]
    entry = next(e for e in run.store.entries() if e.kind == "internal")
    assert entry.body["update"] == update
    assert (entry.body["scalar"], entry.body["solver"]) == said
    assert entry.body["state"] == run.loop.auditor.state_digest
    assert run.loop.auditor.state == run.loop.frame.x, "X is where it was"
    with pytest.raises(ValueError, match="what breaks a clause"):
        run.loop.auditor.commit(_illegal(run.loop.auditor), line=16, round=0, agent="ana", phase="ordinary", outside={})


def _illegal(auditor: Auditor) -> Audit:
    return auditor.audit(auditor.label("ana", (Step("sign(left)"),)))


def test_a_session_raises_where_the_two_differ(loaded: Loaded) -> None:
    store = open_store("memory:")
    auditor = Auditor(loaded, store, decider=Double(loaded, _number(loaded, TAKE_ON), _refusing(loaded)))
    before = auditor.state
    with pytest.raises(Disagreement, match=r"assign\(ana, left\): by evaluation legal, by a double \['feasibility: A.4\(6\)'\]"):
        auditor.audit(auditor.label("ana", (Step(TAKE_ON),)))
    assert auditor.state == before
    assert [e.kind for e in store.entries()] == ["internal"]


@pytest.mark.parametrize("update", [TAKE_ON, CARELESS])
def test_a_solver_that_gives_up_commits_nothing(loaded: Loaded, update: str) -> None:
    gave_up = Ruling(None, reason="canceled")
    steps = {0: ("ana", TAKE_ON), 1: ("ana", update)}
    run = ran(loaded, Scripted(steps, {0: (GIVE,)}), decider=Double(loaded, _number(loaded, update), gave_up), budget=2)
    refused = [e.body for e in run.store.entries() if e.kind == "refusal"]
    assert run.outcome is Outcome.INCOMPLETE, "no error: a refusal"
    assert [body["update"] for body in refused] == ([TAKE_ON, TAKE_ON] if update == TAKE_ON else [CARELESS])
    last = refused[-1]["violations"][-1]
    assert (last["clause"], last["text"]) == ("solver", "the solver gave up: canceled")
    # What evaluation finds is said too.
    assert ("A.4(2)" in {v["clause"] for v in refused[-1]["violations"]}) is (update == CARELESS)
    assert update not in [e.body["update"] for e in run.store.entries() if e.kind == "commit"]


def test_the_solver_itself_gives_up_where_its_effort_is_used_up(loaded: Loaded) -> None:
    solver = CommitSolver(loaded.system, loaded.bank)
    judge, number = Judge(loaded.system), _number(loaded, TAKE_ON)
    after = judge.successor(loaded.system.initial, number)
    solver._solver.set("rlimit", 1)
    ruling = solver.decide(loaded.system.initial, number, after)
    assert ruling.legal is None and ruling.reason
    solver._solver.set("rlimit", 0)
    assert solver.decide(loaded.system.initial, number, after).legal, "and goes on with the next commit"


# ---- what is said of a refusal ---------------------------------------------------------------------------------------------------


def _spans(clause: Clause) -> list[tuple[str, str]]:
    """Each span of a clause: its file's name, and the text it spans."""
    found = []
    for span in clause.spans:
        lines = Path(span.file).read_text(encoding="utf-8").split("\n")
        found.append((Path(span.file).name, lines[span.line - 1]))
    return found


def test_broken_clauses_are_spans_of_the_theory_and_of_the_package(loaded: Loaded) -> None:
    solver, judge = CommitSolver(loaded.system, loaded.bank), Judge(loaded.system)
    state = loaded.system.initial
    after = judge.successor(state, _number(loaded, TAKE_ON))
    assert after is not None
    number = _number(loaded, CARELESS)
    ruling = solver.decide(after, number, judge.successor(after, number))
    assert ruling.legal is False
    told = {f.clause.label: _spans(f.clause) for f in ruling.broken}
    assert set(told) == {"definition 6(iii) evidence", "A.4(2)", "A.4(7)"}
    assert told["A.4(2)"][0][0] == "3-feasibility.icore" and told["A.4(2)"][0][1].startswith('feasibility "A.4(2)"')
    assert told["definition 6(iii) evidence"][0][0] == "4-legality.icore"
    assert told["definition 6(iii) evidence"][0][1].startswith('legality "definition 6(iii) evidence"')
    # The package's own: `when`, in the update that asks for it.
    number = _number(loaded, "sign(left)")
    ruling = solver.decide(loaded.system.initial, number, judge.successor(loaded.system.initial, number))
    own = next(f.clause for f in ruling.broken if f.clause.label == "when")
    assert _spans(own) == [("desk.icore", "update sign(w: Job) operation accept by monitor {")]


def test_a_refusal_in_the_record_names_them(loaded: Loaded) -> None:
    with open_session(loaded) as session:
        session.propose(TAKE_ON)
        with pytest.raises(Refused):
            session.propose(CARELESS)
        entries = list(session.store.entries())
    body = entries[-1].body
    assert body["solver"]["core"] == ["definition 6(iii) evidence", "A.4(2)", "A.4(7)"]
    places = {v["clause"]: v["spans"] for v in body["violations"]}
    assert places["A.4(2)"][0].startswith("spec/3-feasibility.icore:")
    assert places["definition 6(iii) evidence"][0].startswith("spec/4-legality.icore:")


# ---- long runs -------------------------------------------------------------------------------------------------------------------


def test_a_long_run_keeps_nothing_of_what_it_has_committed() -> None:
    """What the loop has in memory beside the record does not grow with the commits (the bench measures it in bytes)."""
    loaded, solver = _package(MODEL)
    store = open_store("memory:")
    auditor = Auditor(loaded, store, decider=solver)
    loop = Loop(auditor, RandomHost(1), Parameters(Fraction(0), 3, 250))
    assert loop.run() is Outcome.INCOMPLETE
    commits = sum(e.kind == "commit" for e in store.entries())
    assert commits >= 250
    updates = len(loaded.system.updates)
    assert len(solver._updates) <= updates
    assert len(solver._clauses) + len(solver._writes) < 10 * updates
    assert len(loop.views.messages) <= 20
    assert not auditor.flags


def test_the_model_is_model_b() -> None:
    """n = 6 and three agents: as many ground updates as model B has, 84 fields."""
    system = _package(MODEL)[0].system
    assert (len(system.fields), len(system.updates)) == (84, 6 * (2 + 6 * 3))
