"""The twelve features and the score, computed by hand on the package of host_packages.py.

Worth in the tables of that package: ana 0.9, 0.5, 0.8 and bo 0.6, 0.7, 0.8 for left, right, whole; everybody is feasible.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import pytest
from host_packages import Small, diagnosis, rich, schedule_view, small, view

from icore_kernel.audit.features import FEATURES, NAMES, Features, features
from icore_kernel.audit.host import Candidate, Choice, Diagnosis, Finding, Proposal, Step
from icore_kernel.hosts.scored import WEIGHTS, ScoredHost, score

PAPER_ORDER = (
    "enabled", "assigned_to_self", "unassigned", "prerequisites_ready", "aggregate_ready", "evidence_available", "own_capability",
    "best_capability", "already_complete", "duplicate_risk", "audit_recommendation", "terminal_ready",
)  # fmt: skip


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return small(tmp_path_factory.mktemp("scored"))


def of(paper: Small, state: tuple[int, ...], name: str, enabled: bool = True, feedback: Diagnosis | None = None) -> tuple[F, ...]:
    return features(paper.tables, paper.system, state, paper.candidate(name, enabled), feedback)


def test_there_are_the_papers_twelve_in_its_order() -> None:
    assert NAMES == PAPER_ORDER
    assert tuple(name for name, _, _ in WEIGHTS) == PAPER_ORDER


def test_features_by_hand(paper: Small) -> None:
    """Twelve numbers each, in the paper's order."""
    start = paper.after()
    # Nobody has left; nothing supports it; ana would have it, 0.9 of at most 0.9; able(ana, left) supports the assignment.
    assert of(paper, start, "assign(ana, left)") == (1, 0, 1, 1, 0, 1, F(9, 10), F(9, 10), 0, 0, 0, 0)
    # bo would be worth 0.6, and the best is 0.9.
    assert of(paper, start, "assign(bo, left)") == (1, 0, 1, 1, 0, 1, F(6, 10), F(9, 10), 0, 0, 0, 0)
    # whole rests on left and right, which are not done.
    assert of(paper, start, "assign(bo, whole)") == (1, 0, 1, 0, 0, 1, F(8, 10), F(8, 10), 0, 0, 0, 0)

    begun = paper.after("assign(ana, left)", "assign(bo, right)", "assign(bo, whole)")
    assert of(paper, begun, "finish(ana, left)") == (1, 1, 0, 1, 0, 1, F(9, 10), F(9, 10), 0, 0, 0, 0)
    # Without done(left) none of what closing asserts (status, compatibility of nothing else) is supported.
    assert of(paper, begun, "finish.careless(ana, left)", False) == (0, 1, 0, 1, 0, 0, F(9, 10), F(9, 10), 0, 0, 0, 0)
    # Blocked work: what it rests on is not ready, and done(whole) would lack its premises.
    assert of(paper, begun, "finish(bo, whole)", False) == (0, 1, 0, 0, 0, 0, F(8, 10), F(8, 10), 0, 0, 0, 0)

    both = paper.after("assign(ana, left)", "assign(bo, right)", "assign(bo, whole)", "finish(ana, left)", "finish(bo, right)")
    # The monitor is no agent; bo has whole; both parts are ready, and they are aggregated into it.
    assert of(paper, both, "enable(whole)") == (1, 0, 0, 1, 1, 1, F(8, 10), F(8, 10), 0, 0, 0, 0)
    # left is complete already; it is no root, so accepting it does not end anything.
    assert of(paper, both, "sign_off(left)") == (1, 0, 0, 1, 0, 1, F(9, 10), F(9, 10), 1, 0, 0, 0)

    end = tuple(paper.after("assign(ana, left)", "assign(bo, right)", "assign(bo, whole)", "finish(ana, left)", "finish(bo, right)",
                            "enable(whole)", "finish(bo, whole)"))  # fmt: skip
    assert of(paper, end, "sign_off(whole)") == (1, 0, 0, 1, 1, 1, F(8, 10), F(8, 10), 1, 0, 0, 1)


