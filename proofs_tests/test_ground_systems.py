"""What grounding makes of packages, beyond counts: settings, scopes, errors, and evidence in the unaudited system."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel import api
from icore_kernel.explore.model import State, Unaudited
from icore_kernel.explore.search import explore
from icore_kernel.load import InputError, UsageError
from icore_kernel.meaning import scalar
from icore_kernel.system import Kind, System

CASES = CHECKOUT / "proofs_tests" / "cases" / "semantics"

EVIDENCE = """
input request
obligation type T {}
obligations { first: T starts ready, required  second: T starts blocked, required }
certificate asked(w: T) { issuer environment premises request claims node(w), status(w) in {ready, blocked} starts active }
certificate go {
  issuer monitor
  premises %s
  claims status(second) is ready
}
fault close operation complete by environment { when status(first) == ready set status(first) := closed }
update enable operation enable by monitor { when status(second) == blocked set status(second) := ready issue go }
"""


def load(tmp_path: Path, text: str, **settings: str) -> api.Loaded:
    path = tmp_path / "package.icore"
    path.write_text(text if text.lstrip().startswith("package") else "package P\n" + text, encoding="utf-8")
    return api.load(path, settings=settings)


def step(system: System, name: str, state: State) -> State:
    """The successor by an update, whether it is legal or not."""
    from icore_kernel.explore.judge import successor

    (update,) = [u for u in system.updates if u.name == name]
    assert scalar.evaluate(update.when, state), name
    return successor(update, state)


def failing(system: System, label: str, state: State) -> set[str]:
    (clause,) = [c for c in system.feasibility if c.label == label]
    return {name for name, term in clause.instances if not scalar.evaluate(term, state)}


def value(system: System, field: str, state: State) -> str:
    (found,) = [f for f in system.fields if f.name == field]
    return found.domain.show(state[found.index])


# ---- evidence ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("premise", "rests"),
    [
        ("status(first) == closed, request", True),
        ("(exists p in T where p != second: status(p) == closed), request", True),
        ("over(first), request", True),
        ("captured status(first) == closed, request", False),
        ("not unresolved(first), request", True),
        ("request", False),
    ],
)
def test_evidence_rests_on_what_its_premise_formula_reads(premise: str, rests: bool, tmp_path: Path) -> None:
    """`first` closed without evidence: then `second` has good evidence exactly if the premise does not lean on that."""
    text = EVIDENCE % premise + "define over(w: T) = status(w) == closed\n"
    system = load(tmp_path, text).system
    state = step(system, "enable", step(system, "close", system.initial))
    assert value(system, "status(second)", state) == "ready"
    assert failing(system, "A.4(2)", state) == ({"status(first)", "status(second)"} if rests else {"status(first)"})


def test_a_premise_that_reads_nothing_asserted_asks_for_no_evidence(tmp_path: Path) -> None:
    """`assignee(first) == none`: there is no assignment to justify, and the status of `first` is not read."""
    system = load(tmp_path, EVIDENCE % "assignee(first) == none, request").system
    state = step(system, "enable", system.initial)
    assert failing(system, "A.4(2)", state) == set()


def test_a_certificate_that_rests_on_its_own_claim_justifies_nothing(tmp_path: Path) -> None:
    system = load(tmp_path, EVIDENCE % "status(second) == ready, request").system
    state = step(system, "enable", system.initial)
    assert failing(system, "A.4(2)", state) == {"status(second)"}


def test_a_new_epoch_of_an_assertion_leaves_old_evidence_behind(tmp_path: Path) -> None:
    """blocked -> ready -> blocked: `asked` claims blocked and is active, but belongs to the first epoch."""
    text = (
        EVIDENCE % "request" + "fault again operation block by environment { when status(second) == ready set status(second) := blocked }\n"
    )
    system = load(tmp_path, text).system
    state = step(system, "again", step(system, "enable", system.initial))
    assert failing(system, "A.4(2)", state) == {"status(second)"}


# ---- settings -----------------------------------------------------------------------------------------------------------


def test_a_parameter_is_set_checked_and_required(tmp_path: Path) -> None:
    text = (
        "package P(n: 1..2 * 3, m: 0..n = n - 1)\ninput c { v: 0..n = m }\nupdate up by environment { when c.v < n set c.v := c.v + 1 }\n"
    )
    assert explore(load(tmp_path, text, n="6").system).states == 2
    assert explore(load(tmp_path, text, n="6", m="0").system).states == 7
    for settings in ({}, {"n": "7"}, {"n": "0"}, {"n": "2.5"}, {"n": "x"}, {"n": "3", "m": "4"}, {"n": "3", "k": "1"}):
        with pytest.raises((UsageError, api.InputError)):
            load(tmp_path, text, **settings)
    with pytest.raises(UsageError, match="a value of 5,000 characters; at most 1,000 are read"):
        load(tmp_path, text, n="3" * 5000)


# ---- what grounding refuses ------------------------------------------------------------------------------------------------


def test_evidence_that_asks_for_the_report_it_decides_is_told(tmp_path: Path) -> None:
    text = """
