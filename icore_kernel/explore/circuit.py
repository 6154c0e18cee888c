"""Circuits over the bits of a packed state, and their programs for the C kernel (csrc/planes.h).

A *literal* is twice a node's number, plus 1 where it is denied; 0 is false and 1 is true. Nodes are inputs (a bit of a word),
conjunctions and exclusive disjunctions of two literals; equal ones are the same node, and constants are folded on the way.
A *program* evaluates literals for a block of states at once: a register holds one bit of each of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

FALSE, TRUE = 0, 1

_INPUT, _AND, _XOR = range(3)

# The kinds of gates, numbered as in planes.h.
GATE_AND, GATE_OR, GATE_XOR, GATE_AND_NOT, GATE_NOT, GATE_ZERO, GATE_ONES, GATE_COUNT, GATE_COUNT_NOT = range(9)


class Circuit:
    """The nodes made so far. Node 0 is the constant."""

    def __init__(self) -> None:
        self.kinds = [_INPUT]
        self.left = [0]
        self.right = [0]
        self._known: dict[tuple[int, int, int], int] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    def _node(self, kind: int, a: int, b: int) -> int:
        key = (kind, a, b)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = 2 * len(self.kinds)
            self.kinds.append(kind)
            self.left.append(a)
            self.right.append(b)
        return known

    def input(self, word: int, bit: int) -> int:
        """Bit `bit` of word `word` of the state."""
        return self._node(_INPUT, word, bit)

    def both(self, a: int, b: int) -> int:
        if a > b:
            a, b = b, a
        if a == FALSE or a ^ 1 == b:
            return FALSE
        if a in (TRUE, b):
            return b
        return self._node(_AND, a, b)

    def either(self, a: int, b: int) -> int:
        return self.both(a ^ 1, b ^ 1) ^ 1

    def differ(self, a: int, b: int) -> int:
        denied = (a ^ b) & 1
        a, b = (a & ~1, b & ~1) if a < b else (b & ~1, a & ~1)
        if a == b:
            return denied
        if a == FALSE:
            return b ^ denied
        return self._node(_XOR, a, b) ^ denied

    def choose(self, condition: int, a: int, b: int) -> int:
        """`a` where the condition holds, else `b`."""
        if condition & 1:
            condition, a, b = condition ^ 1, b, a
        if condition == FALSE or a == b:
            return b
        if a == b ^ 1:
            return self.differ(condition, b)
        return self.either(self.both(condition, a), self.both(condition ^ 1, b))

    def all(self, literals: Iterable[int]) -> int:
        found = TRUE
        for literal in literals:
            found = self.both(found, literal)
        return found

    def any(self, literals: Iterable[int]) -> int:
        return self.all(literal ^ 1 for literal in literals) ^ 1


@dataclass(frozen=True, slots=True)
class Program:
    """`gates`: rows (kind, into, a, b); `loads`: rows (word, bit, register), ascending; `kept`: a register an output."""

    registers: int
    counters: int
    gates: array[int]
    loads: array[int]
    kept: array[int]


class _Emission:
    """Gates in the order of need. A register is free again when the last gate that reads it is written."""

    def __init__(self, circuit: Circuit, counted: Sequence[int], kept: Sequence[int]) -> None:
        self.circuit = circuit
        self.gates = array("i")
        self.loads = array("i")
        self.place: dict[int, int] = {}
        self.denied: dict[int, int] = {}
        """By node: 1 where its register holds the opposite."""
        self._free: list[int] = []
        self._registers = 0
        roots = {literal >> 1 for literal in (*counted, *kept)} - {0}
        self._uses = self._count_uses(roots)
        for literal in (*counted, *kept):
            self._uses[literal >> 1] = self._uses.get(literal >> 1, 0) + 1
        inputs = [node for node in self._uses if node and circuit.kinds[node] == _INPUT]
        for node in sorted(inputs, key=lambda node: (circuit.left[node], circuit.right[node])):
            self.place[node], self.denied[node] = self._register(), 0
            self.loads.extend((circuit.left[node], circuit.right[node], self.place[node]))

    def _count_uses(self, roots: set[int]) -> dict[int, int]:
        uses: dict[int, int] = dict.fromkeys(roots, 0)
        stack = list(roots)
        while stack:
            node = stack.pop()
            if self.circuit.kinds[node] == _INPUT:
                continue
            for literal in (self.circuit.left[node], self.circuit.right[node]):
                below = literal >> 1
                if below not in uses:
                    uses[below] = 0
                    stack.append(below)
                uses[below] += 1
        return uses

    def _register(self) -> int:
        if self._free:
            return heappop(self._free)
        self._registers += 1
        return self._registers - 1

    @property
    def registers(self) -> int:
        return max(1, self._registers)

    def used(self, node: int) -> None:
        self._uses[node] -= 1
        if not self._uses[node]:
            heappush(self._free, self.place.pop(node))

    def write(self, root: int) -> None:
        """The gates of a node and of what it needs, where they are not there yet."""
        circuit = self.circuit
        stack = [root]
        while stack:
            node = stack[-1]
            if node in self.place:
                stack.pop()
                continue
            a, b = circuit.left[node], circuit.right[node]
            missing = [literal >> 1 for literal in (b, a) if literal >> 1 not in self.place]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._gate(node, a, b)

    def _gate(self, node: int, a: int, b: int) -> None:
        first, second = self.place[a >> 1], self.place[b >> 1]
        not_a, not_b = a & 1 ^ self.denied[a >> 1], b & 1 ^ self.denied[b >> 1]
        denied = 0
        if self.circuit.kinds[node] == _XOR:
            kind, denied = GATE_XOR, not_a ^ not_b
        elif not_a and not_b:
            kind, denied = GATE_OR, 1
        elif not_a:
            kind, first, second = GATE_AND_NOT, second, first
        else:
            kind = GATE_AND_NOT if not_b else GATE_AND
        self.used(a >> 1)
        self.used(b >> 1)
        self.place[node], self.denied[node] = self._register(), denied
        self.gates.extend((kind, self.place[node], first, second))

    def count(self, literal: int, counter: int) -> None:
        node = literal >> 1
        if not node:
            if literal == TRUE:
                into = self._register()
                self.gates.extend((GATE_ONES, into, 0, 0, GATE_COUNT, counter, into, 0))
                heappush(self._free, into)
            return
        self.write(node)
        kind = GATE_COUNT_NOT if literal & 1 ^ self.denied[node] else GATE_COUNT
        self.gates.extend((kind, counter, self.place[node], 0))
        self.used(node)

    def keep(self, literal: int) -> int:
        """A register that holds the literal to the end."""
        node = literal >> 1
        if not node:
            into = self._register()
            self.gates.extend((GATE_ONES if literal == TRUE else GATE_ZERO, into, 0, 0))
            return into
        self.write(node)
        if literal & 1 == self.denied[node]:
            return self.place[node]  # Its use is never given back.
        own = self.place[node]
        self.used(node)
        into = self._register()
        self.gates.extend((GATE_NOT, into, own, 0))
        return into


def emit(circuit: Circuit, counted: Sequence[int], kept: Sequence[int]) -> Program:
    """A program that counts the states where each of `counted` holds (by counter), and keeps the values of `kept`."""
    emission = _Emission(circuit, counted, list(dict.fromkeys(kept)))
    for counter, literal in enumerate(counted):
        emission.count(literal, counter)
    registers = {literal: emission.keep(literal) for literal in dict.fromkeys(kept)}
    return Program(
        emission.registers, len(counted), emission.gates, emission.loads, array("i", [registers[literal] for literal in kept])
    )
