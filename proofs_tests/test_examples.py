"""The packages in examples/: their verdicts, what refuses each fault, what each fault does alone when nobody audits, and the
shortest runs of the broken ones. Every expectation is written by hand; the counts are derived where they stand.
"""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
from conftest import CHECKOUT, Icore

from icore_kernel import api

EXAMPLES = CHECKOUT / "examples"
PAPER = (
    "binary_coverage", "decompose_and_solve", "compatible_merge", "dependency_ladder", "repair_verification", "capability_assignment",
)  # fmt: skip
FIELD = ("release_pipeline", "incident_response", "literature_answer", "code_change")
EVIDENCE = "definition 6(iii) evidence"
STATES = 6_000
"""Enough for the shortest run of any fault alone, and no more than a test should wait for."""

FAULTS: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    # package -> fault -> the clauses that refuse it; the shortest run to an unsound state when it alone commits
    "binary_coverage": {
        "wrong": (EVIDENCE, ("assign", "complete.wrong")),
        "withheld": (EVIDENCE, ("assign", "complete.withheld")),
        "misdirected": (EVIDENCE, ("misdirected",)),
        "assign.attempt": ("requires", ("assign",)),
    },
    "decompose_and_solve": {
        "wrong": (EVIDENCE, ("assign", "decompose", "assign", "solve.wrong")),
        "withheld": (EVIDENCE, ("assign", "decompose", "assign", "solve.withheld")),
        # assign and decompose; four parts assigned, solved and accepted; enabled
        "forgetful": (EVIDENCE, ("assign", "decompose", *4 * ("assign", "solve", "accept_part"), "enable", "merge.forgetful")),
        "miscounted": (EVIDENCE, ("assign", "decompose", *4 * ("assign", "solve", "accept_part"), "enable", "merge.miscounted")),
        "unsupported": (EVIDENCE, ("assign", "decompose", *4 * ("assign", "solve", "accept_part"), "enable", "merge.unsupported")),
        "premature": (EVIDENCE, ("assign", "merge.premature")),
        "misdirected": (EVIDENCE, ("misdirected",)),
        "assign.attempt": ("requires", ("assign",)),
    },
    "compatible_merge": {
        "wrong": (EVIDENCE, ("assign", "gather_item.wrong")),
        "withheld": (EVIDENCE, ("assign", "gather_item.withheld")),
        "unsaid": (EVIDENCE, ("assign", "gather_item", "withdraw.unsaid")),
        # three sources assigned and gathered, the aggregate enabled and assigned
        "dropped": (EVIDENCE, (*3 * ("assign", "gather_item"), "enable", "assign", "merge.dropped")),
        "unsupported": (EVIDENCE, (*3 * ("assign", "gather_item"), "enable", "assign", "merge.unsupported")),
        "premature": (EVIDENCE, ("assign", "merge.premature")),
        "misdirected": (EVIDENCE, ("misdirected",)),
        "assign.attempt": ("requires", ("assign",)),
    },
    "dependency_ladder": {
        "wrong": (EVIDENCE, ("assign", "complete.wrong")),
        "withheld": (EVIDENCE, ("assign", "complete.withheld")),
        "premature": (EVIDENCE, ("assign", "complete.premature")),
        "misdirected": (EVIDENCE, ("misdirected",)),
        "assign.attempt": ("requires", ("assign",)),
    },
    "repair_verification": {
        "wrong": (EVIDENCE, ("assign", "complete.wrong")),
        "withheld": (EVIDENCE, ("assign", "complete.withheld")),
        # the check must be ready and assigned, and the standard raised, before evidence of version 1 is out of date
        "outdated": (EVIDENCE, ("assign", "complete", "enable", "assign", "raise_standard", "hand_in.outdated")),
        # an assignee on blocked work: repair was ready and assigned when the standard was raised
        "blocked_work": (
            EVIDENCE,
            (
                *("assign", "complete", "enable", "assign", "hand_in", "tick", "tick", "confirm", "enable", "assign"),
                *("raise_standard", "hand_in.blocked_work"),
            ),
        ),
        "impatient": (EVIDENCE, ("assign", "complete", "enable", "assign", "hand_in", "confirm.impatient")),
        "misdirected": (EVIDENCE, ("misdirected",)),
        "assign.attempt": ("requires", ("assign",)),
    },
    "capability_assignment": {
        "wrong": (EVIDENCE, ("assign", "complete.wrong")),
        "withheld": (EVIDENCE, ("assign", "complete.withheld")),
        "misdirected": (EVIDENCE, ("misdirected",)),
        "redirected": (EVIDENCE, ("assign", "redirected")),
        "assign.attempt": ("requires", ("assign",)),
    },
    "release_pipeline": {
        "careless": (f"{EVIDENCE}, requires", ("assign", "finish.careless")),  # on blocked work it is an attempt as well
        "untruthful": (f"{EVIDENCE}, requires", ("assign", "finish.untruthful")),
        "misdirect": (EVIDENCE, ("misdirect",)),
        "assign.attempt": ("requires", ("assign",)),
        "finish.attempt": ("requires", ("assign", "finish")),
    },
    "incident_response": {
        "wrong": (EVIDENCE, ("assign", "complete.wrong")),
        "withheld": (EVIDENCE, ("assign", "complete.withheld")),
        "premature": (EVIDENCE, ("assign", "complete", "enable", "assign", "new_telemetry", "complete.premature")),
        "misdirected": (EVIDENCE, ("misdirected",)),
        "hushed_up": (EVIDENCE, ("hushed_up",)),
        "assign.attempt": ("requires", ("assign",)),
    },
    "literature_answer": {
        "wrong": (EVIDENCE, ("assign", "cite.wrong")),
        "withheld": (EVIDENCE, ("assign", "cite.withheld")),
        "retracted_source": (EVIDENCE, ("assign", "retract", "cite.retracted_source")),
        "padded": (EVIDENCE, ("assign", "assign", "assign", "cite", "give_up", "leave_out", "enable", "assemble.padded")),
        "unsupported": (EVIDENCE, ("assign", "assign", "assign", "cite", "cite", "enable", "assemble.unsupported")),
        "premature": (EVIDENCE, ("assign", "assemble.premature")),
        "misdirected": (EVIDENCE, ("misdirected",)),
        "usurped": ("definition 6(ii)", ()),  # what it leaves behind cannot be told from the editor's own work
        "assign.attempt": ("requires", ("assign",)),
    },
    "code_change": {
        "wrong": (EVIDENCE, ("assign", "pass.wrong")),
        "withheld": (EVIDENCE, ("assign", "pass.withheld")),
        "outdated": (EVIDENCE, ("assign", "push", "pass.outdated")),
        "premature": (EVIDENCE, ("merge.premature",)),
        "self_review": (EVIDENCE, ("self_review",)),
        "quiet_push": ("A.4(2)", ("assign", "pass", "quiet_push")),
        "assign.attempt": ("requires", ("assign",)),
    },
}  # fmt: skip
CASES = [(package, fault) for package, faults in FAULTS.items() for fault in faults]