def test_duplicates_by_hand(paper: Small) -> None:
    """bo's attempt on ana's left, and ana's on a page that is there already."""
    begun = paper.after("assign(ana, left)")
    assert of(paper, begun, "finish(bo, left)", False)[NAMES.index("duplicate_risk")] == 1
    assert of(paper, begun, "finish(ana, left)")[NAMES.index("duplicate_risk")] == 0
    closed = paper.after("assign(ana, left)", "finish(ana, left)")
    again = dict(zip(NAMES, of(paper, closed, "finish(ana, left)", False), strict=True))
    assert (again["duplicate_risk"], again["already_complete"]) == (1, 1)


def test_failed_or_unsupported_work_is_no_ready_prerequisite(paper: Small) -> None:
    """left is closed without evidence: as a support of whole it does not count."""
    names = ("assign(ana, left)", "assign(bo, right)", "finish(bo, right)")
    careless = dict(zip(NAMES, of(paper, paper.after(*names, "finish.careless(ana, left)"), "assign(bo, whole)"), strict=True))
    assert (careless["prerequisites_ready"], careless["aggregate_ready"]) == (0, 0)
    sound = dict(zip(NAMES, of(paper, paper.after(*names, "finish(ana, left)"), "assign(bo, whole)"), strict=True))
    assert (sound["prerequisites_ready"], sound["aggregate_ready"]) == (1, 1)


def test_recommendations_by_hand(paper: Small) -> None:
    at = NAMES.index("audit_recommendation")
    state = paper.after()
    staffing = diagnosis(
        "assignment",
        Finding("left", "ready", "none", (), (("ana", F(9, 10)), ("bo", F(6, 10)))),
        Finding("right", "ready", "none", (), (("bo", F(7, 10)), ("ana", F(5, 10)))),
    )  # fmt: skip
    # The best alternative answers one of two findings; the second best of left two thirds of one.
    assert of(paper, state, "assign(ana, left)", feedback=staffing)[at] == F(1, 2)
    assert of(paper, state, "assign(bo, left)", feedback=staffing)[at] == F(1, 3)
    assert of(paper, state, "assign(ana, whole)", feedback=staffing)[at] == 0
    # left is closed without evidence: two of its assertions have none. Nothing here can support them any more but a new finish.
    careless = paper.after("assign(ana, left)", "finish.careless(ana, left)")
    missing = ("status(left): done(left) is absent", "assignment(left): able(ana, left) is absent")
    evidence = diagnosis("evidence", Finding("left", "closed", "ana", missing, ()))
    repaired = of(paper, careless, "finish(ana, left)", False, feedback=evidence)[at]
    assert repaired == 1, "the assignment was justified all along, and the status is in the successor"
    assert of(paper, careless, "finish.careless(ana, left)", False, feedback=evidence)[at] == F(1, 2)
    # Where nothing is missing, writing the component is what is asked for.
    stalled = diagnosis("progress", Finding("left", "ready", "none", (), (("ana", F(9, 10)),)))
    assert of(paper, state, "assign(bo, left)", feedback=stalled)[at] == 1
    assert of(paper, state, "assign(bo, right)", feedback=stalled)[at] == 0
    assert of(paper, state, "assign(bo, right)", feedback=diagnosis("progress"))[at] == 0


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return rich(tmp_path_factory.mktemp("rich"))


def named(package: Small, names: tuple[str, ...], candidate: str, feedback: Diagnosis | None = None) -> dict[str, F]:
    return dict(zip(NAMES, of(package, package.after(*names), candidate, feedback=feedback), strict=True))