input request
obligation type T {}
obligations { one: T starts ready, required }
certificate asked { issuer environment premises request claims node(one), status(one) is ready valid when not accept starts active }
update rest operation resolve by environment { when status(one) == ready set status(one) := ready }
"""
    with pytest.raises(UsageError, match="asked for by"):
        load(tmp_path, text)


def test_starts_active_reads_the_declared_start(tmp_path: Path) -> None:
    text = """
input request
input lamp { on: bool = true }
input dial { n: 1..2 }
enum Side { left, right }
relation order(T, T)
order = a -> b -> c
obligation type T { static side: Side = left }
obligations { a: T starts ready, required  b: T { side = right } starts blocked  c: T latent }
certificate lit(w: T) { issuer environment premises request starts active when lamp.on and present(w) and status(w) == ready }
certificate right_one(w: T) { issuer environment premises request starts active when w.side == right and order+(a, w) }
update rest by environment { set dial.n := dial.n }
invariant known: active(lit(a)) and not active(lit(b)) and not active(lit(c))
invariant sided: active(right_one(b)) and not active(right_one(a)) and not active(right_one(c))
"""
    report = api.check(load(tmp_path, text), only=("known", "sided"))
    # The start is infeasible (nothing claims the nodes), so legality is not judged, and says so whatever was asked for.
    assert {r.name: r.verdict.value for r in report.results} == {"legality": "unknown", "known": "holds", "sided": "holds"}
    with pytest.raises(UsageError, match="not known beforehand"):
        load(tmp_path, text.replace("lamp.on and", "dial.n == 1 and"))


# ---- names, kinds and notes ------------------------------------------------------------------------------------------------


def test_ground_names_kinds_and_actors() -> None:
    system = api.load(CASES / "issuers.icore").system
    by_name = {u.name: u for u in system.updates}
    assert by_name["sign(ana)"].actor == "ana" and by_name["sign(ana)"].kind is Kind.ORDINARY
    assert by_name["forge(ana, bo)"].kind is Kind.FAULT and by_name["forge(ana, bo)"].fault == "forge"
    assert by_name["forge(ana, bo)"].binding == (("m", "ana"), ("n", "bo"))
    assert "forge(ana, ana)" not in by_name
    assert by_name["attach(bo)"].notes == ("issue fact",)
    outcomes = api.load(CASES / "outcomes.icore").system
    assert [u.name for u in outcomes.updates] == ["toss.heads", "toss.tails", "again"]
    assert all(u.kind is Kind.ENVIRONMENT for u in outcomes.updates)


def test_what_never_changes_is_no_field_and_is_told() -> None:
    system = api.load(CASES / "swap.icore").system
    assert [f.name for f in system.fields] == ["x.a", "x.b"]
    latent = api.load(CASES / "latent.icore").system
    assert "assignee(root)" in latent.sliced and "present(extra[1])" not in latent.sliced
    assert {f.name for f in latent.fields} >= {"present(extra[1])", "status(extra[1])", "asked(extra[2])"}


def test_measures_are_exact() -> None:
    loaded = api.load(CASES / "weights.icore")
    (measure,) = [m for m in loaded.system.measures if m.name == "astab"]
    state = step(loaded.system, "take(heavy)", loaded.system.initial)
    num, den = (int(scalar.evaluate(t, state)) for t in (measure.ratio.num, measure.ratio.den))
    assert Fraction(num, den) == Fraction(2, 3)


def test_unaudited_faults_reach_unsound_states() -> None:
    loaded = api.load(CASES / "latent.icore")
    watch = next(c for c in loaded.system.feasibility if c.label == "A.4(2)")
    from icore_kernel.explore.model import Watchlist

    whole = Watchlist(checks=(("sound", watch.formula),))
    assert explore(loaded.system, whole).checks["sound"].count == 0
    through = explore(loaded.system, whole, mode=Unaudited(frozenset({"silent"})))
    # extra[1], extra[2]: absent, created with evidence, created without: 9 states, sound the 4 without a silent one.
    assert (through.states, through.checks["sound"].count) == (9, 5)


@pytest.mark.parametrize(
    "field",
    [
        "input r { n: set of 1..2 or none = none }",
        "input r { n: set of set of 1..2 = {} }",
        "obligation type T { signature n: set of 1..2 }\nobligations { a: T }",
    ],
)
def test_sets_of_what_is_no_single_value_are_refused_by_the_checker(field: str, tmp_path: Path) -> None:
    with pytest.raises(api.InputError) as refused:
        load(tmp_path, field + "\ninput d { k: 0..1 = 0 }\nupdate u by environment { set d.k := 1 - d.k }\n")
    assert [str(m.code) for m in refused.value.mistakes] == ["S010"]


def test_a_member_chosen_by_the_state_that_a_family_lacks_is_nothing(tmp_path: Path) -> None:
    """Cells 1 and 2, an index 0..3: outside the family numbers are 0, truth is false, work is none."""
    text = """
