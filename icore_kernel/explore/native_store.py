"""The states of a search by the C kernel, which stay in its memory: read one by one, in blocks, or by formulas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from icore_kernel.explore import _kernel, judge
from icore_kernel.explore.blasting import Blaster, Unsupported
from icore_kernel.explore.circuit import Circuit, emit
from icore_kernel.explore.layout import Layout
from icore_kernel.explore.model import Mode, Path, State
from icore_kernel.meaning.scalar import Together
from icore_kernel.system import System
from icore_kernel.terms.node import Term

# NumPy is imported where it is needed: a search without checkpoints, finality and steps does not need it.
if TYPE_CHECKING:
    from icore_kernel.explore.blocks import Words


class NativeStore:
    """The states in the kernel's memory, each with the state it was first reached from."""

    def __init__(self, search: object, system: System, mode: Mode, layout: Layout) -> None:
        self._search = search
        self._system = system
        self._mode = mode
        self._layout = layout
        self._kept = [layout.outside(write.field.index for write in update.writes) for update in system.updates]
        """Of each update, what it leaves as it is."""

    @cached_property
    def _feasible(self) -> Together:
        return judge.feasibility(self._system)

    def words(self, number: int) -> tuple[tuple[int, ...], int]:
        words, parent = _kernel.state(self._search, number)
        return tuple(memoryview(words).cast("Q")), parent

    def state(self, number: int) -> State:
        return self._layout.unpack(self.words(number)[0])

    def packed(self, length: int) -> Iterator[Words]:
        """All states in the order of their numbers, in blocks of up to `length`."""
        import numpy as np

        total = _kernel.totals(self._search)[0]
        for begin in range(0, total, length):
            words = _kernel.states(self._search, begin, min(total, begin + length))
            yield np.frombuffer(words, dtype=np.uint64).reshape(-1, self._layout.words)

    def truths(self, terms: Sequence[Term]) -> list[bytearray] | None:
        """Whether each formula holds, a byte for every state; None where a term has no circuit."""
        circuit = Circuit()
        blaster = Blaster(circuit, self._layout)
        try:
            program = emit(circuit, [], [blaster.literal(term) for term in terms])
        except Unsupported:
            return None
        total = _kernel.totals(self._search)[0]
        found = bytearray(total * len(terms))
        _kernel.truths(self._search, program.registers, program.gates, program.loads, program.kept, found)
        return [found[place * total : (place + 1) * total] for place in range(len(terms))]

    def path(self, number: int) -> Path:
        updates: list[int] = []
        parent = self.words(number)[1]
        while parent >= 0:
            updates.append(self.step(parent, number))
            number, parent = parent, self.words(parent)[1]
        return Path(self.state(number), tuple(reversed(updates)))

    def step(self, source: int, target: int) -> int:
        """The first update that leads from one state to another."""
        before, after = self.words(source)[0], self.words(target)[0]
        state, wanted = self._layout.unpack(before), self._layout.unpack(after)
        for update, keep in enumerate(self._kept):
            if any((a ^ b) & mask for a, b, mask in zip(before, after, keep, strict=True)):
                continue
            if judge.committed(self._system, self._mode, update, state, self._feasible) == wanted:
                return update
        raise judge.LostStep(f"nothing leads from {state} to {wanted}")
