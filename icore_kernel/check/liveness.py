"""Settlement, eventually, leadsto, controllable as results: fair lassos, the four ends, strategies and spoiling moves."""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.check.answers import plural
from icore_kernel.check.plan import Plan, allowed_ends, why_allowed
from icore_kernel.check.quiet import blocked, refusals, why_no_end
from icore_kernel.check.whole import Whole
from icore_kernel.rewriting.game import WAIT, Game, solve, spoiling
from icore_kernel.rewriting.liveness import Escape, demands_of, escape
from icore_kernel.system import Kind, Property
from icore_kernel.verdict import Assurance, Reason, Result, Run, Verdict


def settlement(whole: Whole, plan: Plan, prop: Property) -> Result:
    """Every fair run comes to Accept, Reject or certified Stuck, or to a dead end that is allowed (without obligations: to a state
    where nothing can follow)."""
    system = whole.system
    ends = (plan.accept, plan.reject, plan.stuck)
    accept, reject, stuck, goal, may_stay = whole.truth((*ends, whole.bank.or_(*ends), allowed_ends(system, whole.bank)))
    for form in whole.settled() if any(may_stay) else ():
        goal[form] |= may_stay[form]
    if not system.has_obligations:
        goal = bytearray(whole.graph.states)
        for form in whole.settled():
            goal[form] = 1
    said = _ends(whole, accept, reject, stuck, may_stay)
    found = escape(whole.graph, goal, whole.initial, demands_of(system))
    if found is None:
        return _answer(whole, prop, Verdict.HOLDS, said)
    run = whole.walks.escape(found)
    if found.cycle:
        return _answer(whole, prop, Verdict.VIOLATED, f"a fair run goes round for ever · {said}", run)
    if whole.graph.start[found.state] == whole.graph.start[found.state + 1]:
        state = whole.exploration.store.state(found.state)
        return _answer(whole, prop, Verdict.VIOLATED, f"a dead end · {said}", run, blocked(system, state), refusals(system, state))
    waits = ", ".join(dict.fromkeys(system.updates[u].name for u, _ in list(whole.graph.out(found.state))[:4]))
    detail = f"a run may stop where only the environment could go on ({waits}) · {said}"
    why = why_no_end(system, whole.exploration.store.state(found.state)) if system.has_obligations else ()
    repair = "declare `fair weak` what will come, or let an agent go on"
    if why:
        fair = ", ".join(dict.fromkeys(system.updates[u].schema for u, _ in whole.graph.out(found.state)))
        repair = f"let an agent bring what is missing there, or declare `fair weak {fair}` if that is sure to come, and brings it"
    return _answer(whole, prop, Verdict.VIOLATED, detail, run, why, repair)


def _ends(whole: Whole, accept: bytearray, reject: bytearray, stuck: bytearray, may_stay: bytearray) -> str:
    """The ends told apart: complete, legally stuck, an allowed dead end, illegally stuck, going round."""
    cycles = plural(whole.facts.cycles, "cycle") + " without an exit" if whole.facts.cycles else ""
    if not whole.system.has_obligations:
        return " · ".join(part for part in (plural(len(whole.settled()), "normal form"), cycles) if part)
    accepted, rejected, certified, allowed, other = whole.ends(accept, reject, stuck, may_stay)
    said = [f"complete {accepted + rejected:,} (Accept {accepted:,}, Reject {rejected:,})"]
    if certified:
        said.append(f"legally stuck {certified:,}")
    if allowed:
        said.append(f"{plural(allowed, 'dead end')} allowed: {'; '.join(why_allowed(whole.system))}")
    if other:
        said.append(f"illegally stuck {other:,}")
    if cycles:
        said.append(f"going round: {cycles}")
    return " · ".join(said)


def eventually(whole: Whole, prop: Property) -> Result:
    (goal,) = whole.truth((prop.formula,))
    return _escaped(whole, prop, escape(whole.graph, goal, whole.initial, demands_of(whole.system)), "every fair run meets it")


def leadsto(whole: Whole, prop: Property) -> Result:
    assert prop.goal is not None
    begins, goal = whole.truth((prop.formula, prop.goal))
    starts = [s for s in range(whole.graph.states) if begins[s]]
    found = escape(whole.graph, goal, starts, demands_of(whole.system))
    return _escaped(whole, prop, found, f"from {plural(len(starts), 'state')} every fair run goes there")