input request
obligation type T {}
obligations { root: T starts ready, required  part[1..2]: T starts ready }
relation serves(T, T) contributes coverage
serves = root -> {part[1], part[2]}
certificate asked(w: T) { issuer environment premises request claims node(w), status(w) is ready starts active }
input cell(i: 1..2) { v: 5..6 = 5, on: bool = true }
input pick { i: 0..3 = 0 }
update turn by environment { set pick.i := (pick.i + 1) mod 4 }
invariant numbers: cell(pick.i).v == (if pick.i in 1..2 then 5 else 0)
invariant truths: cell(pick.i).on iff pick.i in 1..2
invariant work: status(part[pick.i]) == ready iff pick.i in 1..2
invariant there: present(part[pick.i]) iff pick.i in 1..2
"""
    loaded = load(tmp_path, text)
    report = api.check(loaded, only=("numbers", "truths", "work", "there"))
    assert explore(loaded.system).states == 4
    assert [r.verdict.value for r in report.results] == ["holds"] * 4


# ---- sizes ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("input z { v: 0..10000000000 = 0 }", ":2:", "10,000,000,001 values"),
        ("artifact z(i: 1..10000000000)", ":2:", "10,000,000,000 values"),
        ("artifact z(i: 1..1000, j: 1..1000)", ":2:", "z would have 1,000,000 members"),
        ("obligation type T {}\nobligations { t[i: 1..100000]: T starts ready }", ":3:", "100,000 obligations"),
        ("clock k 0..10000000000", ":2:", "10,000,000,001 values"),
        ("input z { v: bool = true }\nupdate u(i: 1..1000, j: 1..1000) { set z.v := i == j }", ":3:", "1,000,000 occurrences"),
        ("input z { v: bool = true }\nupdate u { for i in 1..10000000000 { set z.v := i == 1 } }", ":3:", "10,000,000,000 values"),
        ("input z { v: bool }\ninvariant q: forall i in 1..10000000000: z.v or i > 0", ":3:", "10,000,000,000 values"),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_expanded(tmp_path: Path, text: str, place: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        load(tmp_path, text)
    assert said in str(refused.value) and place in str(refused.value)


@pytest.mark.parametrize(("loop", "wrong"), [
    ("for i in 1..2 { set c(1).v := i }", True),
    ("for i in 1..2, j in 1..2 where i <= j { set c(i).v := j }", True),
    ("for i in 1..2 { for j in 1..2 { set c(j).v := i } }", True),
    ("for i in 1..2 { set c(1).v := c(i).v }", False),  # they may agree: what the states show decides
    ("for i in 1..2 where c(1).v == i { set c(1).v := 3 - i }", False),  # never both
    ("for i in 1..2 where i == k { set c(1).v := i }", False),
    ("for i in 1..2 { set c(i).v := i }", False),
    ("for i in 1..2 { set c(1).v := 2 }", False),
    ("for i in 1..1 { set c(1).v := 1 } for i in 2..2 { set c(1).v := 2 }", False),  # a later `for` overrides
])  # fmt: skip
def test_iterations_that_never_agree_are_a_mistake_at_the_target(loop: str, wrong: bool, tmp_path: Path) -> None:
    text = f"input c(i: 1..2) {{ v: 0..2 = 0 }}\nupdate u(k: 1..2) by environment {{ {loop} }}\n"
    if not wrong:
        load(tmp_path, text)
        return
    with pytest.raises(InputError) as found:
        load(tmp_path, text)
    (mistake,) = found.value.mistakes
    assert str(mistake.code) == "D013" and "`u(1)`" in mistake.message
    assert found.value.text[mistake.span.start : mistake.span.end] in ("c(1).v", "c(i).v", "c(j).v")


def test_iterations_that_may_disagree_are_illegal_where_they_do(tmp_path: Path) -> None:
    """Nothing is decided by the order of the text: the occurrence breaks `range`, in the states in which both write."""
    text = """input c(i: 1..2) { v: 0..2 = 0 }
input top { v: 0..2 = 0 }
update up(i: 1..2) by environment { when c(i).v == 0 set c(i).v := i }
update pick by environment { %s for i in 1..2 where c(i).v > 0 { set top.v := c(i).v } }
"""
    report = api.check(load(tmp_path, text % ""))
    legality = next(r for r in report.results if r.name == "legality")
    assert legality.verdict is api.Verdict.VIOLATED and "pick breaks range" in legality.detail
    assert legality.run is not None and len(legality.run.steps) == 2
    assert api.check(load(tmp_path, text % "when c(1).v == 0 or c(2).v == 0")).verdict is api.Verdict.HOLDS
