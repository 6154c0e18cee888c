"""A record as one self-contained page: events on the left, work on the right, evidence between, time downwards.

Nothing is fetched. A click (or Enter) on a root, an assertion, a certificate or an artifact marks its justification.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from icore_kernel.record.explain import Explanation, Fact
from icore_kernel.record.graphs import OUTCOMES, Graphs, action, node
from icore_kernel.record.history import START, Event, History
from icore_kernel.record.seal import MissingExtra, WrongSignature, check_signature
from icore_kernel.report.layout import number
from icore_kernel.version import VERSION


def page_of(history: History, graphs: Graphs, explanations: Mapping[str, Explanation], at: int | None = None) -> str:
    """`explanations`: of each piece of work that is settled, by its name. `at`: the entry that the history was read up to, if not all."""
    chips = _all_chips(history)
    rows = [_row(history, seq, history.events.get(seq), chips) for seq in (START, *history.events)]
    roots = {work: _justification(found) for work, found in explanations.items()}
    facts = {"needs": _needs(graphs, [edge for why in roots.values() for edge in why["edges"]]), "roots": roots}
    counted = {"event": history.events, "certificate": history.issues, "assertion": history.establishments()}
    counts = [number(len(of), what) for what, of in counted.items()]
    return _PAGE.format(
        title=escape(history.package),
        outcome=escape(_ended(history, at)),
        counts=escape(" · ".join(counts)),
        roots="".join(_root(history, work) for work in explanations) or "<p>No work is settled.</p>",
        work=_work(history),
        rows="".join(rows),
        script=f"const facts = {_literal(facts)};{_SCRIPT}",
        version=escape(VERSION),
    )


def _ended(history: History, at: int | None) -> str:
    """How the run ended, and whether the record is sealed and by whom; of an earlier entry, only which."""
    if at is not None and history.seal is None:
        return f"after entry {at:,}"
    ended = f"ends with {history.outcome}" if history.outcome else "has not ended"
    if history.seal is None:
        return f"{ended} · not sealed"
    try:
        key = check_signature(history.seal)
    except WrongSignature:
        return f"{ended} · sealed with a wrong signature"
    except MissingExtra:
        return f"{ended} · sealed, and signed by {history.seal.body['key']}, which was not checked"
    return f"{ended} · sealed" if key is None else f"{ended} · signed by {key}"


def _literal(value: object) -> str:
    """As a script literal that cannot end its element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")


def _justification(found: Explanation) -> dict[str, Any]:
    """The nodes of an explanation and the edges between them; what a captured premise rests on too."""
    names = {id: _name(fact) for id, fact in found.facts.items()}
    edges = sorted({(names[need], names[fact.id]) for fact in found.facts.values() for need in fact.needs})
    return {"nodes": sorted(set(names.values())), "edges": edges, "goals": [names[goal] for goal in found.goals]}


def _name(fact: Fact) -> str:
    return action(fact.entry) if fact.kind == "event" else node(fact.name, fact.entry)