def test_the_most_capable_of_those_who_are_feasible(many: Small) -> None:
    """cy would be worth 1 and is in no F_D; of the others bo is worth most, 0.6."""
    found = named(many, (), "assign(cy, left)")
    assert (found["own_capability"], found["best_capability"]) == (1, F(6, 10))


def test_several_subjects_are_a_share_and_a_mean(many: Small) -> None:
    """ana has left and nobody right: a half each, and 0.4 for one of the two."""
    found = named(many, ("assign(ana, left)",), "both(ana)")
    assert (found["assigned_to_self"], found["unassigned"], found["own_capability"]) == (F(1, 2), F(1, 2), F(2, 10))
    done = named(many, ("assign(ana, left)", "assign(bo, right)", "finish(bo, right)"), "both(ana)")
    assert (done["already_complete"], done["assigned_to_self"]) == (F(1, 2), F(1, 2))
    assert done["duplicate_risk"] == 1, "page(right) is there already"


def test_what_another_agent_has_is_a_risk_until_it_is_settled(many: Small) -> None:
    """both(ana) on work of bo: a half while it is open; none when it has failed, which leaves no page."""
    assert named(many, ("assign(ana, left)", "assign(bo, right)"), "both(ana)")["duplicate_risk"] == F(1, 2)
    assert named(many, ("assign(ana, left)", "assign(bo, right)", "fail(bo, right)"), "both(ana)")["duplicate_risk"] == 0


def test_prerequisites_that_are_absent_or_off_do_not_count_and_failed_ones_are_not_ready(many: Small) -> None:
    """left, right and later support whole; only left and right are joined into it."""
    left, right = ("assign(ana, left)", "finish(ana, left)"), ("assign(bo, right)", "finish(bo, right)")

    def ready(*names: str) -> tuple[F, F]:
        found = named(many, names, "assign(cy, whole)")
        return found["prerequisites_ready"], found["aggregate_ready"]

    assert ready(*left) == (0, 0)
    assert ready(*left, *right) == (1, 1), "later does not exist yet"
    assert ready(*left, *right, "begin(later)") == (0, 1), "later is open, and is not joined"
    assert ready(*left, "fold(right)") == (1, 1), "right is off"
    assert ready(*left, "assign(bo, right)", "fail(bo, right)") == (0, 0), "right has failed, on good evidence"
    assert named(many, (), "assign(cy, other)")["prerequisites_ready"] == 1, "nothing supports it"


def test_what_writes_no_work_speaks_of_what_it_names_or_of_nothing(many: Small) -> None:
    assert many.candidate("tidy(left)").works == many.candidate("rise").works == ()
    tidied = named(many, ("assign(ana, left)", "finish(ana, left)"), "tidy(left)")
    assert (tidied["already_complete"], tidied["own_capability"]) == (1, F(4, 10))
    assert named(many, (), "rise") == dict(zip(NAMES, (1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0), strict=True))


def test_what_has_no_successor_has_no_evidence(many: Small) -> None:
    """The meter ends at 2: from there it cannot rise, and a diagnosis is not answered either."""
    state = many.after("rise", "rise")
    about = diagnosis("progress", Finding("left", "ready", "none", (), ()))
    found = dict(zip(NAMES, of(many, state, "rise", feedback=about), strict=True))
    assert (found["evidence_available"], found["audit_recommendation"]) == (0, 0)
    assert named(many, ("rise",), "rise")["evidence_available"] == 1


def test_what_is_named_and_not_written_is_no_subject(many: Small) -> None:
    """As `doom(p)` names failed work and writes what waits for it: whole, which is not ready, and not left, which rests on nothing."""
    candidate = replace(many.candidate("assign(cy, left)"), works=("whole",))
    found = dict(zip(NAMES, features(many.tables, many.system, many.after(), candidate), strict=True))
    assert found["prerequisites_ready"] == 0


def test_evidence_for_a_part_of_what_is_asserted(many: Small) -> None:
    """asked(later) claims that it is there, and that it is ready or blocked: it is open."""
    assert named(many, (), "begin(later)")["evidence_available"] == F(1, 2)


