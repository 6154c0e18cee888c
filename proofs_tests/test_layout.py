"""Layouts: every field in its own bits, and states packed and unpacked alike one by one and in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icore_kernel.explore.blocks import Block, Visited, ascending, distinct, keys_of, pack_block
from icore_kernel.explore.layout import Layout, lay_out
from icore_kernel.system import Domain, DomainKind, Field


def fields_of(*domains: tuple[int, int]) -> list[Field]:
    return [Field(f"f{i}", Domain(DomainKind.INT, lo, hi), i) for i, (lo, hi) in enumerate(domains)]


@pytest.mark.parametrize(
    ("size", "width"),
    [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (7, 3), (8, 3), (9, 4), (255, 8), (256, 8), (257, 9), (2**31, 31), (2**63, 63)],
)
def test_a_field_takes_the_bits_of_its_greatest_code(size: int, width: int) -> None:
    layout = lay_out(fields_of((0, size - 1)))
    assert layout.places[0].width == width


def test_a_field_of_more_than_63_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="f0"):
        lay_out(fields_of((-(2**63), 2**63 - 1)))


def test_no_field_straddles_two_words_and_gaps_are_filled() -> None:
    # 40 + 30 do not fit one word; 20 fits behind the 40, 34 behind the 30.
    layout = lay_out(fields_of((0, 2**40 - 1), (0, 2**30 - 1), (0, 2**20 - 1), (0, 2**34 - 1)))
    assert [(place.word, place.shift) for place in layout.places] == [(0, 0), (1, 0), (0, 40), (1, 30)]
    assert layout.words == 2


def test_exactly_64_bits_are_one_word() -> None:
    assert lay_out(fields_of(*[(0, 255)] * 8)).words == 1
    assert lay_out(fields_of(*[(0, 255)] * 8, (0, 1))).words == 2
    assert lay_out([]).words == 1


@st.composite
def layouts_with_states(draw: st.DrawFn) -> tuple[Layout, list[tuple[int, ...]]]:
    sizes = st.sampled_from([1, 2, 3, 4, 5, 8, 9, 127, 128, 129, 256, 257, 65536, 65537, 2**32, 2**33 + 1, 2**62])
    domains = draw(st.lists(st.tuples(st.integers(-(2**40), 2**40), sizes), min_size=1, max_size=20))
    layout = lay_out(fields_of(*[(lo, lo + size - 1) for lo, size in domains]))
    state = st.tuples(*(st.integers(lo, lo + size - 1) for lo, size in domains))
    return layout, draw(st.lists(state, min_size=1, max_size=8))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(drawn=layouts_with_states())
def test_packing_is_undone_by_unpacking(drawn: tuple[Layout, list[tuple[int, ...]]]) -> None:
    layout, states = drawn
    packed = [layout.pack(state) for state in states]
    assert [layout.unpack(words) for words in packed] == states
    assert len(set(packed)) == len(set(states))
    columns = [np.array(column, dtype=np.int64) for column in zip(*states, strict=True)]
    words = pack_block(layout, columns, len(states))
    assert [tuple(row) for row in words.tolist()] == packed
    block = Block(layout, words)
    assert block.states() == states
    for index, column in enumerate(columns):
        assert block.column(index).tolist() == column.tolist()


def test_packing_refuses_a_value_outside_its_domain() -> None:
    layout = lay_out(fields_of((3, 5)))
    assert layout.pack((5,)) == (2,)
    with pytest.raises(ValueError, match="2 does not fit"):
        layout.pack((2,))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_visited_states_are_found_again_and_no_others(k: int) -> None:
    random = np.random.default_rng(7)
    words = random.integers(0, 2**6, (4000, k), dtype=np.uint64)
    words[:, -1] *= np.uint64(2**58)
    expected: set[tuple[int, ...]] = set()
    visited = Visited()
    for begin in range(0, 4000, 250):
        part = words[begin : begin + 250]
        keys, fresh = visited.absent(*distinct(part, 0))
        new = {tuple(row) for row in part.tolist()} - expected
        assert {tuple(row) for row in fresh.tolist()} == new
        assert len(fresh) == len(new)
        assert keys.tolist() == sorted(keys_of(fresh, 0).tolist())
        visited.add(keys, fresh)
        expected |= new
    assert sum(map(len, visited.runs)) == len(expected)
    assert all(len(long) >= 2 * len(short) for long, short in zip(visited.runs, visited.runs[1:], strict=False))
    absent = np.full((1, k), 2**63 + 1, dtype=np.uint64)
    assert not visited.contains(keys_of(absent, 0), absent).any()
    assert visited.contains(keys_of(words, 0), words).all()


def test_keys_are_ordered_even_where_only_their_low_bits_differ() -> None:
    random = np.random.default_rng(3)
    for keys in (
        np.array([], dtype=np.uint64),
        np.array([5, 4, 7, 4, 6, 5, 0], dtype=np.uint64),
        random.integers(0, 2**64 - 1, 500, dtype=np.uint64),
        random.integers(0, 2**6, 500, dtype=np.uint64) + np.uint64(2**63),
    ):
        assert keys[ascending(keys)].tolist() == sorted(keys.tolist())