def _needs(graphs: Graphs, explained: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """What each thing rests on: evidence and the event that made it, and what the conditions of evidence that is explained read."""
    found: dict[str, set[str]] = {}
    for need, of in explained:
        found.setdefault(of, set()).add(need)
    for graph, kinds in ((graphs.audit, {"establishes", "issues", "claims", "premise"}), (graphs.cooperation, {"production"})):
        for tail, head, said in graph.edges(data=True):
            if said["type"] in kinds:
                found.setdefault(head, set()).add(tail)
    return {name: sorted(needed) for name, needed in found.items()}


def _root(history: History, work: str) -> str:
    status = history.value(f"status({work})")
    return f'<button class="root {escape(status)}" data-root="{escape(work)}">{escape(work)} <b>{escape(status)}</b></button> '


def _work(history: History) -> str:
    """The obligations as they are at the end."""
    rows = []
    for name, work in history.run.works.items():
        if history.run.on(work["present"]):
            cells = (name, work["type"], history.value(f"status({name})"), history.value(f"assignment({name})"), work["weight"])
            rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    return "".join(rows)


# ---- one entry ---------------------------------------------------------------------------------------------------------------


def _all_chips(history: History) -> dict[tuple[str, int], list[str]]:
    """(column, number of the entry) -> what stands there."""
    found: dict[tuple[str, int], list[str]] = {}

    def put(column: str, seq: int, chip: str) -> None:
        found.setdefault((column, seq), []).append(chip)

    for kind, made in (("input", history.observations), ("artifact", history.emissions)):
        for each in made:
            put("events", each.seq, _chip(kind, each.name, each.seq, _fields(each.fields)))
    for issue in history.issues:
        issuer = history.issuer(issue.certificate, issue.seq)
        put("evidence", issue.seq, _chip("certificate", issue.certificate, issue.seq, f"evidence of {issuer}"))
    for name, _, ended, how in history.retracted:
        put("evidence", ended, f'<span class="gone">{escape(name)} {escape(how)}</span>')
    for name, seq in history.establishments():
        put("work", seq, _chip("assertion", name, seq, _value(history, name, history.events.get(seq))))
    return found


def _row(history: History, seq: int, event: Event | None, chips: Mapping[tuple[str, int], list[str]]) -> str:
    kind = "start" if event is None else OUTCOMES[event.kind]
    events, evidence, work = ("".join(f"<div>{chip}</div>" for chip in chips.get((c, seq), ())) for c in ("events", "evidence", "work"))
    head = "the beginning" if event is None else _said(event)
    return (
        f'<section class="row {kind}" id="entry-{seq}" data-entry="{seq}" tabindex="0"><div class="time">{seq}</div>'
        f'<div class="events"><details data-id="{escape(action(seq))}"><summary>{head}</summary>{_details(history, event)}</details>'
        f'{events}</div><div class="evidence">{evidence}</div><div class="work">{work}</div></section>\n'
    )


def _chip(kind: str, name: str, seq: int, more: str) -> str:
    said = f" <i>{escape(more)}</i>" if more else ""
    return f'<button class="chip {kind}" data-id="{escape(node(name, seq))}">{escape(name)}{said}</button>'


def _fields(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.rpartition('.')[2]} {_show(value)}" for name, value in fields.items())


def _show(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _changes(event: Event) -> dict[str, list[Any]]:
    body = event.body
    if not event.committed:
        return {}
    return {**body["G"]["changed"], **body["Q"]["changed"], **body["Pi"]["changed"], **body["other"]}


def _value(history: History, assertion: str, event: Event | None) -> str:
    """What the assertion says from this event on, as far as the event changed it; at the start, what it says there."""
    said = history.run.assertions[assertion]
    if said["kind"] not in {"status", "assignment", "signature", "removal"}:
        return ""
    if event is not None:
        changes = _changes(event)
        return ", ".join(_show(changes[name][1]) for name in said["carriers"] if name in changes)
    opening, work = history.opening.body["state"], history.run.works.get(said["about"], {})
    field, then = ("status", "status_then") if said["kind"] == "status" else ("assignee", "assignee_then")
    return _show(opening.get(work.get(field), work.get(then, ""))) if said["kind"] in {"status", "assignment"} else ""


def _said(event: Event) -> str:
    match event.kind:
        case "commit":
            how = f"{event.operation or 'update'} by {event.actor}" + (f", for {event.agent}" if event.agent != event.actor else "")
            return f"<b>{escape(event.update)}</b> <i>{escape(how)}{', a recovery' if event.phase == 'recovery' else ''}</i>"
        case "diagnosis":
            return f"<b>diagnosis: {escape(event.body['kind'])}</b> <i>{escape(', '.join(event.body['triggers']))}</i>"
        case "wait":
            return f"<i>{escape(event.agent)} waits</i>"
        case _:
            what = event.update or "nothing usable"
            return f"<b>{escape(what)}</b> <i>refused{', as a recovery' if event.kind == 'feedback' else ''}: {escape(event.agent)}</i>"


def _details(history: History, event: Event | None) -> str:
    if event is None:
        return f"<p>{escape(history.opening.body.get('request') or 'No request is recorded.')}</p>"
    body = event.body
    items: list[str] = []
    for violation in body.get("violations", ()):
        at = f" at {violation['instance']}" if violation["instance"] else ""
        items.append(f"<b>{escape(violation['clause'])}</b>{escape(at)}: {escape(violation['text'])}")
    if event.kind == "diagnosis":
        scores = ", ".join(f"{name} {body[name]}" for name in ("soundness", "stability", "quality"))
        items += [escape(scores), escape(f"matched: {', '.join(body['matched'])}"), escape(f"asked: {body['responsible']}")]
        items += [escape(f"{c['component']} is {c['status']}: {'; '.join(c['missing']) or 'assigned to ' + c['assignee']}")
                  for c in body["components"]]  # fmt: skip
    changes = {name: pair for name, pair in _changes(event).items() if name not in body.get("other", {})}
    items += [escape(f"{name}: {_show(before)} -> {_show(after)}") for name, (before, after) in changes.items()]
    outside = body.get("outside")
    if outside:
        items.append(f"<code>{escape(json.dumps(outside, ensure_ascii=False)[:2000])}</code>")
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>" if items else "<p>Nothing changed.</p>"


_SCRIPT = """
const main = document.querySelector("main"), lines = document.getElementById("lines"), said = document.getElementById("said");
const things = new Map();
document.querySelectorAll("[data-id]").forEach(e => things.set(e.dataset.id, e));
function justified(id) {
  const nodes = new Set([id]), edges = [], open = [id];
  while (open.length) {
    const at = open.pop();
    for (const need of facts.needs[at] || []) {
      edges.push([need, at]);
      if (!nodes.has(need)) { nodes.add(need); open.push(need); }
    }
  }
  return {nodes: [...nodes], edges};
}
function clear() {
  document.querySelectorAll(".why, .goal").forEach(e => e.classList.remove("why", "goal"));
  main.classList.remove("marked");
  lines.replaceChildren();
  said.textContent = "Choose a root, or anything else, to see what it rests on.";
  document.querySelectorAll("[aria-pressed]").forEach(e => e.removeAttribute("aria-pressed"));
}
function mark(why, goals, name, pressed) {
  clear();
  main.classList.add("marked");
  for (const id of why.nodes) {
    const thing = things.get(id);
    if (thing) { thing.classList.add("why"); thing.closest(".row").classList.add("why"); }
  }
  for (const id of goals) { const thing = things.get(id); if (thing) thing.classList.add("goal"); }
  pressed.setAttribute("aria-pressed", "true");
  said.textContent = name + " rests on " + (why.nodes.length - goals.length) + " things. Escape unmarks them.";
  draw(why.edges);
}
function draw(edges) {
  const from = main.getBoundingClientRect();
  lines.setAttribute("width", main.scrollWidth);
  lines.setAttribute("height", main.scrollHeight);
  for (const [one, other] of edges) {
    const a = things.get(one), b = things.get(other);
    if (!a || !b) continue;
    const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
    const x1 = p.right - from.left, y1 = p.top + p.height / 2 - from.top, x2 = q.left - from.left, y2 = q.top + q.height / 2 - from.top;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M${x1},${y1} C${x1 + 30},${y1} ${x2 - 30},${y2} ${x2},${y2}`);
    lines.append(path);
  }
}
document.querySelectorAll("[data-root]").forEach(button => button.onclick = () => {
  const why = facts.roots[button.dataset.root];
  mark(why, why.goals, button.dataset.root, button);
});
document.querySelectorAll(".chip").forEach(chip => chip.onclick = () =>
  mark(justified(chip.dataset.id), [chip.dataset.id], chip.firstChild.textContent, chip));
document.onkeydown = e => {
  if (e.key === "Escape") clear();
  if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
  const rows = [...document.querySelectorAll(".row")], here = rows.indexOf(document.activeElement.closest(".row"));
  const next = rows[e.key === "ArrowDown" ? Math.min(here + 1, rows.length - 1) : Math.max(here - 1, 0)];
  if (next) { next.focus(); e.preventDefault(); }
};
clear();
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1400px; padding: 1rem; color: #222; background: #fff; }}
header {{ position: sticky; top: 0; background: #fff; padding: .5rem 0; border-bottom: 1px solid #ddd; z-index: 2; }}
h1 {{ font-size: 1.3rem; margin: 0; }}
p {{ margin: .3rem 0; }}
table {{ border-collapse: collapse; margin: .5rem 0; }}
td, th {{ text-align: left; padding: .1rem .8rem .1rem 0; border-bottom: 1px solid #eee; }}
main {{ position: relative; }}
#lines {{ position: absolute; left: 0; top: 0; pointer-events: none; }}
#lines path {{ fill: none; stroke: #1a5fb4; stroke-width: 1.2; opacity: .55; }}
.row, .heads {{ display: grid; grid-template-columns: 3.5rem 5fr 4fr 4fr; gap: .6rem; padding: .35rem .3rem; }}
.row {{ border-bottom: 1px solid #f0f0f0; }}
.heads {{ color: #666; font-weight: 600; }}
.row:focus {{ outline: 2px solid #1a5fb4; outline-offset: -2px; }}
.time {{ color: #888; font-variant-numeric: tabular-nums; text-align: right; }}
.row.refused {{ background: #fdf2f2; }} .row.refused summary b {{ color: #a51d2d; text-decoration: line-through; }}
.row.diagnosed {{ background: #fdf9ec; }} .row.waited {{ color: #777; }}
summary {{ cursor: pointer; }} summary i, .chip i {{ color: #666; font-style: normal; font-size: .9em; }}
ul {{ margin: .3rem 0; padding-left: 1.2rem; }} li, code {{ font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }}
button {{ font: inherit; cursor: pointer; }}
.chip {{ border: 1px solid #bbb; border-radius: 4px; background: #fff; padding: .05rem .45rem; margin: .1rem 0; text-align: left; }}
.chip.certificate {{ border-style: dashed; }}
.chip.artifact, .chip.input {{ border-radius: 10px; }} .chip.input {{ border-width: 2px; }}
.gone {{ color: #a51d2d; text-decoration: line-through; }}
.root {{ border: 2px solid #888; border-radius: 6px; background: #fff; padding: .2rem .7rem; }}
.root.accepted {{ border-color: #2a7a2a; }} .root.rejected, .root.invalid {{ border-color: #a51d2d; }}
.root[aria-pressed] {{ background: #1a5fb4; color: #fff; }}
.marked .row:not(.why) {{ opacity: .35; }}
.why > summary, .chip.why {{ background: #e3eefb; border-color: #1a5fb4; }}
.chip.goal {{ background: #1a5fb4; color: #fff; }} .chip.goal i {{ color: #dde; }}
@media (max-width: 800px) {{
  .row, .heads {{ grid-template-columns: 2.5rem 1fr; }} .evidence, .work {{ grid-column: 2; }} #lines {{ display: none; }}
}}
@media (prefers-reduced-motion: no-preference) {{ .row {{ transition: opacity .15s; }} }}
</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{outcome} · {counts}</p>
<p>{roots}</p>
<p id="said" role="status"></p>
</header>
<details><summary>The work at the end</summary>
<table><thead><tr><th>obligation</th><th>type</th><th>status</th><th>assignee</th><th>weight</th></tr></thead><tbody>{work}</tbody></table>
</details>
<main>
<svg id="lines" aria-hidden="true"></svg>
<div class="heads"><div>entry</div><div>events</div><div>evidence</div><div>work</div></div>
{rows}</main>
<footer><p>Arrow keys go from entry to entry, Tab to what is in it, Enter opens or marks, Escape unmarks. icore {version}</p></footer>
<script>{script}</script>
</body>
</html>
"""
