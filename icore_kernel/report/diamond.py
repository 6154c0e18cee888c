"""The decisive fork as one self-contained page: the diamond drawn, both sides to step through. No script or font is fetched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from icore_kernel.report.fork import said
from icore_kernel.verdict import Fork, Report, Result, Step

_TOP, _GAP = 40, 64
"""Where the first node is drawn, and the distance to the next, in pixels."""
_SIDE = 150
"""How far to each side of the middle the two sides are drawn."""
_LETTER = 7.3
"""Width of a letter of the labels."""


def page_of(report: Report, result: Result) -> str:
    """The page of a result that has a fork. ValueError for one that has none."""
    fork = result.fork
    if fork is None:
        raise ValueError(f"{result.name} has no fork to draw")
    stem = () if result.run is None else result.run.steps
    sides = (
        (fork.first, *fork.continuations[0]),
        (*fork.way, fork.second, *fork.continuations[1]),
    )
    kind = "a choice: alternatives for the same work" if fork.choice else "a matter of order"
    title = f"{report.package} {report.version}: {result.name}"
    initial = () if result.run is None else result.run.initial
    script = "const steps = " + _script(initial, stem, sides) + ";" + _SCRIPT
    return _PAGE.format(
        title=escape(title),
        detail=escape(result.detail),
        kind=escape(kind),
        touch=escape(", ".join(fork.conflict) or "nothing that a report shows"),
        drawing=_drawing(stem, sides),
        settlements=_settlements(fork),
        script=script,
    )


def _script(initial: Sequence[tuple[str, str]], stem: Sequence[Step], sides: Sequence[Sequence[Step]]) -> str:
    """The steps as a script literal that cannot end its element."""
    began = [f"{name} = {value}" for name, value in initial]
    rows = {"initial": began, "stem": [_row(s) for s in stem], "one": [_row(s) for s in sides[0]], "other": [_row(s) for s in sides[1]]}
    return json.dumps(rows, ensure_ascii=True).replace("<", "\\u003c")


def _row(step: Step) -> dict[str, object]:
    return {"said": said(step), "changes": [f"{c.field}: {c.before} -> {c.after}" for c in step.changes]}


def _drawing(stem: Sequence[Step], sides: Sequence[Sequence[Step]]) -> str:
    """Nodes are states, lines are steps; a node's id says its place: stem-0, one-1, other-2."""
    parts: list[str] = []
    longest = max((len(said(step)) for step in (*stem, *sides[0], *sides[1])), default=0)
    middle = _SIDE + int(longest * _LETTER) + 24
    fork = _TOP + _GAP * len(stem)
    for place in range(len(stem)):
        y = _TOP + _GAP * place
        parts.append(_line(middle, y, middle, y + _GAP, said(stem[place]), "middle", f"stem-{place + 1}"))
    for name, steps, way, anchor in (("one", sides[0], -1, "end"), ("other", sides[1], 1, "start")):
        x, y = middle, fork
        for place, step in enumerate(steps):
            after = middle + way * _SIDE
            parts.append(_line(x, y, after, y + _GAP, said(step), anchor, f"{name}-{place + 1}"))
            x, y = after, y + _GAP
    for place in range(len(stem) + 1):
        parts.append(_node(middle, _TOP + _GAP * place, f"stem-{place}"))
    for name, steps, way in (("one", sides[0], -1), ("other", sides[1], 1)):
        for place in range(len(steps)):
            settled = place == len(steps) - 1
            parts.append(_node(middle + way * _SIDE, fork + _GAP * (place + 1), f"{name}-{place + 1}", settled))
    height = fork + _GAP * max(map(len, sides)) + _TOP
    size = f'viewBox="0 0 {2 * middle} {height}" width="{2 * middle}" height="{height}"'
    return f'<svg {size} role="img" aria-label="the diamond">{"".join(parts)}</svg>'


