"""The random host: the same draws everywhere, every choice reached, the rate kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import pytest
from host_packages import Small, schedule_view, small, view

from icore_kernel.audit.host import Proposal, Step
from icore_kernel.hosts.mistakes import HostError
from icore_kernel.hosts.random_host import RandomHost, draw


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return small(tmp_path_factory.mktemp("random"))


def test_draws_are_the_same_on_every_machine() -> None:
    """What is drawn is the remainder of SHA-256 over the key, its parts and the block's number apart by unit separators."""
    whole = int.from_bytes(sha256(b"7\x1fschedule\x1f0\x1f0").digest(), "big")
    assert draw(1000, 7, "schedule", 0) == whole % 1000
    assert [draw(10, 1, "x", i) for i in range(12)] == [5, 9, 0, 0, 7, 5, 3, 5, 1, 2, 9, 3]


def test_draws_reach_everything_about_equally_often() -> None:
    counts = Counter(draw(6, 3, "fair", i) for i in range(6000))
    assert set(counts) == set(range(6))
    # A thousand each, standard deviation 29: beyond five of them would be no chance.
    assert max(abs(n - 1000) for n in counts.values()) < 150
    assert draw(1, 0) == 0
    assert 0 <= draw(2**600, 5) < 2**600
    blocks = b"".join(sha256(b"5\x1f%d" % i).digest() for i in range(2))
    assert draw(2**200, 5) == int.from_bytes(blocks, "big") % 2**200, "201 bits and 64 more do not fit into one block"
    with pytest.raises(ValueError, match="a number below 0"):
        draw(0, 1)


def test_schedules_depend_on_seed_and_round_alone(paper: Small) -> None:
    enabled = paper.candidates(paper.after())
    first = [RandomHost(5).schedule(t, enabled, schedule_view()) for t in range(40)]
    host = RandomHost(5, Fraction(1, 2))
    assert [host.schedule(t, enabled, schedule_view()) for t in reversed(range(40))] == first[::-1]
    assert [RandomHost(6).schedule(t, enabled, schedule_view()) for t in range(40)] != first
    assert {c.candidate.update for c in first} == {c.update for c in enabled}, "six occurrences in forty rounds"
    assert all(c.agent == c.candidate.actor for c in first)


def test_steps_follow_the_schedule_or_go_wrong_at_the_rate(paper: Small) -> None:
    state = paper.after("assign(ana, left)", "assign(ana, whole)")
    own = tuple(c for c in paper.candidates(state) if c.actor == "ana")
    wrong = {c.update for c in own if not c.enabled}
    assert wrong == {"finish(ana, whole)", "finish.careless(ana, left)", "finish.careless(ana, whole)"}
    chosen = paper.candidate("finish(ana, left)")

    def steps(rate: Fraction, many: int = 400) -> Counter[str]:
        host = RandomHost(1, rate)
        proposals = [host.step("ana", view("ana", own, chosen=chosen, round=t)) for t in range(many)]
        return Counter(p.steps[0].update or "" for p in proposals)

    assert steps(Fraction(0)) == {"finish(ana, left)": 400}
    assert set(steps(Fraction(1))) == wrong
    quarter = steps(Fraction(1, 4))
    assert set(quarter) == {*wrong, "finish(ana, left)"}
    assert abs(quarter["finish(ana, left)"] - 300) < 45, "standard deviation 8.7"
    lawful = [c for c in own if c.enabled]
    assert RandomHost(1, Fraction(1)).step("ana", view("ana", lawful, chosen=chosen)) == Proposal((Step("finish(ana, left)"),))


def test_recoveries_are_lawful_candidates_or_none(paper: Small) -> None:
    state = paper.after("assign(ana, left)")
    own = tuple(c for c in paper.candidates(state) if c.actor == "ana")
    lawful = {c.update for c in own if c.enabled and not c.fault}
    drawn = {RandomHost(2, Fraction(1)).revise("ana", view("ana", own, round=t)).steps[0].update for t in range(60)}
    assert drawn == lawful
    assert RandomHost(2).revise("ana", view("ana", [c for c in own if not c.enabled])) == Proposal()
    legal_faults = [replace(c, fault="slip") for c in own if c.enabled]
    assert RandomHost(2).revise("ana", view("ana", legal_faults)) == Proposal()


@pytest.mark.parametrize("rate", [Fraction(-1, 10), Fraction(11, 10)])
def test_a_rate_beyond_one_is_refused(rate: Fraction) -> None:
    with pytest.raises(HostError, match="from 0 to 1"):
        RandomHost(1, rate)
