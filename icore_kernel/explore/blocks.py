"""Blocks of packed states: arrays of shape (n, k) of uint64, their columns, keys to sort and find them by.

With one word the key is the word itself. With more it is a mix of the words: equal states have equal keys, and where
different states met under one key, `Collision` says so and the search starts again with another `seed`: keys decide
nothing that the words do not confirm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from icore_kernel.explore.layout import Layout
from icore_kernel.terms.node import Term

Words = NDArray[np.uint64]
Keys = NDArray[np.uint64]
Rows = NDArray[np.intp]
Column = NDArray[Any]


@runtime_checkable
class PackedStore(Protocol):
    """A store of packed states."""

    def packed(self, length: int) -> Iterator[Words]:
        """All states in the order of their numbers, in blocks of up to `length`."""
        ...


@runtime_checkable
class LookedAt(Protocol):
    """A store that tells of all its states whether formulas hold."""

    def truths(self, terms: Sequence[Term]) -> list[bytearray] | None:
        """A byte a state for each formula; None where it cannot tell of one of them."""
        ...


class Collision(Exception):
    """Two different states have the same key under this seed."""


class Block:
    """n packed states, shape (n, k). Columns are extracted when first asked for, in the smallest unsigned type, or int64."""

    def __init__(self, layout: Layout, words: Words) -> None:
        self.layout = layout
        self.words = words
        self._columns: dict[int, Column] = {}

    def __len__(self) -> int:
        return len(self.words)

    def column(self, index: int) -> Column:
        """The values of one field, shape (n,)."""
        known = self._columns.get(index)
        if known is not None:
            return known
        place = self.layout.places[index]
        word = self.words[:, place.word]
        if place.width == 0:
            found: Column = np.full(len(word), place.lo, dtype=np.int64)
        else:
            bits = (word >> np.uint64(place.shift)) & np.uint64((1 << place.width) - 1)
            if place.boolean:
                found = bits.astype(bool)
            elif place.lo == 0 and place.width <= 32:
                found = bits.astype(np.uint8 if place.width <= 8 else np.uint16 if place.width <= 16 else np.uint32)
            else:
                # The difference is at most hi - lo < 2**63, so adding lo stays within 64 signed bits.
                found = bits.astype(np.int64) + np.int64(place.lo)
        self._columns[index] = found
        return found

    def take(self, rows: Rows) -> Block:
        return Block(self.layout, np.take(self.words, rows, axis=0))

    def states(self) -> list[tuple[int, ...]]:
        columns = [self.column(index).tolist() for index in range(len(self.layout.places))]
        return [tuple(int(value) for value in state) for state in zip(*columns, strict=True)] if columns else [()] * len(self)


def pack_block(layout: Layout, columns: Sequence[Column], length: int) -> Words:
    """The packed states of one array of values a field. Values must be in their domains."""
    words = np.zeros((length, layout.words), dtype=np.uint64)
    for place, column in zip(layout.places, columns, strict=True):
        if place.width:
            words[:, place.word] |= codes(column, place.lo) << np.uint64(place.shift)
    return words


def codes(column: Column, lo: int) -> Words:
    """value - lo, as uint64. Wraps back to the right code even where the difference passes through 2**63."""
    return column.astype(np.int64).view(np.uint64) - np.uint64(lo % 2**64)


_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)
"""Odd multipliers with well spread bits."""


def keys_of(words: Words, seed: int) -> Keys:
    """One key a state, shape (n,): the word itself when k = 1."""
    if words.shape[1] == 1:
        return words[:, 0]
    key = words[:, 0] * np.uint64(_ODD[seed % len(_ODD)])
    for number in range(1, words.shape[1]):
        key ^= key >> np.uint64(29)
        key += words[:, number] ^ np.uint64(seed)
        key *= np.uint64(_ODD[(seed + number) % len(_ODD)])
    key ^= key >> np.uint64(32)
    return key


def differ(a: Words, b: Words) -> NDArray[np.bool_]:
    """Row by row, whether two blocks of one shape have different states; a good deal faster than `any` along the short axis."""
    found: NDArray[np.bool_] = a[:, 0] != b[:, 0]
    for number in range(1, a.shape[1]):
        found |= a[:, number] != b[:, number]
    return found


def distinct(words: Words, seed: int) -> tuple[Keys, Words]:
    """The different states of a block in ascending order of key, with the keys. Collision as above."""
    if words.shape[1] == 1:
        keys = np.sort(words[:, 0])
        if len(keys):
            keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))]
        return keys, keys[:, np.newaxis]
    keys = keys_of(words, seed)
    order = ascending(keys)
    # Rows are picked by take and compress throughout: on two axes they are many times faster than an index in brackets.
    keys, words = np.take(keys, order), np.take(words, order, axis=0)
    if len(keys):
        same = keys[1:] == keys[:-1]
        if np.any(same & differ(words[1:], words[:-1])):
            raise Collision
        kept = np.concatenate(([True], ~same))
        keys, words = np.compress(kept, keys), np.compress(kept, words, axis=0)
    return keys, words


def ascending(keys: Keys) -> Rows:
    """An order that sorts the keys. Sorts upper bits of key with the row below them, which beats argsort; where two keys
    differ in the lower bits alone, it is argsort after all."""
    low = np.uint64((1 << len(keys).bit_length()) - 1)
    joint = (keys & ~low) | np.arange(len(keys), dtype=np.uint64)
    joint.sort()
    order: Rows = (joint & low).astype(np.intp)
    ordered = np.take(keys, order)
    if np.any(ordered[1:] < ordered[:-1]):
        return np.argsort(keys)
    return order


class Run:
    """Different states in ascending order of key."""

    def __init__(self, keys: Keys, words: Words) -> None:
        self.keys = keys
        self.words = words

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Keys, words: Words) -> tuple[NDArray[np.bool_], Rows]:
        """Whether each state is here, and where. Collision as above."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=bool), np.zeros(len(keys), dtype=np.intp)
        place = np.searchsorted(self.keys, keys)
        np.minimum(place, len(self.keys) - 1, out=place)
        found = self.keys[place] == keys
        if words.shape[1] > 1:
            own = np.take(self.words, np.compress(found, place), axis=0)
            if differ(own, np.compress(found, words, axis=0)).any():
                raise Collision
        return found, place