def test_the_end_is_near_by_the_share_of_roots_that_are_settled_or_submitted(many: Small) -> None:
    """whole and other are the roots."""
    other = ("assign(ana, other)", "finish(ana, other)")
    submitted = ("assign(ana, whole)", "submit(ana, whole)")
    assert [named(many, names, "halt")["terminal_ready"] for names in ((), other, submitted, other + submitted)] == [0, F(1, 2), F(1, 2), 1]
    assert named(many, (*other, "assign(ana, whole)"), "submit(ana, whole)")["terminal_ready"] == F(1, 2)
    assert named(many, (*other, "assign(ana, left)"), "submit(ana, left)")["terminal_ready"] == 0, "left is no root"
    assert named(many, (*other, "assign(ana, whole)"), "finish(ana, whole)")["terminal_ready"] == 0, "complete is no end"
    assert named(many, ("fold(whole)", *other), "halt")["terminal_ready"] == 1, "of the roots that are left"
    assert named(many, ("fold(whole)", "fold(other)"), "halt")["terminal_ready"] == 0


def test_what_is_not_asserted_any_more_needs_no_evidence_and_who_had_it_is_no_alternative(many: Small) -> None:
    begun = many.after("assign(ana, left)")
    at = NAMES.index("audit_recommendation")
    failed = diagnosis("evidence", Finding("left", "rejected", "ana", ("failure(left): failed(left) is absent",), ()))
    assert of(many, begun, "finish(ana, left)", feedback=failed)[at] == 1
    unknown = diagnosis("evidence", Finding("elsewhere", "open", "none", (), ()))
    assert of(many, begun, "finish(ana, left)", feedback=unknown)[at] == 0
    held = diagnosis("assignment", Finding("left", "ready", "ana", (), (("ana", F(4, 10)),)))
    assert of(many, begun, "finish(ana, left)", feedback=held)[at] == 0
    assert of(many, many.after(), "assign(ana, left)", feedback=held)[at] == 1


def test_every_feature_is_between_zero_and_one_and_the_kept_object_agrees(paper: Small) -> None:
    kept = Features(paper.tables, paper.system)
    seen = 0
    state = paper.after()
    for name in ("assign(ana, left)", "assign(bo, right)", "assign(bo, whole)", "finish(ana, left)", "finish(bo, right)", "enable(whole)"):
        for candidate in paper.candidates(state):
            found = kept.of(state, candidate)
            assert found == features(paper.tables, paper.system, state, candidate)
            assert len(found) == len(FEATURES)
            assert all(isinstance(x, F) and 0 <= x <= 1 for x in found)
            seen += 1
        state = paper.after(*HAPPY[: HAPPY.index(name) + 1])
    assert seen > 20


HAPPY = ("assign(ana, left)", "assign(bo, right)", "assign(bo, whole)", "finish(ana, left)", "finish(bo, right)", "enable(whole)")


def test_scores_of_three_candidates_by_hand(paper: Small) -> None:
    start = paper.after()
    # enabled 16, unassigned 1/2, prerequisites 1, evidence 2, own 9/10, best -9/20
    assert score(of(paper, start, "assign(ana, left)")) == F(16) + F(1, 2) + 1 + 2 + F(9, 10) - F(9, 20) == F(1995, 100)
    assert score(of(paper, start, "assign(bo, left)")) == F(16) + F(1, 2) + 1 + 2 + F(6, 10) - F(9, 20) == F(1965, 100)
    # no prerequisites: 16 + 1/2 + 2 + 8/10 - 4/10
    assert score(of(paper, start, "assign(bo, whole)")) == F(189, 10)


def test_what_is_refused_comes_after_everything_else() -> None:
    weights = [weight for _, weight, _ in WEIGHTS]
    assert weights[0] > sum(abs(weight) for weight in weights[1:])


