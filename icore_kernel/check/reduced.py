"""Which reductions one check can use, what is said of each, and the search with them (design 4, Reductions).

Symmetry keeps every state property that treats the declared names alike, and all counts. Partial order keeps whether something
exists, for invariants, reachability and dead ends. What is asked of the step graph is decided without either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import factorial

from icore_kernel.check.plan import (
    ANTECEDENT,
    CONCLUSION,
    FEASIBILITY,
    INVARIANT,
    ON_GRAPH,
    SEEN,
    SOUNDNESS,
    WATCH,
    Plan,
)
from icore_kernel.check.reductions import Reduce, Reductions, saved
from icore_kernel.explore.model import Audited, Exploration, Mode, Reduction, Rules, Watchlist
from icore_kernel.explore.scalar_search import TooMany
from icore_kernel.explore.search import SMALL, explore, has_kernel
from icore_kernel.explore.tally import Clock
from icore_kernel.load import Loaded
from icore_kernel.reduce.orbits import Orbits, Set, TooLarge, merged
from icore_kernel.reduce.partial_order import Ample, Footprints
from icore_kernel.reduce.quotient import QuotientSearch, Spoilt, real_run
from icore_kernel.reduce.symmetry import Declared, Equivariance, Kept, kept
from icore_kernel.system import Kind, Property, PropertyKind, System
from icore_kernel.verdict import Assurance, Reason, Result, Verdict

WORTH = 24
"""Permutations from which on a search of one state of each orbit in NumPy is sure to beat one of every state in C."""


def declared(prop: Property) -> Declared:
    return Declared(prop.what, prop.on, prop.span)


def choose(
    loaded: Loaded, watchlist: Watchlist, mode: Mode, rules: Rules, reduce: Reduce, whole: str = "", only: bool = False
) -> Reductions:
    """What can be used. `whole`: why all states are needed, if they are; `only`: nothing is asked but the watchlist and dead ends."""
    found = Reductions(insists=reduce is not Reduce.AUTO)
    if not whole and rules.checkpoints is not None:
        whole = "only a whole search writes checkpoints"
    if not whole and rules.keep_graph:
        whole = "the step graph is kept"
    _symmetry(loaded, watchlist, reduce, whole, found)
    if reduce.partial_order:
        _partial_order(loaded, watchlist, mode, whole, only, found)
    return found


def _symmetry(loaded: Loaded, watchlist: Watchlist, reduce: Reduce, whole: str, found: Reductions) -> None:
    """Every declaration is checked, used or not: it says something of the package."""
    system = loaded.system
    claims = {p.name: declared(p) for p in system.properties if p.kind is PropertyKind.SYMMETRY}
    if not claims:
        return
    equivariance = Equivariance(system, loaded.bank)
    found.broken = {name: equivariance.broken(claim) for name, claim in claims.items()}
    good = [claim for name, claim in claims.items() if found.broken[name] is None and len(claim.members) > 1]
    if not good:
        found.no_symmetry = "no declaration of it holds"
    elif not reduce.symmetry:
        found.no_symmetry = f"--reduce {reduce.value}"
    elif whole:
        found.no_symmetry = whole
    else:
        answer: Kept = kept(equivariance, good, watchlist, (WATCH, ANTECEDENT, "hypothesis:"))
        if answer.lost is not None:
            found.no_symmetry = f"{said(loaded, answer.lost)} distinguishes them"
            return
        try:
            found.orbits = Orbits(equivariance.names, merged([Set(claim.what, claim.members) for claim in good]))
            found.shared = answer.shared
        except TooLarge as large:
            found.no_symmetry = f"{large.args[0]:,} permutations are too many to try for each state"


def _partial_order(loaded: Loaded, watchlist: Watchlist, mode: Mode, whole: str, only: bool, found: Reductions) -> None:
    system = loaded.system
    if not isinstance(mode, Audited):
        found.no_partial_order = "it is of the audited system"
    elif whole:
        found.no_partial_order = whole
    elif not only and (system.has_obligations or any(u.kind is Kind.FAULT for u in system.updates)):
        found.no_partial_order = "refusals and findings count states; --only asks for what it keeps"
    else:
        # In a search that meets no infeasible state feasibility needs no look; and one that does is begun again.
        looked = replace(watchlist, checks=tuple(c for c in watchlist.checks if not c[0].startswith(f"{FEASIBILITY}:")))
        found.ample = Ample(Footprints(system, loaded.bank), looked)


def said(loaded: Loaded, name: str) -> str:
    """What a person calls something of a watchlist."""
    kind, _, place = name.partition(":")
    if kind in {INVARIANT, SEEN, ANTECEDENT} and place:
        return loaded.system.properties[int(place.partition(":")[0])].name
    return kind if place else name


def search(loaded: Loaded, watchlist: Watchlist, rules: Rules, mode: Mode, found: Reductions) -> Exploration:
    """The search with the reductions found; where partial order meets an infeasible state, without it."""
    if found.orbits is None and found.ample is None:
        return explore(loaded.system, watchlist, rules, mode)
    clock = Clock(rules)
    most = SMALL if found.ample is None else None
    try:
        return QuotientSearch(loaded.system, watchlist, rules, mode, clock, found.orbits, found.ample, found.shared, most).run()
    except Spoilt:
        found.ample, found.no_partial_order = None, "an infeasible state is reachable"
        return search(loaded, watchlist, rules, mode, found)
    except TooMany:
        assert found.orbits is not None
        if not found.insists and found.orbits.size < WORTH and has_kernel():
            found.no_symmetry = f"with {found.orbits.size} permutations every state is quicker; --reduce symmetry insists"
            found.orbits = None
            return explore(loaded.system, watchlist, rules, mode)
        return search_by_blocks(loaded.system, watchlist, rules, mode, clock, found)


def search_by_blocks(system: System, watchlist: Watchlist, rules: Rules, mode: Mode, clock: Clock, found: Reductions) -> Exploration:
    """With symmetry alone, in NumPy; in plain Python where a member's part of the state is too wide for that."""
    from icore_kernel.explore.orbit_blocks import Group, TooWide
    from icore_kernel.explore.orbit_search import search_orbits

    orbits = found.orbits
    assert orbits is not None
    real = partial(real_run, system, mode, orbits)
    try:
        exploration, stored = search_orbits(
            system, watchlist, rules, mode, clock, Group(*orbits.group()), real, orbits.updates(), found.shared
        )
    except TooWide:
        return QuotientSearch(system, watchlist, rules, mode, clock, orbits, None, found.shared).run()
    return replace(exploration, reduction=Reduction(stored, exploration.states, orbits.size, orbits.said))


