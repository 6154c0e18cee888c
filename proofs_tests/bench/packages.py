"""Packages of any size, for measuring: layered work whose evidence rests on the layer before."""

from __future__ import annotations


def layered(obligations: int = 50, agents: int = 5, width: int = 5) -> str:
    """A package with `obligations` pieces of work in layers of `width`, each needing up to two of the layer before.

    Four certificate slots a piece of work besides one capability slot an agent: 50 pieces and 5 agents give 450.
    With `obligations` 50 and `agents` 5 there are 250 bindings of each update of an agent.
    """
    people = " ".join(f"a{i} {{ skills = {{k{i % 3}, k{(i + 1) % 3}}} }}" for i in range(agents))
    work = "\n".join(
        f"  w{i}: Step {{ skill = k{i % 3} }} starts {'ready' if i < width else 'blocked'}{', required' if i == obligations - 1 else ''}"
        for i in range(obligations)
    )
    edges = ", ".join(
        f"w{i} -> w{j}"
        for j in range(width, obligations)
        for i in sorted({j - width, (j - width) // width * width + (j + 1) % width})
        if i < j
    )
    serves = ", ".join(f"w{i}" for i in range(obligations - 1))
    return f"""package Layered "1"
enum Skill {{ k0, k1, k2 }}
agents {{ attribute skills: set of Skill {people} }}
input request
artifact report(w: Step) {{ passed: bool }}
obligation type Step {{ static skill: Skill }}
obligations {{
{work}
}}
relation needs(Step, Step) contributes support
needs = {edges}
relation serves(Step, Step) contributes coverage
serves = w{obligations - 1} -> {{{serves}}}
feasible(m: Agent, w: Step) = w.skill in m.skills
certificate asked(w: Step) {{ issuer environment premises request claims node(w), status(w) in {{ready, blocked}} starts active }}
certificate able(m: Agent, w: Step) {{ issuer environment premises request claims assignment(w) is m valid when w.skill in m.skills }}
certificate done(w: Step) {{
  issuer assignee(w)
  premises report(w), done(p) for p in Step where needs(p, w)
  claims status(w) is closed
  valid when report(w).passed
}}
certificate enabled(w: Step) {{ issuer monitor premises done(p) for p in Step where needs(p, w) claims status(w) is ready }}
certificate ok(w: Step) {{ issuer monitor premises done(w) claims status(w) is accepted, coverage(w) }}
update take(m: Agent, w: Step) operation assign by m {{
  when unresolved(w) and assignee(w) == none
  requires feasible(m, w)
  set assignee(w) := m
  issue able(m, w)
}}
update finish(m: Agent, w: Step) operation complete by m {{
  when status(w) == ready and assignee(w) == m
  emit report(w) {{ passed = true }}
  set status(w) := closed
  issue done(w)
  fault careless: withhold done(w)
}}
update enable(w: Step) operation enable by monitor {{
  when status(w) == blocked and forall p in Step where needs(p, w): valid(done(p))
  set status(w) := ready
  issue enabled(w)
}}
update sign(w: Step) operation accept by monitor {{
  when status(w) == closed and valid(done(w))
  set status(w) := accepted
  issue ok(w)
  consume report(w)
}}
"""