def scheduled(paper: Small, state: tuple[int, ...], host: ScoredHost, round: int = 0) -> Choice:
    everything = paper.candidates(state)
    found = {c.number: features(paper.tables, paper.system, state, c) for c in everything}
    return host.schedule(round, [c for c in everything if c.enabled], schedule_view(features=found))


def test_the_best_agent_is_scheduled_until_everything_is_accepted(paper: Small) -> None:
    """Own work before new work, work that is ready before work that is blocked, the most capable agent, the root last."""
    host, names = ScoredHost(), []
    while any(c.enabled for c in paper.candidates(paper.after(*names))):
        choice = scheduled(paper, paper.after(*names), host)
        assert host.step(choice.agent, view(choice.agent, (), chosen=choice.candidate)) == Proposal((Step(choice.candidate.update),))
        names.append(choice.candidate.update)
    assert names == [
        "assign(ana, left)", "finish(ana, left)", "assign(bo, right)", "finish(bo, right)", "assign(ana, whole)", "enable(whole)",
        "finish(ana, whole)", "sign_off(whole)", "sign_off(left)", "sign_off(right)",
    ]  # fmt: skip


def test_ties_go_to_the_lowest_number_or_by_a_seed(paper: Small) -> None:
    tied = [paper.candidate("assign(ana, whole)"), paper.candidate("assign(bo, whole)")]
    same = {c.number: (F(1),) * 12 for c in tied}
    assert {ScoredHost().best(tied[::-1], same, t).update for t in range(20)} == {tied[0].update}
    keyed = [ScoredHost(3).best(tied, same, t).update for t in range(20)]
    assert set(keyed) == {c.update for c in tied}
    assert keyed == [ScoredHost(3).best(tied[::-1], same, t).update for t in range(20)]
    assert keyed != [ScoredHost(4).best(tied, same, t).update for t in range(20)]


def test_the_environment_comes_last(paper: Small) -> None:
    """Even where it would score more: the host does not decide for it."""
    work = paper.candidate("assign(ana, left)")
    world = replace(paper.candidate("sign_off(left)"), actor="environment")
    found = {work.number: (F(0),) * 12, world.number: (F(1),) * 9 + (F(0), F(0), F(1))}
    assert ScoredHost().schedule(0, [work, world], schedule_view(features=found)) == Choice("ana", work)
    assert ScoredHost().schedule(0, [world], schedule_view(features=found)) == Choice("environment", world)


def test_a_diagnosis_is_answered_by_what_writes_its_component(paper: Small) -> None:
    state = paper.after()
    feedback = diagnosis("assignment", Finding("right", "ready", "none", (), (("bo", F(7, 10)), ("ana", F(5, 10)))))
    candidates = paper.candidates(state)
    found = {c.number: features(paper.tables, paper.system, state, c, feedback) for c in candidates}

    def revised(offered: tuple[Candidate, ...]) -> Proposal:
        return ScoredHost().revise("ana", view("ana", offered, feedback=feedback, features=found))

    assert revised(candidates) == Proposal((Step("assign(bo, right)"),))
    plain = diagnosis("progress", Finding("whole", "blocked", "none", (), ()))
    bare = {c.number: features(paper.tables, paper.system, state, c) for c in candidates}
    stalled = ScoredHost().revise("ana", view("ana", candidates, feedback=plain, features=bare))
    assert stalled == Proposal((Step("assign(ana, whole)"),)), "assign(ana, left) scores more, and writes nothing that is diagnosed"
    elsewhere = tuple(c for c in candidates if "right" not in c.works)
    assert revised(elsewhere) == Proposal((Step("assign(ana, left)"),)), "nothing answers: the best there is"
    faulty = tuple(replace(c, fault="slip") for c in candidates)
    assert revised(tuple(c for c in candidates if not c.enabled)) == revised(faulty) == Proposal()
