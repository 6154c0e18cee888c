"""Small random packages as text: work that is closed on a result, certified through a chain of premises, and accepted; with flaws.

What is drawn: how much work there is and what needs what, how many agents (alike or not), the length of the chain of certificates from
the result to acceptance, which faults there are, and which mistakes the author made.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

FLAWS = ("unguarded", "unissued", "wrong value", "unbacked ready", "false invariant", "unreachable", "not claimed")


@dataclass
class Drawn:
    """`chain`: certificates one behind the other, from the result to acceptance."""

    text: str
    chain: int
    flaws: tuple[str, ...]
    symmetric: bool


def random_package(random: Random) -> Drawn:
    agents = ("ana", "bo")[: random.choice((1, 2, 2))]
    works = [f"w{i}" for i in range(1, random.choice((1, 1, 2, 2)) + 1)]
    looks = random.choice((0, 1, 1, 2) if len(works) > 1 else (0, 1, 2, 2, 3, 4))
    flaws = tuple(flaw for flaw in FLAWS if random.random() < 0.1)
    symmetric = len(agents) > 1 and random.random() < 0.5
    needs = [(a, b) for a, b in pairwise(works) if random.random() < 0.7]
    blocked = {b for _, b in needs}
    last = f"look{looks}" if looks else "done"
    lines = ["language 1", 'package Drawn "1.0"', f"agents {{ {'  '.join(agents)} }}", "input request"]
    lines += ["artifact result(w: Task) { value: 0..2 }", "obligation type Task { static weight: rational = 1 }", "obligations {"]
    for place, work in enumerate(works):
        required = ", required" if place == len(works) - 1 else ""
        lines.append(f"  {work}: Task starts {'blocked' if work in blocked else 'ready'}{required}")
    lines.append("}")
    if needs:
        lines += ["relation needs(Task, Task) contributes support", "needs = " + ", ".join(f"{a} -> {b}" for a, b in needs)]
    lines += certificate("asked(w: Task)", "environment", "request", "node(w), status(w) in {ready, blocked}", "starts active")
    lines += certificate("able(m: Agent, w: Task)", "environment", "request", "assignment(w) is m")
    lines += certificate("done(w: Task)", "assignee(w)", "result(w)", "status(w) is closed", "valid when result(w).value == 1")
    for look in range(1, looks + 1):
        lines += certificate(f"look{look}(w: Task)", "monitor", f"{f'look{look - 1}' if look > 1 else 'done'}(w)", "")
    claims = "coverage(w)" if "not claimed" in flaws else "status(w) is accepted, coverage(w)"
    lines += certificate("ok(w: Task)", "monitor", f"{last}(w)", claims)
    if needs:
        lines += certificate("enabled(w: Task)", "monitor", "done(p) for p in Task where needs(p, w)", "status(w) is ready")
    lines += ["update assign(m: Agent, w: Task) operation assign by m {", "  when unresolved(w) and assignee(w) == none"]
    lines += ["  set assignee(w) := m", "  issue able(m, w)", "}"]
    lines += ["update complete(m: Agent, w: Task) operation complete by m {", "  when status(w) == ready and assignee(w) == m"]
    lines += [f"  emit result(w) {{ value = {0 if 'wrong value' in flaws else 1} }}", "  set status(w) := closed", "  issue done(w)"]
    for fault in random.sample(("wrong: emit result(w) { value = 2 }", "withheld: withhold done(w)"), random.choice((0, 1, 1, 2))):
        lines.append(f"  fault {fault}")
    lines.append("}")
    for look in range(1, looks + 1):
        before = f"look{look - 1}" if look > 1 else "done"
        lines.append(f"update study{look}(w: Task) operation certify by monitor {{")
        lines += [f"  when valid({before}(w)) and not active(look{look}(w))", f"  issue look{look}(w)", "}"]
    if needs:
        backed = "" if "unbacked ready" in flaws else " and exists p in Task where needs(p, w): valid(done(p))"
        lines += ["update enable(w: Task) operation enable by monitor {", f"  when status(w) == blocked{backed}"]
        lines += ["  set status(w) := ready", "  issue enabled(w)", "}"]
    guard = "" if "unguarded" in flaws else f" and valid({last}(w))"
    lines += ["update accept_it(w: Task) operation resolve by monitor {", f"  when status(w) == closed{guard}"]
    lines.append("  set status(w) := accepted")
    lines += [*([] if "unissued" in flaws else ["  issue ok(w)"]), "  consume result(w)", "}"]
    first, final = works[0], works[-1]
    lines.append(f"invariant resting: status({final}) == accepted implies status({first}) in {{closed, accepted}}")
    if "false invariant" in flaws:
        lines.append(f"invariant never: status({first}) != closed")
    lines.append("reachable finished: accept" + (f" and status({first}) == ready" if "unreachable" in flaws else ""))
    if symmetric:
        lines.append(f"symmetric agents {', '.join(agents)}")
    lines.append("check termination, settlement")
    return Drawn("\n".join(lines) + "\n", looks + 2, flaws, symmetric)


def certificate(head: str, issuer: str, premises: str, claims: str, more: str = "") -> list[str]:
    return [
        f"certificate {head} {{",
        f"  issuer {issuer}",
        f"  premises {premises}",
        *([f"  claims {claims}"] if claims else []),
        *([f"  {more}"] if more else []),
        "}",
    ]
