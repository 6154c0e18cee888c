"""Counts of states, steps and depth against closed forms derived by hand, at several sizes each.

Each form says how one component moves (its states `k`, its steps `t`, its depth `d`) and how components compose. Components
that do not touch each other multiply: n of them have k^n states, n·t·k^(n-1) steps and depth n·d. Components that share
one thing that only moves forward (a head, a clock, a plan) multiply for each of its values, and the forms are added up. What is
counted for a component is its whole semantic state: status, assignee, signature, artifact, each certificate's lifecycle, and on
what each assertion rests. Wherever these follow from each other in reachable states, the derivation says so.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel import api
from icore_kernel.explore.search import Engine
from icore_kernel.explore.search import explore as search
from icore_kernel.verdict import Verdict

COUNTS = CHECKOUT / "proofs_tests" / "cases" / "counts"
MODELS = CHECKOUT / "proofs_tests" / "bench" / "models"

Form = Callable[..., tuple[int, int, int]]


def product(n: int, k: int, t: int, d: int) -> tuple[int, int, int]:
    """n components that do not touch each other."""
    return k**n, n * t * k ** (n - 1), n * d


def rings(n: int, k: int) -> tuple[int, int, int]:
    """A ring of k places: k states, k steps, and the last place is k-1 steps away."""
    return product(n, k, k, k - 1)


def independent(n: int) -> tuple[int, int, int]:
    """A task with two agents: ready (1), assigned (2), closed (2), accepted (2), the last three remembering who.

    `able`, `done`, `ok` and the report follow the status: active from the step that issues them, the report spent at the end.
    Steps: assign 2, finish 2, sign off 2.
    """
    return product(n, 7, 6, 3)


def chain(L: int) -> tuple[int, int, int]:
    """Strictly one after the other, two agents: a tree. Task j (from 0) is met with 2^j histories of who did the ones before.

    Ready: 2^j states; assigned, closed, accepted: 2^(j+1) each; enabling the next is a state of the next task. Sum over j of
    7·2^j is 7(2^L-1). In a tree each state but the first is entered by one step. Depth: 3 a task, and 1 to enable each later one.
    """
    states = 7 * (2**L - 1)
    return states, states - 1, 4 * L - 1


def recertify(n: int) -> tuple[int, int, int]:
    """Before the first revocation: ready, closed, accepted (`done` absent, active, active; `wanting` absent).

    After it: the same three with `done` revoked, active, active, and `wanting` active; the status rests on `wanting` only while
    ready. A second revocation leads back to the same ready state. Steps: finish, revoke, sign off in each of the two: 6. The last
    state is finish, revoke, finish, sign off away.
    """
    return product(n, 6, 6, 4)


def witnesses(n: int, c: int) -> tuple[int, int, int]:
    """Closed: each witness is absent, active or revoked, the first never absent, and at least one is active.

    N = 2·3^(c-1) - 2^(c-1) vectors. Ready is 1 state, accepted N (the vector is kept). Steps among the vectors: witness j > 1
    may speak (2 values) or withdraw (1) where another is active: 3·A of them, A = 2·3^(c-2) - 2^(c-2) vectors of the others with
    an active one; the first likewise 2·B, B = 3^(c-1) - 2^(c-1). Depth: close 1; the farthest vector has c-1 revoked: each of
    these takes 2 steps, and 2(c-1) when the first stays; sign off 1: 2c.
    """
    vectors = 2 * 3 ** (c - 1) - 2 ** (c - 1)
    others = 2 * 3 ** (c - 2) - 2 ** (c - 2)
    without_first = 3 ** (c - 1) - 2 ** (c - 1)
    among = 3 * (c - 1) * others + 2 * without_first
    return product(n, 1 + 2 * vectors, 1 + among + vectors, 2 * c)


def versions(n: int, V: int) -> tuple[int, int, int]:
    """With the head at h, a task is ready and never done (1), ready after it was last done for one of h-1 versions, which the
    spent report keeps (h-1), closed for the first time (1), or closed again (1 where h > 1: `stale` is still active).

    At V it may be accepted from either closed state (2). Each task chooses for itself when it is done, so all combinations are
    met. Steps: finish from each of h ready states; a push from every state below V; sign off from 2 closed states at V.
    Depth: V-1 pushes, and each task done early, done again and accepted: 3n.
    """

    def ready_and_closed(h: int) -> int:
        return h + 1 + (1 if h > 1 else 0)

    below = range(1, V)
    states = sum(ready_and_closed(h) ** n for h in below) + (V + 4) ** n
    steps = sum(n * h * ready_and_closed(h) ** (n - 1) + ready_and_closed(h) ** n for h in below)
    return states, steps + n * (V + 2) * (V + 4) ** (n - 1), V - 1 + 3 * n


def verification(n: int, R: int) -> tuple[int, int, int]:
    """A tree: ready at first; for each attempt 1..R closed, accepted, rejected; ready again after each but the last.

    What is active or revoked follows from the number of the attempt and the status. k = 1 + 3R + (R-1) = 4R, t = k-1. The last
    rejection takes R attempts of solve and turn down, and R-1 reopenings: 3R-1.
    """
    return product(n, 4 * R, 4 * R - 1, 3 * R - 1)


def delay(n: int, T: int, d: int) -> tuple[int, int, int]:
    """At round r a task is ready (1), waits for its evidence with d..1 rounds to go (submitted r-d+1..r or at 0..r: min(d, r+1)),
    has it (1 where r >= d), or is accepted (1 where r >= d). What each task does at each round is its own choice.

    Steps: submit, and sign off where r >= d; a tick from every state below T. Depth (for T >= d): T ticks, 2 steps a task.
    """

    def one(r: int) -> int:
        return 1 + min(d, r + 1) + (2 if r >= d else 0)

    states = sum(one(r) ** n for r in range(T + 1))
    own = sum(n * (2 if r >= d else 1) * one(r) ** (n - 1) for r in range(T + 1))
    return states, own + sum(one(r) ** n for r in range(T)), T + 2 * n


def decomposition(c: int) -> tuple[int, int, int]:
    """Before the plan 1 state. Then c parts: ready (1), assigned (2), solved (2), accepted (2, by the one who did not solve it),
    6 steps. All accepted: 2^c histories of who solved what, each merged by one step into a state of its own.
    """
    return 1 + 7**c + 2**c, 1 + 6 * c * 7 ** (c - 1) + 2**c, 3 * c + 2


def negotiation(n: int, v: int) -> tuple[int, int, int]:
    """A party: no offer yet (1), one of v standing, one of v withdrawn, which the spent offer keeps: p = 1+2v.

    Its steps: v from no offer; v-1 other offers and 1 withdrawal from each standing one; v from each withdrawn one: v(1+2v).
    A pact: p^2 states while open, v when merged (one for each value on which both stand, 1 step each). Depth: offer and
    withdraw twice: 4; a merged state is 3 away.
    """
    party = 1 + 2 * v
    return product(n, party**2 + v, 2 * v * party * party + v, 4)


def links(n: int) -> tuple[int, int, int]:
    """Each of n(n-1)/2 ordered pairs: never linked, linked (`found` active), unlinked again (`found` revoked); 3 steps, depth 2."""
    return product(n * (n - 1) // 2, 3, 3, 2)


def tcommit(n: int) -> tuple[int, int, int]:
    """No one has committed: each is working, prepared or aborted: 3^n. Someone has: nobody works or aborts: 2^n - 1.

    Steps: of each working one, prepare and abort, and of each prepared one abort, where nobody has committed: 3n·3^(n-1); commit
    of each prepared one where all have prepared or committed: n·2^(n-1). Depth: all prepare, all commit.
    """
    return 3**n + 2**n - 1, n * 3**n + n * 2 ** (n - 1), 2 * n


def two_phase(n: int) -> tuple[int, int, int]:
    """Undecided: each is working, prepared and unheard, prepared and heard, or aborted by itself: 4^n. Commit decided: each is
    prepared or committed: 2^n. Abort decided: the four and the two prepared ones aborted: 6^n.

    Steps undecided: of the four, working moves in 2 ways, the prepared ones are heard (again): 4n·4^(n-1); abort is decided
    anywhere, commit where all are heard: 4^n + 1. After commit each may obey, again and again: n·2^n; after abort too, and the
    working ones move in 2 ways as well: n·6^n + 2n·6^(n-1). Depth: all prepare, all are heard, decision, all obey.
    """
    undecided = n * 4**n + 4**n + 1
    return 4**n + 2**n + 6**n, undecided + n * 2**n + n * 6**n + 2 * n * 6 ** (n - 1), 3 * n + 1


def ladder_grid(n: int, L: int, m: int) -> tuple[int, int, int]:
    """Model A: a chain is at one of L items, waiting or assigned to one of m, or finished; assign and close for each."""
    return product(n, L * (1 + m) + 1, 2 * L * m, 2 * L)


def coverage(n: int, m: int) -> tuple[int, int, int]:
    """Model B: open, ready, accepted, rejected; closed by m with 3 papers, submitted by m with 2: 4+5m.

    open 1, reopen 1, close m, submit m; by another than the owner: certify closed absent, closed withdrawn, submitted withdrawn;
    withdraw closed, submitted; accept 1; reject with either paper 2: 8m(m-1). Depth: open, close, certify, submit, accept.
    """
    return product(n, 4 + 5 * m, 2 + 2 * m + 8 * m * (m - 1), 5)


def decompose(c: int, m: int) -> tuple[int, int, int]:
    """Model C: a child is free, assigned (m), solved (m), certified; the owner is cleared, so the whole is merged in 1 state."""
    states, steps, depth = product(c, 2 + 2 * m, 2 * m + m * (m - 1), 3)
    return states + 2, steps + 2, depth + 2


Case = tuple[Path, Form, dict[str, int]]


def sized(folder: Path, form: Form, *sizes: dict[str, int]) -> list[Case]:
    return [(folder / f"{form.__name__}.icore", form, size) for size in sizes]


WITH_EVIDENCE: list[Case] = [
    *sized(COUNTS, independent, {"n": 1}, {"n": 2}, {"n": 4}),
    *sized(COUNTS, chain, {"L": 2}, {"L": 3}, {"L": 6}),
    *sized(COUNTS, recertify, {"n": 1}, {"n": 3}, {"n": 5}),
    *sized(COUNTS, witnesses, {"n": 1, "c": 2}, {"n": 1, "c": 4}, {"n": 2, "c": 3}),
    *sized(COUNTS, versions, {"n": 1, "V": 4}, {"n": 2, "V": 3}, {"n": 4, "V": 2}),
    *sized(COUNTS, verification, {"n": 1, "R": 1}, {"n": 1, "R": 4}, {"n": 3, "R": 2}),
    *sized(COUNTS, delay, {"n": 1, "T": 3, "d": 2}, {"n": 2, "T": 4, "d": 1}, {"n": 3, "T": 5, "d": 3}),
    *sized(COUNTS, decomposition, {"c": 1}, {"c": 2}, {"c": 4}),
    *sized(COUNTS, negotiation, {"n": 1, "v": 1}, {"n": 1, "v": 4}, {"n": 2, "v": 2}),
    *sized(COUNTS, links, {"n": 2}, {"n": 3}, {"n": 4}),
]
PLAIN: list[Case] = [
    *sized(COUNTS, rings, {"n": 1, "k": 9}, {"n": 3, "k": 4}, {"n": 6, "k": 3}),
    *sized(COUNTS, tcommit, {"n": 1}, {"n": 3}, {"n": 5}),
    *sized(COUNTS, two_phase, {"n": 1}, {"n": 3}, {"n": 4}),
    *sized(MODELS, ladder_grid, {"n": 1, "L": 2, "m": 1}, {"n": 2, "L": 3, "m": 2}, {"n": 5, "L": 3, "m": 2}),
    *sized(MODELS, coverage, {"n": 1, "m": 2}, {"n": 2, "m": 3}, {"n": 4, "m": 3}),
    *sized(MODELS, decompose, {"c": 1, "m": 2}, {"c": 3, "m": 3}, {"c": 5, "m": 4}),
]


def name_of(case: Case) -> str:
    file, _, size = case
    return "-".join([file.stem, *(f"{name}{value}" for name, value in size.items())])


def loaded(case: Case) -> api.Loaded:
    file, _, size = case
    return api.load(file, settings={name: str(value) for name, value in size.items()})


@pytest.mark.parametrize("case", WITH_EVIDENCE + PLAIN, ids=name_of)
def test_counts_equal_the_closed_form(case: Case) -> None:
    _, form, size = case
    found = api.explore(loaded(case))
    assert found.stopped is None
    assert (found.states, found.steps, found.depth) == form(**size)


@pytest.mark.parametrize("case", (WITH_EVIDENCE + PLAIN)[1::3], ids=name_of)
def test_both_engines_count_alike(case: Case) -> None:
    """Whichever engine answers by itself, the other one gives the closed form too."""
    _, form, size = case
    system = loaded(case).system
    for engine in (Engine.PYTHON, Engine.NUMPY):
        found = search(system, engine=engine)
        assert (found.states, found.steps, found.depth) == form(**size), engine


@pytest.mark.parametrize("case", WITH_EVIDENCE[1::3], ids=name_of)
def test_packages_with_evidence_hold(case: Case) -> None:
    """Nothing was refused to make a count come out: every update is legal wherever it is enabled, and no finding is left open."""
    report = api.check(loaded(case))
    assert report.verdict is Verdict.HOLDS, [result for result in report.results if result.verdict is Verdict.VIOLATED]
    assert [finding for finding in report.findings if not finding.allowed] == []


# What TLC prints for the published specifications with three resource managers. It counts levels and not steps of depth
# (7 and 11), and generated states, the initial one among them (94 and 1,146).
PUBLISHED = [("tcommit", 34, 93, 6), ("two_phase", 288, 1145, 10)]


@pytest.mark.parametrize(("name", "states", "steps", "depth"), PUBLISHED)
def test_published_numbers(name: str, states: int, steps: int, depth: int) -> None:
    found = api.explore(api.load(COUNTS / f"{name}.icore", settings={"n": "3"}))
    assert (found.states, found.steps, found.depth) == (states, steps, depth)


# The figures themselves, so that a slip in a form and in a model cannot meet: sizes S of the three models.
SIZES_S = [
    ("ladder_grid", {"n": "5", "L": "3", "m": "2"}, 100_000, 600_000, 30),
    ("coverage", {"n": "4", "m": "3"}, 130_321, 1_536_416, 20),
    ("decompose", {"c": "5", "m": "4"}, 100_002, 1_000_002, 17),
]


@pytest.mark.parametrize(("name", "settings", "states", "steps", "depth"), SIZES_S)
def test_models_at_size_s(name: str, settings: dict[str, str], states: int, steps: int, depth: int) -> None:
    found = api.explore(api.load(MODELS / f"{name}.icore", settings=settings))
    assert (found.states, found.steps, found.depth) == (states, steps, depth)


def test_stutters_are_steps_and_counted_apart() -> None:
    """Two-phase commit, three managers: heard again while undecided, 3·4^2; obeyed again after commit, 3·2^2; after abort, where
    one of six states is each kind of aborted (three), 3·3·6^2."""
    found = api.explore(api.load(COUNTS / "two_phase.icore", settings={"n": "3"}))
    assert found.stutters == 3 * 4**2 + 3 * 2**2 + 3 * 3 * 6**2 == 384
