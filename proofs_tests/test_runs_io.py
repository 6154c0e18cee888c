"""Saved runs and their replay, on a counter of two fields written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_dsl.syntax import Span
from icore_kernel import api
from icore_kernel.explore.model import Audited, Unaudited
from icore_kernel.report.json import replay_record
from icore_kernel.report.layout import plain
from icore_kernel.report.space import replay_lines
from icore_kernel.runs_io import RunError, SavedRun, read, replay, save
from icore_kernel.system import Clause, Domain, DomainKind, Field, GroundUpdate, Kind, Property, PropertyKind, System, Write
from icore_kernel.terms.term import Term, TermBank
from icore_kernel.verdict import Change, Run, Step, Verdict

SPAN = Span("counter.icore", 0, 1, 7, 1, 7, 2)


def counter() -> System:
    """`n` in 0..3 starts anywhere below 2; `lamp` starts off. `add` while n < 3; `light` turns the lamp on, legal only when n >= 2;
    `jump.careless` is a fault that sets n to 3."""
    bank = TermBank()
    n = Field("n", Domain(DomainKind.INT, 0, 3), 0)
    lamp = Field("lamp", Domain(DomainKind.ENUM, 0, 1, ("off", "on")), 1)
    read_n = bank.variable("n", 0, 0, 3, boolean=False)
    read_lamp = bank.variable("lamp", 1, 0, 1, boolean=False)
    one, two, three, true = bank.integer(1), bank.integer(2), bank.integer(3), bank.boolean(True)

    def update(schema: str, when: Term, *writes: Write, kind: Kind = Kind.ORDINARY, before: tuple[Clause, ...] = ()) -> GroundUpdate:
        return GroundUpdate(schema, (), "ana", "tick", kind, when, true, true, writes, before)

    below = bank.lt(read_n, three)
    return System(
        name="Counter",
        version="1.0",
        fields=(n, lamp),
        initial=(0, 0),
        free=(n,),
        initially=bank.lt(read_n, two),
        updates=(
            update("add", below, Write(n, bank.add(read_n, one))),
            update("light", true, Write(lamp, one), before=(Clause("two", bank.le(two, read_n)),)),
            update("jump", below, Write(n, three), kind=Kind.FAULT, before=(Clause("never", bank.boolean(False)),)),
        ),
        soundness=(Clause("dark", bank.eq(read_lamp, bank.integer(0))),),
        properties=(Property(PropertyKind.INVARIANT, "small", bank.lt(read_n, three), SPAN),),
        package_digest="p",
        theory_digest="t",
        fields_digest="f",
    )


def saved(*steps: str, offending: str | None = None, unaudited: bool | tuple[str, ...] = False, start: str = "1") -> SavedRun:
    return SavedRun("Counter", "1.0", (("package", "p"),), (), unaudited, "small", (("n", start),), steps, offending)


def test_a_run_is_saved_by_the_names_of_its_updates_and_read_back(tmp_path: Path) -> None:
    step = Step("add", "ana", (Change("n", "1", "2"),))
    run = SavedRun.of(counter(), Run((("n", "1"),), (step,), Step("light", "ana", ())), "small", {"b": "2", "a": "1"}, ("jump",))
    place = tmp_path / "run.json"
    save(place, run)
    assert read(place) == run
    record = json.loads(place.read_text(encoding="utf-8"))
    assert record["steps"] == ["add"]
    assert record["settings"] == {"a": "1", "b": "2"}
    assert record["digests"] == {"package": "p", "theory": "t", "fields": "f"}


def test_each_step_is_computed_anew_from_the_saved_initial_state() -> None:
    replayed = replay(counter(), saved("add", "light", "add"))
    assert [went.step.changes for went in replayed.steps] == [
        (Change("n", "1", "2"),),
        (Change("lamp", "off", "on"),),
        (Change("n", "2", "3"),),
    ]
    assert replayed.committed
    assert (replayed.broken, replayed.borne_out) == (True, True)
    assert replayed.false_at_end == ("small", "dark")


def test_a_replay_ends_at_the_first_step_that_is_not_enabled() -> None:
    replayed = replay(counter(), saved("add", "add", "add", "light"))
    assert [(went.enabled, went.committed) for went in replayed.steps] == [(True, True), (True, True), (False, False)]
    assert not replayed.committed
    assert not replayed.borne_out
    assert "       not enabled here" in map(plain, replay_lines(replayed))
    assert plain(list(replay_lines(replayed))[-1]) == "step 3 did not commit: the package has no such run"


def test_an_offending_occurrence_bears_the_run_out_when_it_may_not_commit() -> None:
    refused = replay(counter(), saved(offending="light"))
    assert refused.borne_out
    assert refused.offending is not None
    assert [failing.clause.label for failing in refused.offending.failing] == ["two"]
    assert "       may not commit, by two" in map(plain, replay_lines(refused))
    mended = replay(counter(), saved("add", offending="light"))
    assert mended.committed
    assert not mended.borne_out
    assert plain(list(replay_lines(mended))[-1]) == "every step was enabled and committed, but the last occurrence is legal here"


@pytest.mark.parametrize(
    ("unaudited", "mode", "committed"),
    [
        (False, Audited(), False),
        (True, Unaudited(None), True),
        (("jump",), Unaudited(frozenset({"jump"})), True),
        (("other",), Unaudited(frozenset({"other"})), False),
    ],
)
def test_a_fault_commits_only_where_it_was_left_unaudited(unaudited: bool | tuple[str, ...], mode: object, committed: bool) -> None:
    run = saved("jump", unaudited=unaudited)
    assert run.mode == mode
    assert replay(counter(), run).committed is committed


def test_the_record_says_how_each_step_went() -> None:
    record = replay_record(replay(counter(), saved("add", offending="jump")))
    assert (record["committed"], record["borne_out"], record["false_at_end"]) == (True, True, [])
    assert record["offending"] == {
        "update": "jump",
        "actor": "ana",
        "changes": [{"field": "n", "before": "2", "after": "3"}],
        "enabled": True,
        "committed": False,
        "failing": ["never"],
    }


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (saved("subtract"), "no update `subtract`"),
        (saved(offending="subtract"), "no update `subtract`"),
        (saved(start="4"), "`n` has no value 4"),
        (saved(start="x"), "`n` has no value x"),
        (saved(start="-1"), "`n` has no value -1"),
        (saved(start="9" * 5000), "`n` has no value 9"),
        (saved(start="3"), "not an initial state"),
        (replace(saved(), initial=(("m", "1"),)), "no field `m`"),
        (replace(saved(), initial=(("lamp", "dim"),)), "`lamp` has no value dim"),
    ],
)
def test_a_run_of_another_package_is_refused(run: SavedRun, message: str) -> None:
    with pytest.raises(RunError, match=message):
        replay(counter(), run)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", "icore.run/2"),
        ("package", 3),
        ("digests", {"package": 1}),
        ("settings", None),
        ("unaudited", "yes"),
        ("unaudited", [1]),
        ("breaks", None),
        ("initial", []),
        ("steps", "add"),
        ("steps", [1]),
        ("offending", False),
    ],
)
def test_a_saved_run_with_a_wrong_key_is_refused_by_name(tmp_path: Path, key: str, value: object) -> None:
    place = tmp_path / "run.json"
    save(place, saved("add"))
    record = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps({**record, key: value}), encoding="utf-8")
    with pytest.raises(RunError, match=key):
        read(place)


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_saved_run_is_refused(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "run.json"
    place.write_bytes(content)
    with pytest.raises(RunError, match="not a saved run"):
        read(place)


# ---- what the run was saved for -------------------------------------------------------------------------------------------
SHOWN = {
    "invariant", "unreachable", "termination", "eventually", "settlement", "leadsto", "feasibility", "soundness", "reports", "dead ends",
}  # fmt: skip
"""Kinds of properties that one run can break, and results that are there anyway."""
PACKAGES = sorted([*(CHECKOUT / "examples").glob("*_broken.icore"), *(CHECKOUT / "proofs_tests" / "cases" / "rewriting").glob("*.icore")])


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.stem)
def test_every_counterexample_of_the_examples_is_borne_out(path: Path) -> None:
    """What is expected to be violated is violated here. A run that breaks what one run can break is seen to break it again."""
    loaded = api.load(path)
    system = replace(loaded.system, expect_violated=())
    kinds = {p.name: p.kind.value for p in system.properties}
    for result in api.check(replace(loaded, system=system)).results:
        if result.verdict is not Verdict.VIOLATED or result.run is None:
            continue
        replayed = replay(system, SavedRun.of(system, result.run, result.name, {}, False))
        assert replayed.borne_out, result.name
        shows = result.run.offending is None and kinds.get(result.name, result.name) in SHOWN
        assert replayed.broken is (True if shows else None), result.name


def test_a_property_that_is_mended_is_no_longer_broken() -> None:
    """n = 1, 2, 3: `small` is n < 3. One step less does not break it; neither does the run where the invariant says n <= 3."""
    broken = replay(counter(), saved("add", "add"))
    assert (broken.broken, broken.borne_out) == (True, True)
    assert plain(list(replay_lines(broken))[-1]) == "every step was enabled and committed, and it breaks small"
    short = replay(counter(), saved("add"))
    assert (short.committed, short.broken, short.borne_out) == (True, False, False)
    assert plain(list(replay_lines(short))[-1]) == "every step was enabled and committed, but it does not break small"
    other = replay(counter(), replace(saved("add", "add"), breaks="order stability"))
    assert (other.broken, other.borne_out) == (None, True)
    assert plain(list(replay_lines(other))[-1]).endswith("whether that breaks order stability, one run does not show")


def test_a_saved_lasso_goes_round(tmp_path: Path) -> None:
    """bell opens and closes for ever without being passed; with strong fairness of passing the same round is unfair, and opened alone the
    run may go on."""
    folder = CHECKOUT / "proofs_tests" / "cases" / "rewriting"
    loaded = api.load(folder / "bell.icore")
    found = next(r for r in api.check(loaded).results if r.name == "through")
    assert found.run is not None
    run = SavedRun.of(loaded.system, found.run, "through", {}, False)
    assert sorted(run.cycle) == ["closes", "opens"]
    save(tmp_path / "run.json", run)
    assert read(tmp_path / "run.json") == run
    replayed = replay(loaded.system, run)
    assert (replayed.broken, len(replayed.steps)) == (True, len(run.steps) + 2)
    lines = list(map(plain, replay_lines(replayed)))
    assert "  then for ever:" in lines
    record = replay_record(replayed)
    assert [step["update"] for step in record["cycle"]] == list(run.cycle)  # type: ignore[union-attr, index, call-overload]
    strong = api.load(folder / "bell_strong.icore").system
    assert replay(strong, run).broken is False
    assert replay(loaded.system, replace(run, cycle=run.cycle[:1])).broken is False, "it does not come back"
    assert replay(loaded.system, replace(run, cycle=())).broken is False, "an agent can go on"


OUTSIDE = """package Outside
input c { n: 0..2 = 0, m: 0..2 = 0, q: {0.2, 0.5} = 0.2, b: bool = false }
update leap by environment { set c.n := c.n + 3, c.m := c.m + 1, c.q := c.q + 0.1, c.b := not c.b }
"""


def test_a_write_outside_its_domain_is_shown_as_what_was_to_be_written(tmp_path: Path) -> None:
    """c.n would be 3, 0.3 is none of the values of c.q: what stays inside is shown as ever."""
    path = tmp_path / "outside.icore"
    path.write_text(OUTSIDE, encoding="utf-8")
    report = api.check(api.load(path))
    legality = next(result for result in report.results if result.name == "legality")
    assert legality.run is not None and legality.run.steps == ()
    assert legality.run.offending == Step(
        "leap",
        "environment",
        (
            Change("c.n", "0", "3"),
            Change("c.m", "0", "1"),
            Change("c.q", "1/5", "3/10"),
            Change("c.b", "false", "true"),
        ),
    )
