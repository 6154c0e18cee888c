"""Single states that tell a clause of spec/ from a weakened one: what the mutation run (mutation/README.md) asked for, by hand.

Every test takes the folder of the theory alone, so that the run can ask it of a mutant.
"""

from __future__ import annotations

from pathlib import Path

from theory_lab import Lab, broken

HEAD = """language 1
package Weakened "1.0"
agents { ana bo }
input request
input head { commit: 1..2 = 1 }
artifact paper(w: Item)
obligation type Item {}
"""
TIES = """
update push operation observe by environment { set head.commit := 2 }
update set_status(w: Item, new: Status) operation transform by ana { set status(w) := new }
"""

# ---- A.4(1), A.4(3) ------------------------------------------------------------------------------------------------------
CONNECTED = (
    HEAD
    + """
obligations {
  bare: Item starts open, required
  heard: Item starts open
  lone: Item starts open
  gone: Item latent
  on_bare: Item starts open  under_bare: Item starts open  part_of_bare: Item starts open
  on_gone: Item starts open  under_gone: Item starts open  part_of_gone: Item starts open
  on_lone: Item starts open  under_lone: Item starts open  part_of_lone: Item starts open
}
relation supports_it(Item, Item) contributes support
supports_it = bare -> on_bare, under_bare -> bare, gone -> on_gone, under_gone -> gone, lone -> on_lone, under_lone -> lone
relation serves(Item, Item) contributes coverage
serves = bare -> part_of_bare, gone -> part_of_gone, lone -> part_of_lone
certificate asked(w: Item) {
  issuer environment
  premises request
  claims node(w), status(w) is open
  starts active when w == heard or w == gone
}
"""
    + TIES
)


def test_work_hangs_together_through_what_is_there_and_connected(theory: Path) -> None:
    found = Lab(CONNECTED, theory, {"connected": "(w: Obligation): connected(w)", "anchor": "(w: Obligation): anchor(w)"})
    works = ["bare", "heard", "lone", "gone", *(f"{how}_{of}" for how in ("on", "under", "part_of") for of in ("bare", "gone", "lone"))]
    assert found.those(found.start, "anchor", works) == {"heard", "gone"}
    # A root by itself; what was asked for; and what supports it, rests on it or serves it. Neither absent work nor lone work ties anything.
    assert found.those(found.start, "connected", works) == {"bare", "heard", "gone", "on_bare", "under_bare", "part_of_bare"}


ANCHORS = (
    HEAD
    + """
obligations { root: Item starts open, required  late: Item latent }
certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) is open starts active }
certificate doubted(w: Item) { issuer any premises request claims node(w) valid when head.commit == 1 }
certificate passing(w: Item) { issuer any premises request claims node(w) for p in Item where p == w and head.commit == 1 }
update begin operation create by ana { create late }
update begin_doubted operation create by ana { create late issue doubted(late) }
update begin_passing operation create by ana { create late issue passing(late) }
"""
    + TIES
)


def test_an_anchor_is_valid_of_this_epoch_and_claims_it(theory: Path) -> None:
    found = Lab(ANCHORS, theory, {"anchor": "(w: Obligation): anchor(w)", "valid": "(c: Certificate): valid(c)"})
    begun = found.after("begin")
    assert found.holds(begun, "valid", "asked(late)") and not found.holds(begun, "anchor", "late")  # from before it was there
    doubted = found.after("begin_doubted")
    assert found.holds(doubted, "anchor", "late") and not found.holds(found.after("push", start=doubted), "anchor", "late")
    passing = found.after("begin_passing")
    later = found.after("push", start=passing)
    assert found.holds(passing, "anchor", "late")
    assert found.holds(later, "valid", "passing(late)") and not found.holds(later, "anchor", "late")  # it claims it no more