def _escaped(whole: Whole, prop: Property, found: Escape | None, good: str) -> Result:
    if found is None:
        return _answer(whole, prop, Verdict.HOLDS, good)
    run = whole.walks.escape(found)
    if found.cycle:
        return _answer(whole, prop, Verdict.VIOLATED, f"a fair run goes round {plural(len(found.cycle), 'step')} for ever without it", run)
    state = whole.exploration.store.state(found.state)
    out = list(whole.graph.out(found.state))
    if not out:
        detail = "a run ends without it: nothing productive can follow"
        return _answer(whole, prop, Verdict.VIOLATED, detail, run, blocked(whole.system, state), refusals(whole.system, state))
    waits = ", ".join(dict.fromkeys(whole.system.updates[u].name for u, _ in out[:4]))
    return _answer(whole, prop, Verdict.VIOLATED, f"a run may stop without it where only the environment could go on ({waits})", run)


# ---- players -----------------------------------------------------------------------------------------------------------
def controllable(whole: Whole, prop: Property) -> Result:
    """Whether the agents can bring the goal about from every initial state whatever environment and passed faults do; what of these is
    declared fair is counted on."""
    (goal,) = whole.truth((prop.formula,))
    updates = whole.system.updates
    environment = [u.kind is not Kind.ORDINARY for u in updates]
    demands = demands_of(whole.system)
    fair = list(dict.fromkeys(u.schema for u, theirs, own in zip(updates, environment, demands.of, strict=True) if theirs and own))
    game = solve(whole.graph, goal, environment, demands)
    counts = f"from {sum(game.winning):,} of {plural(whole.graph.states, 'state')}"
    lost = next((s for s in whole.initial if not game.winning[s]), None)
    if lost is None:
        first = next((int(game.move[s]) for s in whole.initial if game.move[s] >= 0), -1)
        begins = f", beginning with {updates[first].name}" if first >= 0 else ""
        counted = f", counting on fair {', '.join(fair)}" if fair else ""
        return _answer(whole, prop, Verdict.HOLDS, f"{_moves(whole, game)}{begins}{counted} · {counts}", _strategy(whole, game))
    how = "the other side can prevent it, " + (f"fair as {', '.join(fair)} may be" if fair else "nothing of it being declared fair")
    if not any(environment):
        how = "the agents have no way to it"
    play = spoiling(whole.graph, game, environment, demands, lost) if fair else _spoiled(whole, game, environment, lost)
    waits = not play.cycle and next(whole.graph.out(play.state), None) is not None
    repair = "declare `fair weak` what will come, or let an agent go on" if waits else ""
    return _answer(whole, prop, Verdict.VIOLATED, f"{how} · agents win {counts}", whole.walks.escape(play), repair=repair)


def _moves(whole: Whole, game: Game) -> str:
    if all(game.sure[s] for s in whole.initial):
        return f"in at most {plural(max((int(game.rank[s]) for s in whole.initial), default=0), 'move')}"
    return "in the end, after no known number of moves"


def _strategy(whole: Whole, game: Game) -> Run:
    """The agents' moves from the first initial state, while the other side leaves them be; where they wait, what is fair."""
    start = state = whole.initial[0]
    way: list[tuple[int, int]] = []
    while game.move[state] != -1:
        move = game.move[state]
        out = [(u, t) for u, t in whole.graph.out(state) if u == move or (move == WAIT and game.winning[t])]
        update, state = min(out, key=lambda step: int(game.rank[step[1]]))
        way.append((update, state))
    return Run(whole.walks.run_to(start).initial, whole.walks.steps(start, way))


def _spoiled(whole: Whole, game: Game, environment: Sequence[bool], lost: int) -> Escape:
    """One play that never leaves the lost states: the other side spoils where it can, else the agents move as they may."""
    way: list[tuple[int, int]] = []
    place = {lost: 0}
    state = lost
    while True:
        move = game.spoils(whole.graph, state, environment)
        if move is None:
            move = next(((u, t) for u, t in whole.graph.out(state) if not game.winning[t]), None)
        if move is None:
            return Escape(lost, tuple(way), state)
        way.append(move)
        state = move[1]
        if state in place:
            back = place[state]
            return Escape(lost, tuple(way[:back]), state, tuple(way[back:]))
        place[state] = len(way)


def _answer(
    whole: Whole, prop: Property, verdict: Verdict, detail: str, run: Run | None = None, reasons: tuple[Reason, ...] = (), repair: str = ""
) -> Result:
    return Result(prop.name, verdict, Assurance.EXHAUSTIVE, detail, prop.span, run, reasons, whole.engine, repair=repair)
