"""Lemma 2 on the examples, invariants by every way, a package too large to enumerate, and what is said of all that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CHECKOUT, Icore

from icore_kernel import api
from icore_kernel.check.proof import Proof, prove
from icore_kernel.explore.search import explore
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.prove.bounded import Bad, illegal_steps, search
from icore_kernel.prove.induction import Facts, Induction, Invariant, Way
from icore_kernel.prove.lemmas import find_lemmas
from icore_kernel.prove.onestep import ANSWERED, Outcome, lemma_2, with_lemmas
from icore_kernel.prove.pdr import reach
from icore_kernel.prove.steps import Steps
from icore_kernel.runs import end_of
from icore_kernel.system import Kind
from icore_kernel.verdict import Assurance, Verdict

EXAMPLES = CHECKOUT / "examples"
GOOD = sorted(p for p in EXAMPLES.glob("*.icore") if "broken" not in p.stem)
BOXES = CHECKOUT / "proofs_tests" / "cases" / "large" / "sealed_boxes.icore"


def package(tmp_path: Path, text: str) -> Loaded:
    file = tmp_path / "package.icore"
    file.write_text(text, encoding="utf-8")
    return api.load(file)


def result(proof: Proof, name: str):  # type: ignore[no-untyped-def]
    return next(r for r in proof.report.results if r.name == name)


# ---- Lemma 2 ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("file", GOOD, ids=lambda path: path.stem)
def test_nine_tenths_of_the_pairs_are_proved_and_every_fault_is_refused(file: Path) -> None:
    loaded = api.load(file)
    system = loaded.system
    steps = Steps(system, loaded.bank)
    plain = lemma_2(system, loaded.bank, steps=steps)
    moving = {n for n, u in enumerate(system.updates) if u.kind is not Kind.FAULT}
    assert plain.complete and {p.update for p in plain.pairs} == moving
    assert {r.update for r in plain.refusals} == set(range(len(system.updates))) - moving
    assert plain.share > 0.89
    for pair in plain.open:
        assert pair.state is not None and all(f.domain.lo <= v <= f.domain.hi for f, v in zip(system.fields, pair.state, strict=True))
        assert all(scalar.evaluate(part, pair.state) for part in steps.feasible)
    found = find_lemmas(steps, 60.0)
    said = with_lemmas(steps, plain, found.lemmas)
    assert said.share > 0.99
    assert all(r.outcome in ANSWERED for r in said.refusals)
    assert {p.label for p in said.open} <= {"range"}


def test_every_pair_is_counted_once_and_an_untouched_clause_is_not_asked() -> None:
    loaded = api.load(EXAMPLES / "release_pipeline.icore")
    system = loaded.system
    said = lemma_2(system, loaded.bank)
    keys = [(p.update, p.label) for p in said.pairs]
    assert len(set(keys)) == len(keys)
    per_update = len({c.label for c in system.feasibility}) + 1  # and the range of its writes
    note = next(n for n, u in enumerate(system.updates) if u.name == "note_failure(unit)")
    own = {p.label: p.outcome for p in said.pairs if p.update == note}
    assert len(own) >= per_update
    assert own["A.4(6)"] is Outcome.UNTOUCHED  # consuming a report says nothing of assignments
    assert all(p.seconds == 0 for p in said.pairs if p.outcome is Outcome.UNTOUCHED)


def test_lemmas_hold_in_every_reachable_state() -> None:
    loaded = api.load(EXAMPLES / "code_change.icore")
    steps = Steps(loaded.system, loaded.bank)
    found = find_lemmas(steps, 60.0)
    states = explore(loaded.system)
    assert found.lemmas and found.whole and found.complete
    for number in range(states.states):
        assert all(scalar.evaluate_all(found.lemmas, states.store.state(number)))


LOOP = """language 1
package Loop "1"
agents { ana }
input c { x: 0..9 = 0 }
update step operation transform by ana { view global when c.x < 9 set c.x := if c.x == 0 then 1 else if c.x == 1 then 0 else c.x + 1 }
"""
"""0 and 1 are all that is reached; nothing leads to 2, and from 2 on it goes up to 9."""


@pytest.mark.parametrize(
    ("invariant", "way", "k"),
    [
        ("c.x in {0, 1}", Way.AS_GIVEN, 1),
        ("c.x != 3", Way.K_INDUCTIVE, 2),  # 2 leads there, and nothing leads to 2
        ("c.x != 4", Way.K_INDUCTIVE, 3),
        ("c.x != 9", Way.REACHABILITY, 1),  # 2, 3, ... 8 lead there
    ],
)
def test_each_way_to_an_invariant(invariant: str, way: Way, k: int, tmp_path: Path) -> None:
    said, loaded = by_induction(tmp_path, invariant)
    assert (said.way, said.k) == (way, k)
    assert said.inductive_as_given == (way is Way.AS_GIVEN) == (said.state is None)
    states = explore(loaded.system)
    assert states.states == 2 and all(scalar.evaluate(said.goal, states.store.state(n)) for n in range(2))


COUNTER = """language 1
package Counter "1"
agents { ana }
input c { low: 0..9 = 0, high: 0..9 = 0 }
update step operation transform by ana { view global when c.low < 9 and c.high < 9 set c.low := c.low + 1, c.high := c.high + 1 }
"""


def by_induction(tmp_path: Path, invariant: str, text: str = LOOP) -> tuple[Invariant, Loaded]:
    """Without lemmas."""
    loaded = package(tmp_path, f"{text}invariant it: {invariant}\n")
    engine = Induction(Steps(loaded.system, loaded.bank), Facts((), True, True), float("inf"))
    return engine.prove("it", loaded.system.properties[0].formula, seconds=30.0), loaded


def test_what_is_false_ends_in_a_run_that_replays(tmp_path: Path) -> None:
    said, loaded = by_induction(tmp_path, "c.high <= 3", COUNTER)
    assert said.way is None and said.path is not None
    assert len(said.path.updates) == 4
    assert not scalar.evaluate(said.goal, end_of(loaded.system, said.path))


def test_what_is_false_in_the_beginning_is_a_run_of_no_steps(tmp_path: Path) -> None:
    said, _ = by_induction(tmp_path, "c.high >= 1", COUNTER)
    assert said.path is not None and said.path.updates == ()


def test_reachability_gives_clauses_that_are_inductive(tmp_path: Path) -> None:
    loaded = package(tmp_path, f"{COUNTER}invariant it: c.low == 9 implies c.high == 9\n")
    steps = Steps(loaded.system, loaded.bank)
    goal = loaded.system.properties[0].formula
    said = reach(steps, steps.feasible, goal, 30.0)
    assert said.lemmas is not None and said.path is None
    again = Induction(steps, Facts((), True, True), float("inf")).prove("both", loaded.bank.and_(goal, *said.lemmas), hard=False)
    assert again.way is Way.AS_GIVEN


def test_a_bounded_search_finds_the_shortest_run_and_says_how_far_it_looked(tmp_path: Path) -> None:
    loaded = package(tmp_path, f"{COUNTER}invariant it: c.high <= 3\n")
    steps = Steps(loaded.system, loaded.bank)
    bad = [Bad("it", loaded.bank.not_(loaded.system.properties[0].formula))]
    assert search(steps, illegal_steps(steps), 9).found == ()
    near = search(steps, bad, 3)
    assert near.found == () and near.depth == 3
    far = search(steps, bad, 9)
    assert [len(f.path.updates) for f in far.found] == [4]


# ---- a package too large to enumerate ---------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_closed_form_of_the_number_of_states(n: int) -> None:
    loaded = api.load(BOXES, settings={"n": str(n)})
    assert explore(loaded.system).states == 7**n + 3 * n * 7 ** (n - 1)


def test_an_invariant_of_more_states_than_can_be_visited_is_proved() -> None:
    n = 18
    assert 7**n + 3 * n * 7 ** (n - 1) > 10**15
    loaded = api.load(BOXES)
    said = prove(loaded, seconds=300.0)
    invariant = next(i for i in said.invariants if i.name == "sealed_right")
    read = invariant.goal.reads.bit_count()
    assert read >= 0.9 * len(loaded.system.fields)
    assert invariant.way is not None and not invariant.inductive_as_given
    assert invariant.state is not None  # and that is the counterexample to induction that shows it
    assert said.report.verdict is Verdict.PROVED and said.exploration is None


def test_a_bug_planted_in_it_is_found(tmp_path: Path) -> None:
    right = "box(i).second := box(i).first,"
    wrong = "box(i).second := if i == n and box(1).stage == 3 and box(2).stage == 3 then 0 else box(i).first,"
    text = BOXES.read_text(encoding="utf-8")
    assert text.count(right) == 1
    loaded = package(tmp_path, text.replace(right, wrong))
    steps = Steps(loaded.system, loaded.bank)
    goal = loaded.system.properties[0].formula
    said = search(steps, [Bad("sealed_right", loaded.bank.not_(goal))], 9)
    assert [len(f.path.updates) for f in said.found] == [9]
    assert not scalar.evaluate(goal, end_of(loaded.system, said.found[0].path))


# ---- what is said --------------------------------------------------------------------------------------------------------
def test_a_broken_example_is_violated_by_the_clause_that_breaks() -> None:
    said = prove(api.load(EXAMPLES / "code_change_broken.icore"))
    legality = result(said, "legality")
    assert legality.verdict is Verdict.VIOLATED and [r.label for r in legality.reasons] == ["definition 6(ii)"]
    assert legality.run.offending.update == "push(change)"
    # Which feasible state the solver gives is its own affair; the run above shows that one of them is reachable.
    assert any(c.update == "push(change)" and c.label == "definition 6(ii)" for c in said.counterexamples)
    assert result(said, "feasibility").verdict is Verdict.PROVED


def test_a_counterexample_that_no_run_reaches_is_closed_by_exploration() -> None:
    """The clock of the repair package stays in its range for a reason that takes counting."""
    said = prove(api.load(EXAMPLES / "repair_verification.icore"))
    legality = result(said, "legality")
    assert (legality.verdict, legality.assurance) == (Verdict.HOLDS, Assurance.EXHAUSTIVE)
    assert [(c.update, c.label, c.reachable) for c in said.counterexamples if not c.closed] == [("tick", "range", False)]
    assert not said.facts.closed and result(said, "feasibility").verdict is Verdict.HOLDS


def test_what_cannot_be_decided_is_unknown(tmp_path: Path) -> None:
    """A time limit: nothing is claimed of what was not asked."""
    said = prove(api.load(EXAMPLES / "release_pipeline.icore"), seconds=0.01)
    assert said.report.verdict is Verdict.UNKNOWN
    assert result(said, "legality").verdict is Verdict.UNKNOWN


def test_the_command_line_says_it_in_text_and_in_json(icore: Icore) -> None:
    file = str(EXAMPLES / "code_change.icore")
    text = icore("prove", file)
    assert text.returncode == 3 and text.stdout.splitlines()[-1].startswith("proved what was asked · ")
    assert "legality" in text.stdout and "27 updates legal wherever enabled" in text.stdout and "not inductive" in text.stdout
    said = icore("prove", file, "--format", "json")
    record = json.loads(said.stdout)
    assert record["schema"] == "icore.prove/1" and record["verdict"] == "unknown" and record["exit_status"] == 3
    assert record["not_asked"][-2:] == ["dead ends", "run answered"] and "not asked here" in text.stdout
    pairs = record["lemma_2"]["pairs"]
    assert len(pairs) == 368 and {p["answer"] for p in pairs} == {"untouched", "proved", "strengthened"}
    assert {i["name"] for i in record["invariants"]} == {"soundness", "merged_as_seen", "four_eyes"}
    assert icore("prove", str(EXAMPLES / "code_change_broken.icore")).returncode == 1
    assert icore("prove", "nowhere.icore").returncode == 2


ONE_CHOICE = "language 1\npackage Choice\ninput door { level: 0..3 }\n"
"""An input begins anywhere in its domain, unless `initially` says where."""


def test_nothing_is_proved_where_no_initial_state_exists(icore: Icore, tmp_path: Path) -> None:
    said = prove(package(tmp_path, f"{ONE_CHOICE}initially door.level > 0 and door.level == 0\ninvariant low: door.level < 2\n"))
    assert [(r.name, r.verdict) for r in said.report.results] == [("start", Verdict.VIOLATED)]
    assert said.report.results[0].span is not None and said.report.results[0].span.line == 4
    assert said.not_asked == ("low",)
    text = icore("prove", str(said.loaded.path))
    assert text.returncode == 1 and "no initial state satisfies `initially`" in text.stdout
    assert text.stdout.splitlines()[-1].startswith("violated")


def test_exit_status_0_only_where_nothing_declared_was_left_out(icore: Icore, tmp_path: Path) -> None:
    all_asked = package(tmp_path, f"{ONE_CHOICE}initially door.level == 0\ninvariant low: door.level < 2\n")
    text = icore("prove", str(all_asked.path))
    assert text.returncode == 0 and text.stdout.splitlines()[-1].startswith("proved · ")
    left_out = package(tmp_path, f"{ONE_CHOICE}initially door.level == 0\ninvariant low: door.level < 2\nreachable high: door.level == 3\n")
    text = icore("prove", str(left_out.path))
    assert text.returncode == 3 and "not asked here, but by icore check: high" in text.stdout
    assert text.stdout.splitlines()[-1].startswith("proved what was asked · exit 3: 1 declared question is for icore check · ")
    assert prove(left_out).left_out
    assert "Exit status 3 also where all that was asked is proved" in icore("prove", "--help").stdout