def merged(a: Run, b: Run) -> Run:
    """Of disjoint runs."""
    if a.words.shape[1] == 1:
        keys = np.concatenate((a.keys, b.keys))
        keys.sort(kind="stable")  # A merge of two runs, in linear time.
        return Run(keys, keys[:, np.newaxis])
    places = np.searchsorted(a.keys, b.keys) + np.arange(len(b))
    order = np.empty(len(a) + len(b), dtype=np.intp)
    order[places] = np.arange(len(a), len(order))
    others = np.ones(len(order), dtype=bool)
    others[places] = False
    order[others] = np.arange(len(a))
    return Run(np.take(np.concatenate((a.keys, b.keys)), order), np.take(np.concatenate((a.words, b.words)), order, axis=0))


class Visited:
    """The states met, in runs of falling size: each at least twice as long as the next, so there are about log2 of them."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def absent(self, keys: Keys, words: Words) -> tuple[Keys, Words]:
        """Those of the given different states that are not here, in the same order."""
        for run in self.runs:
            if not len(keys):
                break
            found, _ = run.find(keys, words)
            if found.any():
                keys, words = np.compress(~found, keys), np.compress(~found, words, axis=0)
        return keys, words

    def add(self, keys: Keys, words: Words) -> None:
        """Different states in ascending order of key, none of them here."""
        if not len(keys):
            return
        self.runs.append(Run(keys, words))
        while len(self.runs) > 1 and 2 * len(self.runs[-1]) > len(self.runs[-2]):
            last = self.runs.pop()
            self.runs.append(merged(self.runs.pop(), last))

    def coming(self, count: int, words: int) -> int:
        """About how many bytes `add` takes on the way, for `count` states of so many words."""
        size = count
        for run in reversed(self.runs):
            if 2 * size <= len(run):
                break
            size += len(run)
        if size == count:
            return 0
        # With one word the merged keys and the sort's own half; with more, two orders, and keys and words twice.
        return 12 * size if words == 1 else 8 * size * (3 + 2 * words)

    def contains(self, keys: Keys, words: Words) -> NDArray[np.bool_]:
        held = np.zeros(len(keys), dtype=bool)
        for run in self.runs:
            held |= run.find(keys, words)[0]
        return held
