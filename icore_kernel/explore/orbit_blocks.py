"""Canonical forms of blocks of packed states under a group of permutations, and the lengths of their orbits.

The same group as `reduce.orbits`, given as data; the representative of an orbit may be another one than there: of the words that
its images pack to, the least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from icore_kernel.explore.blocks import Words
from icore_kernel.explore.layout import Layout, Place

WIDEST = 63
"""Bits of a member's part of a state, so that it is sorted as one number."""


@dataclass(frozen=True, slots=True)
class Group:
    """`actions`: for each, where every field's value goes, and what becomes of its code (None: nothing). `sorted`: for each set of
    members that have parts of the state to themselves, the fields of each, in one order."""

    actions: tuple[tuple[tuple[int, ...], tuple[tuple[int, ...] | None, ...]], ...]
    sorted: tuple[tuple[tuple[int, ...], ...], ...]


class TooWide(Exception):
    """A part has more bits than are sorted as one number."""


class _Image:
    """One action on packed words: fields that stay, by mask; the others, one by one."""

    def __init__(self, layout: Layout, places: Sequence[int], codes: Sequence[tuple[int, ...] | None]) -> None:
        moving = [(i, to, table) for i, (to, table) in enumerate(zip(places, codes, strict=True)) if to != i or table is not None]
        self.keep = layout.outside(to for _, to, _ in moving)
        self.moved = [
            (layout.places[i], layout.places[to], None if table is None else np.array(table, dtype=np.uint64)) for i, to, table in moving
        ]

    def of(self, words: Words) -> Words:
        if not self.moved:
            return words
        found = words & np.array(self.keep, dtype=np.uint64)
        for place, other, table in self.moved:
            if place.width:
                code = _code(words, place)
                found[:, other.word] |= (code if table is None else table[code.astype(np.intp)]) << np.uint64(other.shift)
        return found


class _Sorted:
    """The parts of one set, sorted as numbers. TooWide."""

    def __init__(self, layout: Layout, parts: Sequence[Sequence[int]]) -> None:
        self.parts = [[layout.places[index] for index in part] for part in parts]
        self.widths = [place.width for place in self.parts[0]]
        if sum(self.widths) > WIDEST:
            raise TooWide
        self.most = factorial(len(parts))
        self.keep = layout.outside(index for part in parts for index in part)

    def numbers(self, words: Words) -> NDArray[np.uint64]:
        """Each member's part as one number, shape (n, members)."""
        found = np.zeros((len(words), len(self.parts)), dtype=np.uint64)
        for member, part in enumerate(self.parts):
            for place in part:
                if place.width:
                    found[:, member] = (found[:, member] << np.uint64(place.width)) | _code(words, place)
        return found

    def of(self, words: Words) -> Words:
        numbers = np.sort(self.numbers(words), axis=1)
        found = words & np.array(self.keep, dtype=np.uint64)
        for member, part in enumerate(self.parts):
            rest = numbers[:, member]
            for place in reversed(part):
                if place.width:
                    found[:, place.word] |= (rest & np.uint64((1 << place.width) - 1)) << np.uint64(place.shift)
                    rest = rest >> np.uint64(place.width)
        return found

    def lengths(self, words: Words) -> NDArray[np.int64]:
        """Different orders of the parts: of sorted states."""
        numbers = self.numbers(words)
        run = np.ones(len(words), dtype=np.int64)
        found = np.ones(len(words), dtype=np.int64)
        for member in range(1, len(self.parts)):
            run = np.where(numbers[:, member] == numbers[:, member - 1], run + 1, 1)
            found *= run
        return self.most // found


class OrbitBlocks:
    """TooWide where a member's part of a state is."""

    def __init__(self, layout: Layout, group: Group) -> None:
        self.images = [_Image(layout, places, codes) for places, codes in group.actions]
        self.sorted = [_Sorted(layout, parts) for parts in group.sorted]

    def canonical(self, words: Words) -> Words:
        """The representative of each state's orbit."""
        best = self._image(self.images[0], words)
        for image in self.images[1:]:
            other = self._image(image, words)
            less = _less(other, best)
            best = np.where(less[:, np.newaxis], other, best)
        return best

    def lengths(self, words: Words) -> NDArray[np.int64]:
        """The lengths of the orbits of representatives: by how many permutations each is left as it is."""
        fixed = np.zeros(len(words), dtype=np.int64)
        for image in self.images:
            fixed += np.all(self._image(image, words) == words, axis=1)
        found: NDArray[np.int64] = len(self.images) // fixed
        for one in self.sorted:
            found = found * one.lengths(words)
        return found

    def _image(self, image: _Image, words: Words) -> Words:
        found = image.of(words)
        for one in self.sorted:
            found = one.of(found)
        return found


def _code(words: Words, place: Place) -> Words:
    return (words[:, place.word] >> np.uint64(place.shift)) & np.uint64((1 << place.width) - 1)


def _less(a: Words, b: Words) -> NDArray[np.bool_]:
    """Row by row, by the first word that differs."""
    less = np.zeros(len(a), dtype=bool)
    same = np.ones(len(a), dtype=bool)
    for word in range(a.shape[1]):
        less |= same & (a[:, word] < b[:, word])
        same &= a[:, word] == b[:, word]
    return less