@cache
def loaded(package: str) -> api.Loaded:
    return api.load(EXAMPLES / f"{package}.icore")


@cache
def explored(package: str) -> api.Exploration:
    return api.explore(loaded(package))


@cache
def checked(package: str) -> api.Report:
    return api.check(loaded(package))


@cache
def refusals(package: str) -> dict[str, set[str]]:
    """fault or attempt, by its full name -> the labels that refused it."""
    found: dict[str, set[str]] = {}
    for (name, label), count in explored(package).refusals.items():
        if count:
            found.setdefault(name, set()).add(label)
    return found


def schemas(run: api.Run) -> list[str]:
    """The updates of a run without their bindings: which of several equal agents or parts goes first is nobody's business."""
    return [step.update.partition("(")[0] for step in run.steps]


def result(report: api.Report, name: str) -> api.Result:
    (found,) = [r for r in report.results if r.name == name]
    return found


# ---- good packages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", PAPER + FIELD)
def test_a_good_package_holds_and_every_finding_is_allowed(package: str) -> None:
    report = checked(package)
    assert [r.name for r in report.results if r.verdict not in (api.Verdict.HOLDS, api.Verdict.PROVED)] == []
    assert [f.message for f in report.findings if not f.allowed] == []


@pytest.mark.parametrize("package", PAPER + FIELD)
def test_accept_and_reject_are_both_reached(package: str) -> None:
    kinds = {finding.kind for finding in checked(package).findings}
    assert not kinds & {"accept_unreachable", "reject_unreachable"}


