"""Packages that violate exactly one clause of A.4 each, and are right without it. One head, and what differs."""

from __future__ import annotations

HEAD = """language 1
package Violator "1.0"
agents { ana bo }
input request
input head { commit: 1..2 = 1 }
artifact paper(w: Item)
obligation type Item { signature mark: 1..2 }
allow dead_end because "only the first steps matter here"
"""
ASKED = """certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) is open starts active }
"""
TWO = "obligations { root: Item starts open, required  extra: Item starts open }\n" + ASKED
ONE = "obligations { root: Item starts open, required }\n" + ASKED
LATENT = "obligations { root: Item starts open, required  extra: Item latent }\n" + ASKED.replace("active", "active when present(w)")
FOUND = "certificate found(w: Item) { issuer any premises paper(w) claims node(w), status(w) is open }\n"
BEGIN = "update begin(w: Item) operation create by ana { when not present(w) create w emit paper(w) issue found(w) }\n"

VIOLATORS: dict[str, str] = {
    # A required root appears on an agent's paper alone, with no input behind it.
    "A.4(1)": "obligations { root: Item latent, required }\n" + FOUND + BEGIN,
    # The world moves, and a signature rests on evidence about the old commit. No update wrote the signature then.
    "A.4(2)": TWO + """certificate noted(w: Item) { issuer any premises request claims signature(w) valid when head.commit == 1 }
update tag operation complete by ana { view global when head.commit == 1 set mark(extra) := 1 issue noted(extra) }
update push operation observe by environment { set head.commit := 2 }
""",
    # Work that serves nothing and that nobody asked for.
    "A.4(3)": ONE.replace("required }", "required  extra: Item latent }").replace("starts active", "starts active when present(w)")
    + FOUND
    + BEGIN,
    # Work is ready on the monitor's word, and nothing can happen to it any more.
    "A.4(4)": TWO + """certificate enabled(w: Item) { issuer monitor claims status(w) is ready }
update enable operation enable by monitor { view global when status(extra) == open set status(extra) := ready issue enabled(extra) }
""",
    # Evidence of coverage for work that is not accepted.
    "A.4(5)": TWO + """relation serves(Item, Item) contributes coverage
serves = root -> extra
certificate counted(w: Item) { issuer any premises request claims coverage(w) }
update count_in operation verify by ana { issue counted(extra) }
""",
    # ana is assigned on good evidence, and is not feasible.
    "A.4(6)": ONE + """certificate able(m: Agent, w: Item) { issuer environment premises request claims assignment(w) is m }
update assign(w: Item) operation assign by ana { set assignee(w) := ana issue able(ana, w) }
feasible(m: Agent, w: Item) = m == bo
""",
    # Closed, and nothing to see.
    "A.4(7)": ONE + """certificate done(w: Item) { issuer any claims status(w) is closed }
update finish(w: Item) operation complete by ana { set status(w) := closed issue done(w) }
""",
    # Accept is reported, with evidence, where it does not hold.
    "A.4(7) reports": ONE + """certificate over { issuer any premises request claims terminal(accept) }
update end operation report by ana { report accept issue over }
""",
    # Work that does not exist yet is assigned, on good evidence.
    "A.4 absent": LATENT
    + """certificate able(m: Agent, w: Item) { issuer environment premises request claims assignment(w) is m }
update reserve operation assign by ana { view global set assignee(extra) := ana issue able(ana, extra) }
""",
}  # fmt: skip

# One update for each thing that absent work may not carry, and one that creates it with all of them on good evidence.
CARRIERS = (
    LATENT
    + """changing relation near(Item, Item)
certificate able(m: Agent, w: Item) { issuer environment premises request claims assignment(w) is m }
certificate found(w: Item) { issuer any premises request claims node(w), status(w) is ready, signature(w), near(root, w) }
certificate failed(w: Item) { issuer any premises request claims failure(w) }
certificate joint(w: Item) { issuer any premises request claims compatibility(w) }
certificate dropped(w: Item) { issuer any premises request claims removal(w) }
update reserve operation assign by ana { view global set assignee(extra) := ana issue able(ana, extra) }
update reserve_silently operation assign by ana { view global set assignee(extra) := ana }
update ready operation enable by ana { view global set status(extra) := ready issue found(extra) }
update end_it operation resolve by ana { view global set status(extra) := closed }
update sign operation transform by ana { view global set mark(extra) := 2 issue found(extra) }
update drop operation exclude by ana { view global set marker(extra) := excluded issue dropped(extra) }
update fail operation resolve by ana { view global issue failed(extra) }
update join operation merge by ana { view global issue joint(extra) }
update tie operation transform by ana { view global relate near(root, extra) issue found(extra) }
update begin operation create by ana {
  view global
  when not present(extra)
  create extra
  set status(extra) := ready, assignee(extra) := ana, mark(extra) := 2
  relate near(root, extra)
  issue found(extra)
  issue able(ana, extra)
}
"""
)

# The second half of A.4(5): an aggregate is accepted, and nobody said that its parts fit together.
AGGREGATE = (
    TWO
    + """relation part(Item, Item) contributes aggregation
part = extra -> root
certificate ok(w: Item) { issuer any premises paper(w) claims status(w) is accepted, coverage(w) }
update take_in operation accept by ana { emit paper(root) set status(root) := accepted issue ok(root) }
"""
)


def violator(label: str) -> str:
    return HEAD + VIOLATORS[label]


def carriers() -> str:
    return HEAD + CARRIERS


def aggregate() -> str:
    return HEAD + AGGREGATE
