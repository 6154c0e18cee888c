"""Where each field of a state stands in k words of 64 bits, and states packed and unpacked one at a time.

A field of n values takes the bits of n - 1 (none when n = 1) and stores `value - lo`; it never straddles two words.
Fields are placed in the order of their indices, each in the first word with room. blocks.py does the same for blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from icore_kernel.system import DomainKind, Field

WORD = 64


@dataclass(frozen=True, slots=True)
class Place:
    """One field: bits `shift .. shift + width - 1` of word `word` hold `value - lo`."""

    word: int
    shift: int
    width: int
    lo: int
    boolean: bool

    @property
    def mask(self) -> int:
        """The field's bits in its word."""
        return ((1 << self.width) - 1) << self.shift


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of all fields, by field index; `words` is k, at least 1."""

    places: tuple[Place, ...]
    words: int

    def outside(self, fields: Iterable[int]) -> list[int]:
        """A mask for each word: every bit but those of these fields."""
        masks = [2**WORD - 1] * self.words
        for index in fields:
            place = self.places[index]
            masks[place.word] &= ~place.mask
        return masks

    def pack(self, state: Sequence[int]) -> tuple[int, ...]:
        """The k words of a state. ValueError for a value outside its field's bits."""
        words = [0] * self.words
        for place, value in zip(self.places, state, strict=True):
            code = int(value) - place.lo
            if code < 0 or code >> place.width:
                raise ValueError(f"{value} does not fit {place}")
            words[place.word] |= code << place.shift
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> tuple[int, ...]:
        """The state of k words."""
        return tuple(
            (int(words[place.word]) >> place.shift & ((1 << place.width) - 1)) + place.lo for place in self.places
        )


def lay_out(fields: Sequence[Field]) -> Layout:
    """ValueError for a field of more than 2**63 values, or with values outside 64 signed bits."""
    used: list[int] = [0]
    places: list[Place] = []
    for field in fields:
        domain = field.domain
        width = (domain.size - 1).bit_length()
        if domain.size < 1 or width >= WORD or domain.lo < -(2**63) or domain.hi >= 2**63:
            raise ValueError(f"the field {field.name} has the domain {domain.lo}..{domain.hi}: not 1 to 2**63 values of 64 bits")
        word = next((number for number, bits in enumerate(used) if bits + width <= WORD), len(used))
        if word == len(used):
            used.append(0)
        places.append(Place(word, used[word], width, domain.lo, domain.kind is DomainKind.BOOL))
        used[word] += width
    return Layout(tuple(places), len(used))
