"""G, Q and Pi of a record as networkx multidigraphs (definitions 2, 3 and 5), and what they are exported to.

Nodes are named by what they are and the number of the event that made them: `entry 5` is an action, `report(unit)#5` an artifact
that it emitted, `done(unit)#5` a certificate that it issued, `status(unit)#5` an assertion that it established.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import networkx as nx

from icore_kernel.record.history import START, Event, History, Issue
from icore_kernel.record.prov import Document, identifier

Graph: TypeAlias = nx.MultiDiGraph

PRODUCTION, CONSUMPTION, ROUTING, VERIFICATION = "production", "consumption", "routing", "verification"
"""The types of the edges of G."""
OUTCOMES = {"commit": "committed", "refusal": "refused", "feedback": "refused", "wait": "waited", "diagnosis": "diagnosed"}


@dataclass(frozen=True, slots=True)
class Graphs:
    """The state X = (G, Q, Pi) with its whole history.

    `pi`: the work that an action or artifact of G affects; `omega`: the operation of each action for each piece of that work;
    `kappa`: the certificates, by the node each is in `audit`.
    """

    cooperation: Graph
    obligations: Graph
    audit: Graph
    pi: Mapping[str, frozenset[str]]
    omega: Mapping[tuple[str, str], str]
    kappa: Mapping[str, Mapping[str, Any]]


def node(name: str, seq: int) -> str:
    return f"{name}#{seq}"


def action(seq: int) -> str:
    return f"entry {seq}"


def graphs(history: History) -> Graphs:
    """What the history comes to. Everything is rebuilt from the record."""
    pi = _pi(history)
    omega = {
        (action(seq), work): event.operation
        for seq, event in history.events.items()
        for work in sorted(pi.get(action(seq), ()))
        if event.operation
    }
    ended = {(name, made): how for name, made, _, how in history.retracted}
    kappa = {node(issue.certificate, issue.seq): _certificate(history, issue, ended) for issue in history.issues}
    return Graphs(_cooperation(history), _obligations(history), _audit(history, omega), pi, omega, kappa)


# ---- G: definition 2 ---------------------------------------------------------------------------------------------------------


def _cooperation(history: History) -> Graph:
    """tau: an event happens at twice its number, what it makes is there just after."""
    g: Graph = nx.MultiDiGraph(name="G")
    for event in history.events.values():
        g.add_node(
            action(event.seq), type="action", label=event.update or event.kind, tau=2 * event.seq, outcome=OUTCOMES[event.kind],
            agent=event.agent, actor=event.actor, operation=event.operation, round=event.round, recipient=event.body.get("responsible", ""),
        )  # fmt: skip
    for kind, made in (("artifact", history.emissions), ("input", history.observations)):
        for each in made:
            own = node(each.name, each.seq)
            g.add_node(own, type=kind, label=each.name, tau=2 * each.seq + 1, fields=json.dumps(dict(each.fields), ensure_ascii=False))
            if each.seq != START:
                g.add_edge(action(each.seq), own, key=PRODUCTION, type=PRODUCTION)
    for name, made_at, ended, _ in history.spent:
        if made_at < ended:  # what an event emits and spends at once it does not consume from another
            g.add_edge(node(name, made_at), action(ended), key=CONSUMPTION, type=CONSUMPTION)
    for issue in history.issues:
        for kind, name, made_at in issue.premises:
            if made_at < issue.seq and kind in {"artifact", "input"}:
                g.add_edge(node(name, made_at), action(issue.seq), key=f"{VERIFICATION} {issue.certificate}", type=VERIFICATION)
            elif START < made_at < issue.seq and kind == "certificate":
                key = f"{VERIFICATION} {issue.certificate} by {name}"
                g.add_edge(action(made_at), action(issue.seq), key=key, type=VERIFICATION, certificate=name)
    for earlier, later in _routes(history):
        g.add_edge(action(earlier), action(later), key=ROUTING, type=ROUTING)
    return g


def _routes(history: History) -> Iterator[tuple[int, int]]:
    """A refusal goes to the diagnosis whose flag it raised, a diagnosis to what the responsible agent answered."""
    diagnosis: Event | None = None
    for event in history.events.values():
        if event.kind == "diagnosis":
            diagnosis = event
            flag = event.body["flag"]
            if flag is not None and flag < event.seq:
                yield flag, event.seq
        elif diagnosis is not None and event.round == diagnosis.round and (event.kind == "feedback" or event.phase == "recovery"):
            yield diagnosis.seq, event.seq


# ---- Q: definition 3 ---------------------------------------------------------------------------------------------------------


def _obligations(history: History) -> Graph:
    """The present obligations and relations: theta, lambda, stat, sigma, alpha on nodes, rho on edges."""
    run = history.run
    q: Graph = nx.MultiDiGraph(name="Q")
    for name, work in run.works.items():
        if run.on(work["present"]):
            signature = next(iter(a["carriers"] for a in run.assertions.values() if a["kind"] == "signature" and a["about"] == name), ())
            q.add_node(
                name, type=work["type"], label=name, status=history.value(f"status({name})"), assignee=history.value(f"assignment({name})"),
                signature=json.dumps({field: run.state[field] for field in signature}, ensure_ascii=False), required=work["required"],
                weight=work["weight"],
            )  # fmt: skip
    for relation in history.declared["relations"]:
        changing = {(a, b): field for a, b, field in relation["changing"]}
        pairs = {(a, b) for a, b in relation["facts"] if (a, b) not in changing}
        pairs |= {pair for pair, field in changing.items() if run.state[field]}
        for left, right in sorted(pairs):
            if left in q and right in q:
                q.add_edge(left, right, key=relation["name"], type=relation["name"], role=", ".join(relation["contributes"]))
    return q


# ---- Pi: definition 5 --------------------------------------------------------------------------------------------------------


def _pi(history: History) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}

    def affects(of: str, assertion: str) -> None:
        about = history.run.assertions[assertion]["about"]
        if about:
            found.setdefault(of, set()).add(about)

    for assertion, seq in history.establishments():
        if seq != START:
            affects(action(seq), assertion)
    for issue in history.issues:
        for claim in history.run.certificates[issue.certificate]["claims"]:
            if issue.seq != START:
                affects(action(issue.seq), claim["assertion"])
            for kind, name, made_at in issue.premises:
                if kind in {"artifact", "input"}:
                    affects(node(name, made_at), claim["assertion"])
    for name, _, ended, _ in history.retracted:
        for claim in history.run.certificates[name]["claims"]:
            affects(action(ended), claim["assertion"])
    return {of: frozenset(works) for of, works in found.items()}


def _certificate(history: History, issue: Issue, ended: Mapping[tuple[str, int], str]) -> dict[str, Any]:
    """Identifier, premises inside and outside, claim, issuer; `standing` says what became of it."""
    here = history.run.on(history.run.certificates[issue.certificate]["active"])
    again = history.issued[issue.certificate] != issue.seq
    standing = "issued again" if again else "active" if here else "pending"
    return {
        "certificate": issue.certificate,
        "issuer": history.run.certificates[issue.certificate]["issuer"],
        "claims": tuple(a for a, _ in issue.claims),
        "internal": tuple(name for kind, name, _ in issue.premises if kind != "input"),
        "external": tuple(name for kind, name, _ in issue.premises if kind == "input"),
        "standing": ended.get((issue.certificate, issue.seq), standing),
    }


def _audit(history: History, omega: Mapping[tuple[str, str], str]) -> Graph:
    """Events to assertions by operations, certificates between: premise -> certificate -> assertion <- event."""
    p: Graph = nx.MultiDiGraph(name="Pi")
    for seq, event in history.events.items():
        if event.committed:
            p.add_node(action(seq), type="action", label=event.update, seq=seq)
    for kind, made in (("artifact", history.emissions), ("input", history.observations)):
        for each in made:
            p.add_node(node(each.name, each.seq), type=kind, label=each.name, seq=each.seq)
    for assertion, seq in history.establishments():
        own = node(assertion, seq)
        about = history.run.assertions[assertion]["about"]
        p.add_node(own, type="assertion", label=assertion, seq=seq, about=about)
        if seq != START:
            p.add_edge(action(seq), own, key="establishes", type="establishes", operation=omega.get((action(seq), about), ""))
    for issue in history.issues:
        own = node(issue.certificate, issue.seq)
        p.add_node(own, type="certificate", label=issue.certificate, seq=issue.seq)
        if issue.seq != START:
            p.add_edge(action(issue.seq), own, key="issues", type="issues")
        for claimed, made_at in issue.claims:
            if node(claimed, made_at) in p:
                p.add_edge(own, node(claimed, made_at), key="claims", type="claims")
    for issue in history.issues:
        own = node(issue.certificate, issue.seq)
        for kind, name, made_at in issue.premises:
            if node(name, made_at) in p:
                captured = (kind, name) in issue.captured
                p.add_edge(node(name, made_at), own, key="premise", type="premise", captured=captured)
    for name, made_at, ended, how in history.retracted:
        p.add_edge(action(ended), node(name, made_at), key=how, type=how)
    for assertion, certificate in history.run.evidence()[2].items():  # also what is claimed since, and was not at the issue
        pair = node(certificate, history.issued[certificate]), node(assertion, history.established.get(assertion, START))
        if pair[1] in p and not p.has_edge(*pair, key="claims"):
            p.add_edge(*pair, key="claims", type="claims")
    return p


# ---- export ------------------------------------------------------------------------------------------------------------------


def union(found: Graphs) -> Graph:
    """The three in one graph: `part` of a node says whose it is (what G and Pi share is of G)."""
    whole: Graph = nx.MultiDiGraph(name="X")
    for part, graph in (("Pi", found.audit), ("Q", found.obligations), ("G", found.cooperation)):
        for name, said in graph.nodes(data=True):
            whole.add_node(name, **said, part=part)
        for tail, head, key, said in graph.edges(keys=True, data=True):
            whole.add_edge(tail, head, key=f"{part} {key}", **said, part=part)
    for of, works in found.pi.items():
        for work in works:
            if work in whole and of in whole:
                whole.add_edge(of, work, key="pi", type="affects", part="Pi", operation=found.omega.get((of, work), ""))
    return whole


def dot(found: Graphs) -> str:
    """The three as clusters of one picture, and pi between them."""
    whole = union(found)
    rows = ["digraph X {", "  rankdir=LR;", '  node [fontname="monospace"];']
    shapes = {"action": "cds", "artifact": "ellipse", "input": "house", "certificate": "note", "assertion": "box"}
    for part in ("G", "Pi", "Q"):
        rows += [f'  subgraph "cluster_{part}" {{', f'    label="{part}";']
        for name, said in whole.nodes(data=True):
            if said["part"] == part:
                shape = shapes.get(said["type"], "box3d")
                more = f"\\n{said['status']}, {said['assignee']}" if part == "Q" else ""
                rows.append(f'    {_quoted(name)} [shape={shape}, label="{_escaped(said["label"])}{more}"];')
        rows.append("  }")
    for tail, head, said in whole.edges(data=True):
        rows.append(f"  {_quoted(tail)} -> {_quoted(head)} [label={_quoted(said['type'])}];")
    return "\n".join([*rows, "}"]) + "\n"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def graphml(found: Graphs) -> str:
    """The union of the three, in GraphML."""
    return "\n".join(nx.generate_graphml(union(found))) + "\n"


def prov(history: History, found: Graphs) -> dict[str, object]:
    """W3C PROV-JSON: artifacts, inputs, certificates and assertions are entities, events activities, who did them agents."""
    document = Document()
    names: dict[str, str] = {}
    for name, said in union(found).nodes(data=True):
        if said["part"] == "Q":
            continue
        names[name] = own = identifier(said["type"], name)
        if said["type"] != "action":
            document.entity(own, said["type"].capitalize(), said["label"], fields=said.get("fields"), about=said.get("about"))
            continue
        event = history.events[int(name.removeprefix("entry "))]
        document.activity(
            own, "Event", said["label"], entry=event.seq, round=event.round, operation=event.operation, outcome=OUTCOMES[event.kind]
        )
        document.associated(own, document.agent(event.actor), "actor")
        if event.agent != event.actor:
            document.associated(own, document.agent(event.agent), "proposer")
    for tail, head, said in found.cooperation.edges(data=True):
        one, other = names[tail], names[head]
        if said["type"] == PRODUCTION:
            document.generated(other, one)
        elif tail.startswith("entry "):
            document.informed(other, one)
        else:
            document.used(other, one, said["type"])
    for tail, head, said in found.audit.edges(data=True):
        if said["type"] in {"establishes", "issues"}:
            document.generated(names[head], names[tail])
        elif said["type"] in {"claims", "premise"}:
            document.derived(names[head], names[tail])
        else:
            document.used(names[tail], names[head], said["type"])
    return document.json()
