"""Single states that tell a clause of spec/ from a weakened one: what the mutation run (mutation/README.md) asked for, by hand.

Every test takes the folder of the theory alone, so that the run can ask it of a mutant.
"""

from __future__ import annotations

from pathlib import Path

from theory_lab import Lab

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
certificate word(x: Item) { issuer any claims status(x) in {ready, blocked} }
certificate dropped(x: Item) { issuer any premises request claims removal(x) }
update put_off operation block by ana { view global when head.commit == 1 set status(job) := blocked issue word(job) }
update put_off_silently operation block by ana { view global when head.commit == 1 set status(job) := blocked }
update say_ready operation enable by ana { view global when head.commit == 1 set status(job) := ready issue word(job) }
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
    still = found.after("rest", start=said)
    assert not found.holds(still, "A.4(4)", "job")  # `idle` is enabled, and writes other work
    assert found.holds(found.after("drop", "say_ready", "rest"), "A.4(4)", "job")  # off: nobody waits for it


COVERAGE = (
    HEAD
    + """
obligations { root: Item starts open, required  part: Item starts closed }
relation serves(Item, Item) contributes coverage
serves = root -> part
certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) in {open, closed} starts active }
certificate counted(w: Item) { issuer any premises request claims coverage(w) valid when head.commit == 1 }
update count_in operation verify by ana { view global issue counted(part) }
"""
    + TIES
)


def test_only_a_valid_claim_of_coverage_must_be_of_accepted_work(theory: Path) -> None:
    found = Lab(COVERAGE, theory, {"eligible": "(c: Certificate, w: Obligation, r: Obligation): eligible(c, w, r)"})
    counted = found.after("count_in")
    assert not found.holds(counted, "eligible", "counted(part)", "part", "root")
    assert found.holds(counted, "eligible", "asked(part)", "part", "root")  # it claims no coverage
    assert found.holds(found.after("push", start=counted), "eligible", "counted(part)", "part", "root")  # not valid any more


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
