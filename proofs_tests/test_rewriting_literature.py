"""Rewrite systems of the literature: their verdicts are known, and argued here; brute force agrees beside."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import pytest
from rewriting_lab import Edges, brute, in_numpy, in_rows

from icore_kernel.rewriting.condense import condense
from icore_kernel.rewriting.facts import facts
from icore_kernel.rewriting.forks import count_forks

Rewrites = Callable[[Hashable], Iterable[tuple[int, Hashable]]]


def graph_of(start: Hashable, rewrites: Rewrites) -> Edges:
    """The reduction graph of `start`: every way to rewrite it once is an update of its own."""
    seen = [start]
    edges: Edges = []
    for term in seen:
        out: dict[int, int] = {}
        for update, to in rewrites(term):
            if to not in seen:
                seen.append(to)
            out[update] = seen.index(to)
        edges.append(sorted(out.items()))
    return edges


def strings(*rules: tuple[str, str]) -> Rewrites:
    """Semi-Thue systems: rule r at position p is update p * len(rules) + r."""

    def rewrites(term: Hashable) -> Iterable[tuple[int, Hashable]]:
        word = str(term)
        for place in range(len(word)):
            for number, (left, right) in enumerate(rules):
                if word.startswith(left, place):
                    yield place * len(rules) + number, word[:place] + right + word[place + len(left) :]

    return rewrites


def coffee_can(term: Hashable) -> Iterable[tuple[int, Hashable]]:
    """Take two beans; of one colour: put a black one back; of two: the white one."""
    assert isinstance(term, tuple)
    black, white = term
    if black >= 2:
        yield 0, (black - 1, white)
    if white >= 2:
        yield 1, (black + 1, white - 2)
    if black and white:
        yield 2, (black - 1, white)


def chips(neighbours: list[list[int]]) -> Rewrites:
    """A vertex with at least as many chips as neighbours fires: one chip to each."""

    def rewrites(term: Hashable) -> Iterable[tuple[int, Hashable]]:
        assert isinstance(term, tuple)
        for vertex, others in enumerate(neighbours):
            if term[vertex] >= len(others):
                after = list(term)
                after[vertex] -= len(others)
                for other in others:
                    after[other] += 1
                yield vertex, tuple(after)

    return rewrites


def toyama(term: Hashable) -> Iterable[tuple[int, Hashable]]:
    """f(0, 1, x) -> f(x, x, x), g(x, y) -> x, g(x, y) -> y on f(…) with arguments 0, 1 and g = g(0, 1)."""
    assert isinstance(term, tuple)
    if term[:2] == ("0", "1"):
        yield 0, (term[2],) * 3
    for place, argument in enumerate(term):
        if argument == "g":
            for number, value in enumerate("01"):
                yield 1 + 2 * place + number, (*term[:place], value, *term[place + 1 :])


def triples(term: Hashable) -> Iterable[tuple[int, Hashable]]:
    """Two independent counters, each one step down: they commute."""
    assert isinstance(term, tuple)
    for place, value in enumerate(term):
        if value:
            yield place, (*term[:place], value - 1, *term[place + 1 :])


def maximum(term: Hashable) -> Iterable[tuple[int, Hashable]]:
    """if x >= y -> m := x [] y >= x -> m := y fi, for x = y = 3."""
    x, y, m = term  # type: ignore[misc]
    if m is None and x >= y:
        yield 0, (x, y, x)
    if m is None and y >= x:
        yield 1, (x, y, y)


def named(**out: str) -> Rewrites:
    """An abstract system given by its arrows: a="b c" is a -> b, a -> c."""

    def rewrites(term: Hashable) -> Iterable[tuple[int, Hashable]]:
        return enumerate(out.get(str(term), "").split())

    return rewrites


@dataclass(frozen=True)
class Known:
    """What is known of it, and where it stands."""

    source: str
    start: Hashable
    rewrites: Rewrites
    terminating: bool
    normalizing: bool
    definition_14: bool
    confluent: bool
    normal_forms: int
    cycles: int = 0


SYSTEMS = {
    # a <-> b, a -> c, b -> d: every fork is joinable (a: b and c meet in c; b: a and d meet in d), and a reaches c and d.
    "hindley": Known(
        "M. H. A. Newman, Annals of Mathematics 43 (1942); J. R. Hindley's form of it: F. Baader, T. Nipkow, Term Rewriting and All That "
        "(1998), section 2.7", "a", named(a="b c", b="a d"), False, True, False, False, 2,
    ),
    # a <- b -> c, c <-> d: the only normal form is a, and c does not reach it: unique normal forms without confluence.
    "unique_normal_forms": Known(
        "J. W. Klop, Term Rewriting Systems, Handbook of Logic in Computer Science 2 (1992), section 1: UN does not imply CR", "b",
        named(b="a c", c="d", d="c"), False, False, True, False, 1, 1,
    ),
    # (x y) z -> x (y z), 1 x -> x, x' x -> 1 on (a' a) b: first to 1 b and b, or to a' (a b), which is normal. The critical pair
    # with which completion begins.
    "group_axioms": Known(
        "D. E. Knuth, P. B. Bendix, Simple word problems in universal algebras (1970), example 1", "(a'a)b",
        named(**{"(a'a)b": "1b a'(ab)", "1b": "b"}), True, True, False, False, 2,
    ),
    # ab -> empty on aabbab: monadic, without overlaps, so confluent; everything cancels.
    "dyck": Known(
        "R. V. Book, F. Otto, String-Rewriting Systems (1993), the Dyck language", "aabbab", strings(("ab", "")), True, True, True, True, 1
    ),
    # aA -> empty, Aa -> empty on aAaAa: the overlaps aAa and AaA join; the word reduces to a.
    "free_group": Known(
        "R. V. Book, F. Otto, String-Rewriting Systems (1993), free groups", "aAaAa", strings(("aA", ""), ("Aa", "")),
        True, True, True, True, 1,
    ),
    # ba -> ab on bbaa: sorting by neighbours; the longest path is the number of inversions, 4, whatever the order.
    "inversions": Known(
        "D. E. Knuth, The Art of Computer Programming 3 (1973), section 5.1.1, inversions", "bbaa", strings(("ba", "ab")),
        True, True, True, True, 1,
    ),
    # ab -> a, ba -> b on aba: aa or (by ba first) ab, then a; aa and a are normal and differ.
    "overlap": Known(
        "F. Baader, T. Nipkow, Term Rewriting and All That (1998), chapter 6: an overlap that does not join", "aba",
        strings(("ab", "a"), ("ba", "b")), True, True, False, False, 2,
    ),
    # Five black, four white: the parity of the white ones never changes, so the last bean is black.
    "coffee_can": Known(
        "D. Gries, The Science of Programming (1981), the coffee can problem", (5, 4), coffee_can, True, True, True, True, 1
    ),
    # A path of four vertices, two chips on vertex 1: fewer chips than edges, so it ends, and in one way only.
    "chip_firing_ends": Known(
        "A. Björner, L. Lovász, P. W. Shor, Chip-firing games on graphs, European Journal of Combinatorics 12 (1991), theorems 2.1, 3.3",
        (0, 2, 0, 0), chips([[1], [0, 2], [1, 3], [2]]), True, True, True, True, 1,
    ),
    # A triangle with four chips: more than 2|E| - |V| = 3, so no run ends; confluent all the same.
    "chip_firing_goes_on": Known(
        "A. Björner, L. Lovász, P. W. Shor, Chip-firing games on graphs (1991), theorem 3.3", (2, 2, 0), chips([[1, 2], [0, 2], [0, 1]]),
        False, False, True, True, 0, 1,
    ),
    # f(g, g, g) -> f(0, g, g) -> f(0, 1, g) -> f(g, g, g): two terminating systems whose sum goes round. g is 0 or 1, so the normal forms
    # f(x, y, z) of which (x, y) is not (0, 1) differ: six of them.
    "toyama": Known(
        "Y. Toyama, Counterexamples to termination for the direct sum of term rewriting systems, Information Processing Letters 25 (1987)",
        ("g", "g", "g"), toyama, False, True, False, False, 6,
    ),
    # Two relations that commute, each confluent: so is their union.
    "commuting": Known(
        "J. R. Hindley, The Church-Rosser property and a result in combinatory logic (1964); B. K. Rosen, Tree-manipulating systems and "
        "Church-Rosser theorems, JACM 20 (1973)", (3, 2), triples, True, True, True, True, 1,
    ),
    # Both guards hold for x = y and both commands give the same.
    "maximum": Known(
        "E. W. Dijkstra, Guarded commands, CACM 18 (1975), the maximum of two numbers", (3, 3, None), maximum, True, True, True, True, 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("made", [in_rows, in_numpy], ids=["plain", "numpy"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_of_the_literature(name: str, made: object) -> None:
    known = SYSTEMS[name]
    edges = graph_of(known.start, known.rewrites)
    full, graph = made(edges)  # type: ignore[operator]
    found = condense(graph)
    told = facts(graph, found)
    assert (told.terminating, told.normalizing, told.definition_14, told.confluent) == (
        known.terminating, known.normalizing, known.definition_14, known.confluent,
    )  # fmt: skip
    assert (told.normal_forms, told.cycles) == (known.normal_forms, known.cycles)
    forced = brute(edges)
    tallies = count_forks(full, graph, found, lambda a, b: (a, b)).by_pair
    assert {pair: (t.independent, t.joinable, t.not_joinable) for pair, t in tallies.items()} == forced.forks
    assert (forced.terminating, forced.normalizing, forced.definition_14, forced.confluent) == (
        told.terminating, told.normalizing, told.definition_14, told.confluent,
    )  # fmt: skip


def test_newman_needs_termination() -> None:
    """a <-> b, a -> c, b -> d: no fork is unjoinable, and yet definition 14 fails."""
    full, graph = in_rows(graph_of("a", SYSTEMS["hindley"].rewrites))
    found = condense(graph)
    total = count_forks(full, graph, found, lambda a, b: (a, b)).total()
    assert (total.critical, total.joinable, total.not_joinable) == (2, 2, 0)
    assert not facts(graph, found).definition_14


def test_inversions_bound_the_longest_path() -> None:
    _, graph = in_rows(graph_of("bbaa", SYSTEMS["inversions"].rewrites))
    assert facts(graph, condense(graph)).longest == 4