def test_every_example_is_expected_here() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.icore")}
    assert names == {*PAPER, *FIELD, *BROKEN}


@pytest.mark.parametrize("package", PAPER + FIELD)
def test_an_example_says_at_its_top_what_it_shows(package: str) -> None:
    top = (EXAMPLES / f"{package}.icore").read_text(encoding="utf-8").split("\nagents")[0].split("\nenum")[0]
    assert "# Shows: " in top


# ---- faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("package", "fault"), CASES)
def test_a_fault_is_refused_in_every_occurrence_by_the_clause_that_should(package: str, fault: str) -> None:
    labels, _ = FAULTS[package][fault]
    names = [n for n in refusals(package) if n == fault or n.endswith(f".{fault}")]
    assert len(names) == 1
    assert refusals(package)[names[0]] == set(labels.split(", "))
    assert not explored(package).passed.get(names[0])


@pytest.mark.parametrize(("package", "fault"), CASES)
def test_a_fault_alone_makes_the_unaudited_system_unsound_by_a_shortest_run(package: str, fault: str) -> None:
    _, run = FAULTS[package][fault]
    sound = result(api.check(loaded(package), unaudited=[fault], rules=api.Rules(max_states=STATES)), "soundness")
    if not run:
        assert sound.verdict is api.Verdict.HOLDS
        return
    assert sound.verdict is api.Verdict.VIOLATED
    assert sound.run is not None
    steps = schemas(sound.run)
    assert steps[-1] == run[-1]
    assert sorted(steps) == sorted(run)


@pytest.mark.parametrize("package", PAPER + FIELD)
def test_the_table_names_every_fault_and_every_attempt_that_is_refused(package: str) -> None:
    own = {name.rpartition(".")[2] if not name.endswith(".attempt") else name for name in refusals(package)}
    assert own == set(FAULTS[package])


@pytest.mark.parametrize("package", PAPER)
def test_the_paper_s_packages_have_the_paper_s_faults(package: str) -> None:
    """C.7 and the issue: wrong values, withheld evidence, misdirected assignment; attempts on blocked work where there is some."""
    assert {"wrong", "withheld", "misdirected"} <= set(FAULTS[package])
    assert ({"premature", "blocked_work"} & set(FAULTS[package]) != set()) == (package not in ("binary_coverage", "capability_assignment"))


# ---- exit statuses of the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize("package", PAPER)
def test_exit_statuses_audited_strict_and_unaudited(package: str, icore: Icore) -> None:
    file = str(EXAMPLES / f"{package}.icore")
    assert icore("check", "--strict", file).returncode == 0
    done = icore("check", "--unaudited", "--format", "json", "--max-states", str(STATES), file)
    assert done.returncode == 1
    (sound,) = [r for r in json.loads(done.stdout)["results"] if r["name"] == "soundness"]
    assert sound["verdict"] == "violated"
    assert len(sound["run"]["steps"]) == min(len(run) for _, run in FAULTS[package].values())  # all faults at once: the quickest of them


# ---- broken packages ------------------------------------------------------------------------------------------------

