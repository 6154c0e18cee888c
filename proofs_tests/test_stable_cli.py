"""`icore stable`: the matrix as text and JSON, the page that steps through both sides, wrong input."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import CHECKOUT, Icore
from stable_lab import CASES

from icore_kernel.verdict import Assurance, Report, Result, Verdict


def test_stable_prints_the_matrix(icore: Icore) -> None:
    done = icore("stable", str(CASES / "counters.icore"))
    assert done.returncode == 0
    assert re.search(r"up / along +9 +0 +0 +0 +independent everywhere", done.stdout)
    done = icore("stable", str(CASES / "race.icore"))
    assert done.returncode == 1
    assert re.search(r"write_one / write_two +0 +0 +1 +0 +not joinable\n", done.stdout)
    assert "conflict: write_one, write_two: wherever both can happen" in done.stdout
    assert "a matter of order" in done.stdout


def test_stable_checks_the_plain_question_where_none_is_declared(icore: Icore) -> None:
    done = icore("stable", str(CHECKOUT / "proofs_tests" / "cases" / "good" / "plain_system.icore"), "--set", "n=2")
    assert "termination" in done.stdout
    assert "order stability" in done.stdout


def test_stable_as_json(icore: Icore) -> None:
    done = icore("stable", str(CASES / "race.icore"), "--format", "json")
    record = json.loads(done.stdout)
    assert record["schema"] == "icore.stable/1"
    assert record["exit_status"] == done.returncode == 1
    (cell,) = record["matrix"]
    assert (cell["first"], cell["second"], cell["kind"]) == ("write_one", "write_two", "not joinable")
    assert [cell[key] for key in ("independent", "joinable", "not_joinable", "unclassified")] == [0, 0, 1, 0]
    fork = next(r["fork"] for r in record["results"] if r["name"] == "order stability")
    assert fork["settlements"] == [{"field": "register.holds", "first": "2", "second": "1"}]


def test_stable_of_a_search_that_stopped_is_unknown(icore: Icore) -> None:
    done = icore("stable", str(CASES / "counters.icore"), "--max-states", "5", "--format", "json")
    record = json.loads(done.stdout)
    assert done.returncode == 3
    assert record["matrix"] is None
    assert {r["verdict"] for r in record["results"]} == {"unknown"}


def test_stable_draws_a_page_that_needs_nothing_else(icore: Icore, tmp_path: Path) -> None:
    page = tmp_path / "fork.html"
    done = icore("stable", str(CASES / "race.icore"), "--html", str(page))
    assert done.returncode == 1
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=|https?:|@import|url\(", text)
    assert text.count("<circle") == 1 + 2 + 2, "the fork, and two states on each side"
    assert text.count("<line") == 4
    assert text.count('class="settled"') == 2
    assert "<td>register.holds</td><td>2</td><td>1</td>" in text
    steps = json.loads(re.search(r"const steps = (\{.*?\});", text).group(1))  # type: ignore[union-attr]
    assert [s["said"] for s in steps["one"]] == ["write_one by environment", "write_two by nobody"]
    assert [s["said"] for s in steps["other"]] == ["write_two by nobody", "write_one by environment"]


VOID = {"meta", "line", "circle"}
"""Elements of the page without an end tag of their own (those of SVG end with a slash)."""


class Page(HTMLParser):
    """A page read strictly: every element is closed in its order, and no id stands twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.places: list[str] = []
        self.script = ""
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.ids.extend(value or "" for name, value in attrs if name == "id")
        self.places.extend(value or "" for name, value in attrs if name == "data-at")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.script += data