# ---- A.4(4), A.4(5) ------------------------------------------------------------------------------------------------------
WAITING = (
    HEAD
    + """
obligations { root: Item starts open, required  job: Item starts ready }
certificate asked(x: Item) { issuer environment premises request claims node(x), status(x) in {open, ready} starts active }
certificate word(x: Item) { issuer any claims status(x) in {ready, blocked, submitted} }
certificate done(x: Item) { issuer any premises paper(x) claims status(x) is closed }
certificate dropped(x: Item) { issuer any premises request claims removal(x) }
update put_off operation block by ana { view global when head.commit == 1 set status(job) := blocked issue word(job) }
update put_off_silently operation block by ana { view global when head.commit == 1 set status(job) := blocked }
update say_ready operation enable by ana { view global when head.commit == 1 set status(job) := ready issue word(job) }
update hand_in operation submit by ana { view global when head.commit == 1 set status(job) := submitted issue word(job) }
update finish operation complete by ana { view global when head.commit == 1 emit paper(job) set status(job) := closed issue done(job) }
update wake operation enable by ana { view global when head.commit == 2 and status(job) == blocked set status(job) := ready }
update drop operation exclude by ana { view global when head.commit == 1 set marker(job) := excluded issue dropped(job) }
update rest operation observe by environment { view global set head.commit := 2 }
update idle operation certify by ana { view global when head.commit == 2 issue word(root) }
"""
)


def test_waiting_needs_evidence_and_live_execution_an_update_that_writes_it(theory: Path) -> None:
    found = Lab(WAITING, theory, {"waiting": "(x: Obligation): waiting(x)"})
    assert found.holds(found.start, "waiting", "job")  # ready, and the request anchors it
    assert found.holds(found.after("put_off"), "waiting", "job") and not found.holds(found.after("put_off_silently"), "waiting", "job")
    said = found.after("say_ready")
    assert not found.holds(said, "waiting", "job") and found.holds(said, "A.4(4)", "job")  # the updates of commit 1 can write it
    assert found.holds(found.after("hand_in"), "waiting", "job")  # submitted work waits for whoever judges it
    still = found.after("rest", start=said)
    assert not found.holds(still, "A.4(4)", "job")  # `idle` is enabled, and writes other work
    assert found.holds(found.after("drop", "say_ready", "rest"), "A.4(4)", "job")  # off: nobody waits for it
    assert found.holds(found.after("finish", "rest"), "A.4(4)", "job")  # settled: nothing is left to wait for


COVERAGE = (
    HEAD
    + """
obligations { root: Item starts open, required  part: Item starts closed  piece: Item starts closed  apart: Item starts closed }
relation serves(Item, Item) contributes coverage
serves = root -> part -> piece
certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) in {open, closed} starts active }
certificate counted(w: Item) { issuer any premises request claims coverage(w) valid when head.commit == 1 }
certificate beside { issuer any premises request claims coverage(apart, root) }
update count_in(w: Item) operation verify by ana { issue counted(w) }
update count_beside operation verify by ana { view global issue beside }
"""
    + TIES
)


def test_only_a_valid_claim_of_coverage_must_be_of_accepted_work(theory: Path) -> None:
    found = Lab(COVERAGE, theory, {"eligible": "(c: Certificate, w: Obligation, r: Obligation): eligible(c, w, r)"})
    counted = found.after("count_in(part)")
    assert not found.holds(counted, "eligible", "counted(part)", "part", "root")
    assert found.holds(counted, "eligible", "asked(part)", "part", "root")  # it claims no coverage
    assert found.holds(found.after("push", start=counted), "eligible", "counted(part)", "part", "root")  # not valid any more
    for work in ("root", "part", "piece"):  # a root serves itself; and at one remove
        assert not found.holds(found.after(f"count_in({work})"), "A.4(5)", work), work
    assert found.holds(found.after("count_beside"), "A.4(5)", "apart")  # it serves no root, whatever is claimed: no coverage is asserted


# ---- definition 4 ----------------------------------------------------------------------------------------------------------
JOINED = (
    HEAD
    + """
obligations {
  root: Item starts open, required
  part: Item starts open
  base: Item starts open
  top: Item starts open
}
relation helps(Item, Item) contributes support
helps = base -> part -> top
relation serves(Item, Item) contributes coverage
serves = root -> {part, base, top}
certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) is open starts active }
certificate ok(w: Item) { issuer any premises request claims status(w) is accepted, coverage(w) }
certificate joint { issuer any premises request claims compatibility(root), coverage(part, root) }
update take_in(w: Item) operation accept by ana { set status(w) := accepted issue ok(w) }
update join operation merge by ana { view global issue joint }
"""
    + TIES
)