BROKEN: dict[str, tuple[str, tuple[str, ...], str | None, str]] = {
    # package -> the result that says it; its shortest run; the occurrence that may not follow; the clause that fails
    "code_change_broken": ("legality", ("assign", "pass"), "push", "definition 6(ii)"),
    "incident_response_broken": ("legality", ("assign", "complete", "enable"), "new_telemetry", "A.4(2)"),
    "dependency_ladder_broken": ("dead ends", ("assign", "complete", "sign_off"), None, "A.6 Acc(1)"),
    "literature_answer_broken": (
        "dead ends", ("assign", "assign", "give_up", "give_up", "leave_out", "leave_out", "give_no_answer"), None, "A.6 Rej(4)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("package", BROKEN)
def test_a_broken_package_is_violated_by_the_expected_shortest_run(package: str) -> None:
    name, steps, offending, label = BROKEN[package]
    found = result(checked(package), name)
    assert found.verdict is api.Verdict.VIOLATED
    assert found.run is not None
    assert sorted(schemas(found.run)) == sorted(steps)
    assert (found.run.offending is None) == (offending is None)
    if offending is not None and found.run.offending is not None:
        assert found.run.offending.update.partition("(")[0] == offending
    assert found.reasons[0].label == label


@pytest.mark.parametrize("package", BROKEN)
def test_a_broken_package_exits_1(package: str, icore: Icore) -> None:
    assert icore("check", str(EXAMPLES / f"{package}.icore")).returncode == 1


@pytest.mark.parametrize("package", BROKEN)
def test_a_broken_package_is_its_sibling_but_for_a_few_lines(package: str) -> None:
    """A teaching file must not drift from the one it teaches about."""
    broken = (EXAMPLES / f"{package}.icore").read_text(encoding="utf-8").splitlines()
    good = set((EXAMPLES / f"{package.removesuffix('_broken')}.icore").read_text(encoding="utf-8").splitlines())
    own = [line for line in broken if line and not line.startswith("#") and line not in good]
    assert 0 < len(own) <= 16
    assert sum("the mistake" in line for line in broken) == 1


def test_the_broken_incident_leaves_a_state_unsound_because_the_environment_is_never_refused() -> None:
    sound = result(checked("incident_response_broken"), "soundness")
    assert sound.run is not None
    assert schemas(sound.run) == ["assign", "complete", "enable", "new_telemetry"]


# ---- counts derived by hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_binary_coverage_has_the_states_of_a_product(n: int) -> None:
    """A point is ready without an assignee, ready with its one feasible agent, closed, or failed: 4^n states.
    Beyond them: all accepted (1), and each mixed end (every point closed or failed, some of each: 2^n - 2) once reported stuck.

    Steps: a point is assigned, completed or failed whatever the others are: 3 n 4^(n-1). One submission; 2^n - 2 halts.
    Stutters: a closed point is done again: n 4^(n-1) before a report, and after one n (2^(n-1) - 1), since a given point is closed
    in half of the 2^n ends but all-closed is not reported stuck; and the report may be repeated: 2^n - 2.
    Depth: assign and complete each point, and submit (or halt)."""
    found = api.explore(api.load(EXAMPLES / "binary_coverage.icore", settings={"n": str(n)}))
    mixed = 2**n - 2
    stutters = n * 4 ** (n - 1) + n * (2 ** (n - 1) - 1) + mixed
    assert found.states == 4**n + 1 + mixed
    assert found.stutters == stutters
    assert found.steps == 3 * n * 4 ** (n - 1) + 1 + mixed + stutters
    assert found.depth == 2 * n + 1


@pytest.mark.parametrize("n", [3, 4, 5])
def test_dependency_ladder_has_as_many_states_as_its_closed_form_says(n: int) -> None:
    """With k rungs closed (by one of 2 capable agents each), each of the n - k others has no assignee or one of 2: 3^(n-k).

    ready(k), 0 <= k < n: rung k is ready                                    sum 2^k 3^(n-k)     = 3 (3^n - 2^n)
    blocked(k), 1 <= k < n: k closed, rung k not enabled yet                 ready without k = 0 = 3 (3^n - 2^n) - 3^n
    failed(k): rung k failed under one of 2, the n - k - 1 others waiting    sum 2^(k+1) 3^(n-k-1) = 2 (3^n - 2^n)
    doomed(k), k < n - 1: the same once the others are doomed                failed without the top = 2 (3^n - 2^n) - 2^n
    all closed, all accepted                                                 2 * 2^n
    The sum is 9 (3^n - 2^n).

    Steps: an assignment of any rung that has none (m waiting rungs: 2 m 3^(m-1) ways) in ready, blocked and failed; completion and
    failure from the 2/3 of ready(k) where rung k has an assignee; one enabling from each blocked, one doom from each failed but
    the top's, one submission from each all-closed state."""

    def assignments(m: int) -> int:
        return 2 * m * 3 ** (m - 1) if m else 0

    found = api.explore(api.load(EXAMPLES / "dependency_ladder.icore", settings={"n": str(n)}))
    assert found.states == 9 * (3**n - 2**n)
    assigned = sum(2**k * assignments(n - k) for k in range(n)) + sum(2**k * assignments(n - k) for k in range(1, n))
    assigned += sum(2 ** (k + 1) * assignments(n - k - 1) for k in range(n))
    failed = 2 * (3**n - 2**n)
    blocked = 3 * (3**n - 2**n) - 3**n
    assert found.steps == assigned + 2 * failed + blocked + (failed - 2**n) + 2**n
    assert found.stutters == 0
    assert found.depth == 3 * n  # assign and complete each rung, enable all but the first, submit


def test_decompose_and_solve_has_645_states() -> None:
    """The root without an assignee, with one: 2. Decomposed, each of 4 parts is unassigned, assigned, closed, accepted or rejected,
    while the root is blocked: 5^4. All parts accepted: enabled, merged, accepted: 3. All accepted or rejected, some rejected,
    and the root doomed: 2^4 - 1. The only capable agent for a part is agent_2, for the root agent_1."""
    assert explored("decompose_and_solve").states == 2 + 5**4 + 3 + (2**4 - 1) == 645


def test_capability_assignment_has_3757_states() -> None:
    """An item with k feasible agents is unassigned, or assigned to, closed, accepted or rejected under one of them: 1 + 4 k. k is
    2 for math, search and review, 1 for code. A mixed end is reported stuck once: all items accepted or rejected under one of
    their agents, but not all accepted and not all rejected."""
    product = 9 * 9 * 9 * 5
    mixed = 4 * 4 * 4 * 2 - 2 * (2 * 2 * 2 * 1)
    assert explored("capability_assignment").states == product + mixed == 3757


def test_the_table_of_the_readme_has_the_counts() -> None:
    rows = re.findall(r"^\| \[(\w+)\].*\| (\w+) \| ([\d,]+) \| ([\d,]+) \| (\d+) \|$", (EXAMPLES / "README.md").read_text("utf-8"), re.M)
    assert {name for name, *_ in rows} == {*PAPER, *FIELD, *BROKEN}
    for name, verdict, *counts in rows:
        found = explored(name)
        assert [int(count.replace(",", "")) for count in counts] == [found.states, found.steps, found.depth], name
        assert verdict == ("violated" if name in BROKEN else "holds")


def test_ladders_of_eleven_rungs_have_more_than_a_million_states() -> None:
    assert 9 * (3**11 - 2**11) == 1_575_891
    text = (EXAMPLES / "dependency_ladder.icore").read_text(encoding="utf-8")
    assert "1,575,891" in text


# ---- Proposition 4 and its boundary conditions (C.7) --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "states"),
    [
        # (iii) fails where a failed item has an assignee of positive worth: no item may be rejected. Unassigned, assigned, closed or
        # accepted under one of k: (1 + 3 k) each.
        ({}, 7 * 7 * 7 * 4),
        # SC: declared values are the next agent's. Only where the declared agent's true value is at least the declared one does
        # (iii) hold; see the table in the file: math by agent_3 declares 0.94 and is worth 0.30, by agent_1 0.70 and 0.94; search by
        # agent_1 0.95 and 0.62, by agent_2 0.91 and 0.95; code by agent_2 0.96 and 0.40; review by agent_1 0.88 and 0.60, by
        # agent_2 0.84 and 0.88. One truthful agent each for math, search and review, none for code: 4 * 4 * 4 * 1.
        ({"shift": "1"}, 4 * 4 * 4 * 1),
        # WP: no agent is worth 0.65 any more: (iv) fails everywhere.
        ({"weak": "1"}, 0),
    ],
)  # fmt: skip
def test_proposition_4_speaks_where_its_hypotheses_hold(settings: dict[str, str], states: int) -> None:
    report = api.check(api.load(EXAMPLES / "capability_assignment.icore", settings=settings))
    detail = result(report, "Proposition 4").detail
    if states:
        assert f"bound holds in the {states:,} states where its hypotheses do" in detail
    else:
        assert detail.startswith("says nothing")


def test_the_smallest_stability_of_capability_assignment_is_of_the_start_where_nobody_is_assigned() -> None:
    """Work that is ready and has no assignee is worth 0 to everybody, and somebody feasible is worth more than 0.05: no item is stable."""
    assert "smallest astab 0 " in result(checked("capability_assignment"), "soundness").detail