BROWSER = """
class Item {
  constructor(at) { this.dataset = {at}; this.set = new Set(); this.children = []; this.textContent = "";
    this.classList = {toggle: (name, on) => on ? this.set.add(name) : this.set.delete(name)}; }
  replaceChildren(...items) { this.children = items; }
}
const items = PLACES.map(at => new Item(at)), byId = Object.fromEntries(IDS.map(id => [id, new Item(id)]));
const document = {
  querySelectorAll: selector => { if (selector !== "[data-at]") throw selector; return items; },
  getElementById: id => { if (!(id in byId)) throw id; return byId[id]; },
  createElement: () => new Item(""),
};
SCRIPT
const seen = [];
const marked = word => [...new Set(items.filter(i => i.set.has(word)).map(i => i.dataset.at))];
const look = () => seen.push([byId.where.textContent, byId.said.textContent, byId.changes.children.map(c => c.textContent),
  marked("here"), marked("passed").length]);
look();
for (const act of ["on", "on", "on", "other", "back"]) { byId[act].onclick(); look(); }
for (const key of ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"]) { document.onkeydown({key, preventDefault() {}}); look(); }
console.log(JSON.stringify(seen));
"""


def test_a_page_is_well_formed_and_steps_through_both_sides(icore: Icore, tmp_path: Path) -> None:
    """Read strictly; then its script runs in Node, where there is one, on elements with the page's ids and places."""
    path = tmp_path / "fork.html"
    icore("stable", str(CASES / "race.icore"), "--html", str(path))
    page = Page(path.read_text(encoding="utf-8"))
    assert set(re.findall(r'getElementById\("(.+?)"\)', page.script)) <= set(page.ids)
    assert set(page.places) == {"stem-0", "one-1", "one-2", "other-1", "other-2"}
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node to run the page's script in")
    program = BROWSER.replace("PLACES", json.dumps(page.places)).replace("IDS", json.dumps(page.ids)).replace("SCRIPT", page.script)
    done = subprocess.run([node, "-e", program], capture_output=True, text=True, timeout=60, check=True)
    one, two = "write_one by environment", "write_two by nobody"
    first, second = ["ana_wrote: 0 -> 1", "register.holds: 0 -> 1"], ["bo_wrote: 0 -> 1", "register.holds: 1 -> 2"]
    seen = json.loads(done.stdout)
    assert [look[:2] + look[3:] for look in seen] == [
        ["side one, step 0 of 2", "the initial state", ["stem-0"], 1],
        ["side one, step 1 of 2", one, ["one-1"], 2],
        ["side one, step 2 of 2", two, ["one-2"], 3],
        ["side one, step 2 of 2", two, ["one-2"], 3],
        ["side other, step 2 of 2", one, ["other-2"], 3],
        ["side other, step 1 of 2", two, ["other-1"], 2],
        ["side one, step 1 of 2", one, ["one-1"], 2],
        ["side one, step 0 of 2", "the initial state", ["stem-0"], 1],
        ["side other, step 0 of 2", "the initial state", ["stem-0"], 1],
        ["side other, step 1 of 2", two, ["other-1"], 2],
    ]
    assert [look[2] for look in seen[:3]] == [[], first, second]


def test_stable_draws_nothing_where_nothing_settles_apart(icore: Icore, tmp_path: Path) -> None:
    page = tmp_path / "fork.html"
    done = icore("stable", str(CASES / "counters.icore"), "--html", str(page))
    assert done.returncode == 0
    assert not page.exists()
    assert "no fork settles apart" in done.stderr


def test_names_in_a_page_are_text_and_never_markup() -> None:
    from icore_kernel.report.diamond import page_of
    from icore_kernel.verdict import Change, Fork, Step

    step = Step("</script><b>", "a&b", (Change("<f>", "<", ">"),))
    fork = Fork(step, step, False, ("<f>",), (("<f>", "&", "<"),), ((), ()), (step,))
    result = Result("<r>", Verdict.VIOLATED, Assurance.EXHAUSTIVE, "<d>", fork=fork)
    text = page_of(Report("f", "<P>", "1", (result,)), result)
    assert text.count("</script>") == 1
    assert "<b>" not in text
    assert "<f>" not in text
    assert "<P>" not in text


def test_wrong_input_to_stable(icore: Icore, tmp_path: Path) -> None:
    assert icore("stable", str(tmp_path / "none.icore")).returncode == 2
    done = icore("stable", str(CASES / "race.icore"), "--html", str(tmp_path / "no" / "folder.html"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