def test_what_joined_work_rests_on_does_not_discharge_without_it(theory: Path) -> None:
    found = Lab(JOINED, theory, {"without": "(r: Obligation, q: Obligation): discharged_without(r, q)"})
    state = found.after("take_in(part)", "join")
    works = ("root", "part", "base", "top")
    assert {q for q in works if found.holds(state, "without", "root", q)} == {"root", "top"}  # part rests on base, and top on part


# ---- A.1 -----------------------------------------------------------------------------------------------------------------
FRONTIER = (
    HEAD
    + """
obligations {
  r: Item starts open, required
  s: Item starts open, required
  a: Item starts open
  b: Item starts open
}
relation serves(Item, Item) contributes coverage
serves = r -> a, s -> b
input board { text: 1..2 = 1 }
input slate { text: 1..2 = 1 }
artifact memo
certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) is open starts active }
update note operation observe by ana { emit memo }
update sweep operation resolve by monitor { view global when live(memo) and board.text == 1 set status(a) := closed, status(b) := closed }
update mark operation resolve by monitor { view global when slate.text == 1 set status(b) := closed }
update heed operation resolve by monitor { view global when head.commit == 2 set status(a) := closed }
update wipe operation observe by ana { when board.text == 1 set board.text := 2 }
update rub operation observe by ana { when slate.text == 1 set slate.text := 2 }
update shout operation observe by environment { when head.commit == 1 set head.commit := 2 }
"""
)


def test_the_frontier_is_what_feeds_some_work_of_a_root_and_what_the_environment_may_write(theory: Path) -> None:
    probes = {
        "feeds": "(z: Artifact, r: Obligation): feeds(z, r)",
        "input feeds": "(i: Input, r: Obligation): input_feeds(i, r)",
        "open": "(i: Input): open_input(i)",
        "quiet": "(r: Obligation): quiet(r)",
    }
    found = Lab(FRONTIER, theory, probes)
    assert found.those(found.start, "feeds", ("memo",), "r") == {"memo"} == found.those(found.start, "feeds", ("memo",), "s")
    inputs = ("request", "board", "slate", "head")
    assert found.those(found.start, "input feeds", inputs, "r") == {"board", "head"}
    assert found.those(found.start, "input feeds", inputs, "s") == {"board", "slate"}
    assert found.those(found.start, "open", inputs) == {"head"}  # ana writes the others
    assert found.those(found.start, "quiet", ("r", "s")) == {"s"}  # the environment may still shout, which feeds r alone
    assert found.those(found.after("note"), "quiet", ("r", "s")) == set()
    assert found.those(found.after("shout"), "quiet", ("r", "s")) == {"r", "s"}


def test_broken_is_what_is_there_and_failed_with_or_without_evidence(theory: Path) -> None:
    found = Lab("roots", theory, {"broken": "(q: Obligation): broken(q)", "unrepaired": "(q: Obligation): unrepaired(q)"})
    state = found.after("complain(late)")
    assert found.holds(state, "unrepaired", "late") and not found.holds(state, "broken", "late")
    assert found.holds(found.after("complain(z)"), "broken", "z")
    for status in ("closed", "accepted", "rejected", "invalid"):  # settled, and nobody says that it failed
        assert found.holds(found.after(f"set_status(z, {status})"), "broken", "z") is (status in ("rejected", "invalid")), status