def _line(x: int, y: int, to_x: int, to_y: int, text: str, anchor: str, place: str) -> str:
    at_x = to_x + (-12 if anchor == "end" else 12)
    anchored = "start" if anchor == "middle" else anchor
    return (
        f'<line class="step" data-at="{place}" x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}"/>'
        f'<text class="step" data-at="{place}" x="{at_x}" y="{(y + to_y) // 2 + 4}" text-anchor="{anchored}">{escape(text)}</text>'
    )


def _node(x: int, y: int, place: str, settled: bool = False) -> str:
    return f'<circle class="{"settled" if settled else "state"}" data-at="{place}" cx="{x}" cy="{y}" r="{9 if settled else 6}"/>'


def _settlements(fork: Fork) -> str:
    if not fork.settlements:
        return "<p>The two settlements differ in nothing that a report shows.</p>"
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in fork.settlements)
    return f"<table><thead><tr><th>settles in</th><th>one</th><th>other</th></tr></thead><tbody>{rows}</tbody></table>"


_SCRIPT = """
const order = {one: steps.stem.concat(steps.one), other: steps.stem.concat(steps.other)};
let side = "one", place = 0;
function id(number) { return number <= steps.stem.length ? "stem-" + number : side + "-" + (number - steps.stem.length); }
function show() {
  const passed = new Set();
  for (let i = 0; i <= place; i++) passed.add(id(i));
  document.querySelectorAll("[data-at]").forEach(e => {
    e.classList.toggle("passed", passed.has(e.dataset.at));
    e.classList.toggle("here", e.dataset.at === id(place));
  });
  const step = place ? order[side][place - 1] : null;
  document.getElementById("where").textContent = "side " + side + ", step " + place + " of " + order[side].length;
  document.getElementById("said").textContent = step ? step.said : "the initial state";
  const list = document.getElementById("changes");
  list.replaceChildren(...(step ? step.changes : steps.initial).map(text => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
}
function go(by) { place = Math.max(0, Math.min(order[side].length, place + by)); show(); }
function turn(to) { side = to; place = Math.min(place, order[side].length); show(); }
document.getElementById("back").onclick = () => go(-1);
document.getElementById("on").onclick = () => go(1);
document.getElementById("one").onclick = () => turn("one");
document.getElementById("other").onclick = () => turn("other");
document.onkeydown = e => {
  if (e.key === "ArrowDown") { go(1); e.preventDefault(); }
  if (e.key === "ArrowUp") { go(-1); e.preventDefault(); }
  if (e.key === "ArrowLeft") turn("one");
  if (e.key === "ArrowRight") turn("other");
};
show();
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1200px; padding: 0 1rem; color: #222; background: #fff; }}
main {{ display: flex; gap: 2rem; flex-wrap: wrap; align-items: flex-start; }}
svg {{ max-width: 100%; height: auto; }}
svg text {{ font: 12px ui-monospace, monospace; fill: #777; }}
svg line {{ stroke: #bbb; stroke-width: 2; }}
svg circle {{ fill: #fff; stroke: #999; stroke-width: 2; }}
svg .passed {{ stroke: #1a5fb4; }}
svg text.passed {{ fill: #1a5fb4; stroke: none; }}
svg circle.here {{ fill: #1a5fb4; }}
section {{ position: sticky; top: 1rem; flex: 1 1 22rem; }}
button {{ font: inherit; padding: .2rem .8rem; margin-right: .3rem; }}
table {{ border-collapse: collapse; margin-top: 1rem; }}
td, th {{ text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; }}
code {{ font: 14px ui-monospace, monospace; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{detail}</p>
<p>The fork is {kind}. Both sides touch: <code>{touch}</code></p>
<main>
{drawing}
<section>
<p><button id="one">one</button><button id="other">other</button> <button id="back">back</button><button id="on">on</button></p>
<p id="where"></p>
<p><code id="said"></code></p>
<ul id="changes"></ul>
{settlements}
<p>Arrow keys: down and up step, left and right change the side.</p>
</section>
</main>
<script>{script}</script>
</body>
</html>
"""