def reduced_search(
    loaded: Loaded, plan: Plan, mode: Mode, rules: Rules, reduce: Reduce, only: Sequence[str]
) -> tuple[Plan, Exploration, Reductions]:
    """The plan as far as it is asked, the search, and the reductions it used.

    `rules.keep_graph` may have been set for properties that are not asked: then it is not needed.
    """
    asked = pruned(plan, loaded, only)
    whole = on_graph(loaded, mode, only)
    if only and not whole:
        rules = replace(rules, keep_graph=False)
    found = choose(loaded, asked.watchlist, mode, replace(rules, keep_graph=False), reduce, whole, bool(only))
    return asked, search(loaded, asked.watchlist, rules, mode, found), found


# ---- a check ------------------------------------------------------------------------------------------------------------


def pruned(plan: Plan, loaded: Loaded, only: Sequence[str]) -> Plan:
    """The plan with no more than the results of these names need."""
    if not only:
        return plan
    wanted: set[str] = set()
    for name in only:
        wanted |= {name} & {FEASIBILITY, SOUNDNESS}
        if name == "reports":
            wanted.add("both")
    wanted |= {f"{kind}:{i}" for i, p in enumerate(loaded.system.properties) if p.name in only for kind in (INVARIANT, SEEN)}
    performance = any(clause.label in only for clause in loaded.system.conclusions)

    def needed(name: str) -> bool:
        kind = name.partition(":")[0]
        return name in wanted or kind in wanted or (performance and kind in {CONCLUSION, "hypothesis", "hypotheses"})

    old = plan.watchlist
    watchlist = replace(
        old,
        checks=tuple(check for check in old.checks if needed(check[0])),
        seen=tuple(seen for seen in old.seen if needed(seen[0])),
        minimums=old.minimums if SOUNDNESS in only else (),
        final=(),
        outcomes=(),
    )
    return replace(plan, watchlist=watchlist)


def on_graph(loaded: Loaded, mode: Mode, only: Sequence[str]) -> str:
    """Why the step graph is needed: the properties that are decided on it."""
    if not isinstance(mode, Audited):
        return ""
    names = [p.name for p in loaded.system.properties if p.kind in ON_GRAPH and (not only or p.name in only)]
    return f"{', '.join(names)} needs every state" if len(names) == 1 else f"{', '.join(names)} need every state" if names else ""


def symmetry_result(prop: Property, found: Reductions, exploration: Exploration) -> Result:
    """`symmetric a, b`: whether the package does treat them alike, and what that saved."""
    broken = found.broken.get(prop.name)
    if broken is not None:
        return Result(
            prop.name, Verdict.VIOLATED, Assurance.STATIC, broken.text, prop.span, engine="checker",
            reasons=(Reason("symmetry", broken.text, broken.span or prop.span, broken.values),),
            repair=f"let every declaration treat {', '.join(prop.on)} alike, or take out `{prop.name}`",
        )  # fmt: skip
    count = len(prop.on)
    detail = f"{count}! = {factorial(count):,} permutations" if count > 1 else "one name: nothing to exchange"
    if exploration.reduction is not None and exploration.reduction.sets:
        detail += f" · {saved(exploration)}"
    elif found.no_symmetry and count > 1:
        detail += f" · not used: {found.no_symmetry}"
    return Result(prop.name, Verdict.PROVED, Assurance.PROVED, detail, prop.span, engine="checker")