# ---- section 4 -----------------------------------------------------------------------------------------------------------
EARNED = (
    HEAD.replace("obligation type Item {}", "obligation type Item { static weight: rational }")
    + """
obligations {
  root: Item { weight = 0.5 } starts ready, required
  side: Item { weight = 2 } starts ready
}
relation serves(Item, Item) contributes coverage
serves = root -> side
certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) is ready starts active }
certificate able(m: Agent, w: Item) { issuer environment premises request claims assignment(w) is m }
certificate ok(w: Item) { issuer any premises request claims status(w) is accepted, coverage(w) }
update assign(m: Agent, w: Item) operation assign by monitor { set assignee(w) := m issue able(m, w) }
update take_in(w: Item) operation accept by monitor { set status(w) := accepted issue ok(w) }
update touch(w: Item) operation transform by monitor { set status(w) := ready }
value(m: Agent, w: Item) = 0.65
truth(m: Agent, w: Item) = if m == ana then 0.65 else 0.5
audit { tolerance 0.05 floor 0.65 }
"""
)
ANA = ("assign(ana, root)", "take_in(root)")
PERFORMANCE = {"performance": ": performance == 13 / 20"}


def failing(text: str, theory: Path, *steps: str) -> tuple[str, ...]:
    """The hypotheses and the conclusion of Proposition 4 that do not hold."""
    found = Lab(text, theory)
    return broken((*found.system.hypotheses, *found.system.conclusions), found.after(*steps))


def test_what_is_not_evaluated_earns_nothing_and_breaks_no_hypothesis(theory: Path) -> None:
    """Of the root, accepted, 0.65 is earned; nothing is left to do of the other, which bo has, whose truth is less than his value."""
    found = Lab(EARNED, theory, {**PERFORMANCE, "W": "(q: Obligation): evaluated(q)"})
    state = found.after(*ANA, "assign(bo, side)")
    assert found.those(state, "W", ("root", "side")) == {"root"} and found.holds(state, "performance")
    assert broken((*found.system.hypotheses, *found.system.conclusions), state) == ()  # (i) with a weight of 1/2


def test_proposition_4_at_its_bounds(theory: Path) -> None:
    """cq is 1, so that the bound is floor - tolerance: 0.6."""
    assert failing(EARNED, theory, *ANA) == ()  # 0.65; and a value of 0.65 reaches the floor
    assert failing(EARNED, theory, "assign(bo, root)", "take_in(root)") == ("Proposition 4(iii)", "Proposition 4")  # 0.5 < 0.6
    assert failing(EARNED.replace("tolerance 0.05", "tolerance 0"), theory, *ANA) == ()  # 0.65 >= 0.65
    for tolerance, floor in (("0.65", "0.65"), ("0.7", "0.65"), ("0.05", "0.7")):
        text = EARNED.replace("tolerance 0.05 floor 0.65", f"tolerance {tolerance} floor {floor}")
        assert "Proposition 4(iv)" in failing(text, theory, *ANA), (tolerance, floor)


def test_below_one_half_and_below_the_tolerance_nothing_is_promised(theory: Path) -> None:
    """cq is 0: nothing is justified, and nobody is assigned where somebody is worth 0.9. What is promised is 0, not -0.05 times -0.5."""
    text = EARNED.replace("tolerance 0.05", "tolerance 0.7").replace(") = 0.65", ") = 0.9")
    assert "Proposition 4" not in failing(text, theory, "touch(root)", "touch(side)")


def test_a_gain_of_the_tolerance_is_no_gain(theory: Path) -> None:
    probes = {"stable": "(q: Obligation): stable_component(q)"}
    for better, stable in (("0.7", True), ("0.71", False)):
        text = EARNED.replace(") = 0.65", f") = if m == ana then 0.65 else {better}")
        found = Lab(text, theory, probes)
        assert found.holds(found.after("assign(ana, root)"), "stable", "root") is stable


def test_nobody_could_have_done_better_what_nobody_was_assigned_to(theory: Path) -> None:
    found = Lab(EARNED, theory, {"F": "(m: Agent, q: Obligation): candidate(m, q)"})
    assert found.those(found.start, "F", ("ana", "bo"), "side") == {"ana", "bo"}
    assert found.those(found.after("take_in(side)"), "F", ("ana", "bo"), "side") == set()
    assert found.those(found.after("assign(bo, side)", "take_in(side)"), "F", ("ana", "bo"), "side") == {"ana", "bo"}
