"""`icore step` says what the engines say: of every example, of declared runs, of the runs that `icore check` reports."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT

from icore_kernel import api
from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited
from icore_kernel.report.layout import plain
from icore_kernel.report.step import refused_lines, view_lines
from icore_kernel.runs_io import read, replay, save
from icore_kernel.stepping import StepError, Walk
from icore_kernel.system import Kind


def example(name: str) -> Path:
    return CHECKOUT / "examples" / f"{name}.icore"


@pytest.mark.parametrize("name", sorted(path.stem for path in (CHECKOUT / "examples").glob("*.icore")))
def test_what_is_offered_commits_and_everything_else_that_occurs_is_refused(name: str, tmp_path: Path) -> None:
    walk = Walk(api.load(example(name)))
    system, chance = walk.system, Random(name)
    for _ in range(15):
        view, state = walk.view(), walk.state
        committed = {number for number in range(len(system.updates)) if judge.committed(system, Audited(), number, state) is not None}
        occurring = {number for number, update in enumerate(system.updates) if judge.occurs(update, state)}
        assert {offer.number for offer in view.offered} == committed
        hopeless = {n for n in occurring if system.updates[n].requires.is_false and system.updates[n].kind is not Kind.FAULT}
        assert {offer.number for offer in view.refused} == occurring - committed - hopeless
        assert sum(count for _, count in view.never) == len(hopeless)
        labels = dict(judge.refused(system, Audited(), state))
        assert {offer.number: offer.reasons[0].label for offer in view.refused} == {n: labels[n] for n in occurring - committed - hopeless}
        assert all(offer.fault == system.updates[offer.number].fault for offer in (*view.offered, *view.refused))
        faults = sum(1 for offer in view.refused if offer.fault)
        assert "\n".join(map(plain, refused_lines(view, 80))).count("fault · ") == faults
        shown = [line for line in map(plain, view_lines(view, 80)) if "fault · " in line]
        assert sum(int(found[1]) if (found := re.search(r", (\d+) bindings  ", line)) else 1 for line in shown) == faults
        for number in occurring - committed:
            with pytest.raises(StepError):
                walk.take(number)
            assert walk.state == state
        if not view.offered:
            break
        walk.take(chance.choice(view.offered).number)
    save(tmp_path / "run.json", walk.saved())
    replayed = replay(system, read(tmp_path / "run.json"))
    assert replayed.borne_out and len(replayed.steps) == len(walk.taken)


def test_a_declared_run_ends_where_it_says_and_not_before() -> None:
    """The run `happy` of `release_pipeline`, by hand: it ends in Accept."""
    walk = Walk(api.load(example("release_pipeline")))
    (scenario,) = [scenario for scenario in walk.system.scenarios if scenario.name == "happy"]
    for name, _ in scenario.steps:
        assert walk.view().ended == ()
        walk.take(walk.named(name))
    assert walk.view().ended == ("Accept",)
    assert walk.truth("status(release) == accepted").holds
    assert "\n  Accept holds\n" in "\n".join(map(plain, view_lines(walk.view())))


def test_a_dead_end_is_called_one_and_saved_as_one(tmp_path: Path) -> None:
    """The run that `icore check` reports for the dead ends of `code_change_broken`."""
    walk = Walk(api.load(example("code_change_broken")))
    for name in ("assign(ben, review)", "assign(ci, tests)", "pass(ben, review)", "refuse(ci, tests)"):
        assert not walk.view().dead_end
        walk.take(walk.named(name))
    view = walk.view()
    assert view.dead_end and view.ended == ()
    assert "a dead end: " in "\n".join(map(plain, view_lines(view)))
    saved = walk.saved()
    assert saved.breaks == "dead ends"
    assert replay(walk.system, saved).broken is True


def test_what_the_environment_does_is_taken_and_marked_though_it_is_not_legal() -> None:
    """The run that `icore check` reports for the legality of `incident_response_broken`."""
    walk = Walk(api.load(example("incident_response_broken")))
    for name in ("assign(dana, cause)", "complete(dana, cause)", "enable(mitigate)"):
        walk.take(walk.named(name))
    (offer,) = [offer for offer in walk.view().offered if offer.step.update == "new_telemetry"]
    assert [reason.label for reason in offer.reasons] == ["A.4(2)"]
    text = "\n".join(map(plain, view_lines(walk.view(), 200)))
    assert "new_telemetry by environment  not legal, and cannot be refused · A.4(2) status(mitigate)" in " ".join(text.split(" "))
    walk.take(offer.number)
    assert walk.view().false[0].startswith("feasibility A.4(2)")
    assert walk.saved().breaks == "feasibility"
