"""From offers to steps: which candidate successors of a block commit, what is refused, what is a violation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icore_kernel.explore.blocks import Block, Keys, Rows, Run, Visited, Words, differ, distinct, keys_of
from icore_kernel.explore.judge import Role
from icore_kernel.explore.kernel import Offer, VectorKernel
from icore_kernel.explore.layout import Layout
from icore_kernel.explore.tally import Tally
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.system import Clause, Kind, System

Mask = NDArray[np.bool_]
Failures = list[tuple[str, Mask]]
"""For each clause that fails somewhere, in the order of judgement, its label and the rows of an offer where it fails."""


@dataclass(slots=True)
class Steps:
    """The committed occurrences of one update in a block: `rows` (ascending) lead to `successors`, row by row."""

    update: int
    rows: Rows
    successors: Words


class _Infeasible:
    """Infeasible candidates of one block, and for each the clauses that fail: `failing` has shape (n, clauses)."""

    def __init__(self, run: Run, failing: Mask) -> None:
        self.run = run
        self.failing = failing


class Stepper:
    """Judges offers. A state not met before is feasible when all clauses hold in it; of those met before, the infeasible
    ones are remembered, so each different candidate is evaluated once a block and no feasible state twice."""

    def __init__(
        self,
        system: System,
        layout: Layout,
        roles: Sequence[Role],
        kernel: VectorKernel,
        visited: Visited,
        proved: frozenset[int],
        seed: int,
    ) -> None:
        self.system = system
        self.layout = layout
        self.infeasible = Visited()
        self._roles = roles
        self._kernel = kernel
        self._visited = visited
        self._proved = proved
        self._seed = seed
        self._judged = any(part.judged for part in roles)
        self._clauses = [clause for clause in system.feasibility if not clause.formula.is_true]
        self._length = max(2**11, min(2**17, 2**24 // max(1, len(self._clauses))))

    def fresh(self, words: Words) -> tuple[Keys, Words]:
        """The different states among the given that were not met before, in ascending order of key."""
        return self._visited.absent(*distinct(words, self._seed))

    def note_infeasible(self, words: Words) -> None:
        """Remember which of the given states (all different, met now) are infeasible."""
        if self._judged:
            keys, words = distinct(words, self._seed)
            found = self._evaluate(keys, words)
            if found is not None:
                self.infeasible.add(found.run.keys, found.run.words)

    def step(self, block: Block, base: int, tally: Tally) -> tuple[Keys, Words, Mask]:
        """New states by ascending key, with keys; and which states of the block have a productive step."""
        steps, fresh = self._steps(block, base, tally)
        productive = np.zeros(len(block), dtype=bool)
        for taken in steps:
            moved = differ(taken.successors, np.take(block.words, taken.rows, axis=0))
            count, moving = len(moved), int(np.count_nonzero(moved))
            tally.committed[taken.update] += count
            tally.steps += count
            tally.stutters += count - moving
            productive[taken.rows if moving == count else taken.rows[moved]] = True
        if fresh is None:
            parts = [taken.successors for taken in steps]
            fresh = self.fresh(np.concatenate(parts)) if parts else self.fresh(np.zeros((0, self.layout.words), dtype=np.uint64))
        return (*fresh, productive)

    def steps(self, block: Block) -> list[Steps]:
        """The steps alone, by ascending update index."""
        return self._steps(block, 0, None)[0]

    def _steps(self, block: Block, base: int, tally: Tally | None) -> tuple[list[Steps], tuple[Keys, Words] | None]:
        """The steps, and the new states among their successors where they fell out on the way."""
        offers = list(self._kernel.expand(block))
        if tally is not None:
            for offer in offers:
                self._tally_offer(offer, base, tally)
        if not self._judged:
            return [Steps(offer.update, offer.rows, offer.successors) for offer in offers], None
        trusted = self._proved if not self.infeasible.runs else frozenset[int]()
        tested = [offer for offer in offers if offer.update not in trusted and len(offer.rows)]
        infeasible, fresh = self._candidates(tested)
        complete = fresh is not None and len(tested) == sum(1 for offer in offers if len(offer.rows))
        steps: list[Steps] = []
        spoilt: list[Words] = []
        for offer in offers:
            failures = self._failures(offer, block, infeasible) if offer.update not in trusted else []
            rows, successors = offer.rows, offer.successors
            if failures:
                illegal = np.logical_or.reduce([failing for _, failing in failures])
                if tally is not None:
                    self._tally_illegal(offer, failures, base, tally)
                if self.system.updates[offer.update].kind is Kind.ENVIRONMENT:
                    spoilt.append(successors[illegal])
                else:
                    rows, successors = rows[~illegal], np.compress(~illegal, successors, axis=0)
                    complete = False
            if self._roles[offer.update].fault and tally is not None and len(rows):
                tally.passed[self._roles[offer.update].name] += len(rows)
            if len(rows):
                steps.append(Steps(offer.update, rows, successors))
        if spoilt and infeasible is not None:
            self._remember(np.concatenate(spoilt), infeasible)
        return steps, fresh if complete else None

    def _tally_offer(self, offer: Offer, base: int, tally: Tally) -> None:
        update, part = self.system.updates[offer.update], self._roles[offer.update]
        tally.enabled[offer.update] += offer.enabled
        tally.committable[offer.update] += offer.committable
        if offer.enabled > offer.committable and not part.attempts_pass:
            tally.refusals[part.attempt, "requires"] += offer.enabled - offer.committable
        if offer.undefined_attempts:
            tally.refusals[part.attempt, "range"] += offer.undefined_attempts
        if len(offer.undefined):
            if part.fault:
                tally.refusals[part.name, "range"] += len(offer.undefined)
            else:
                tally.violation(update.schema, "range", len(offer.undefined), base + int(offer.undefined[0]), offer.update)

    def _tally_illegal(self, offer: Offer, failures: Failures, base: int, tally: Tally) -> None:
        part = self._roles[offer.update]
        if part.fault:
            left = np.ones(len(offer.rows), dtype=bool)
            for label, rows in failures:
                count = int(np.count_nonzero(rows & left))
                if count:
                    tally.refusals[part.name, label] += count
                left &= ~rows
            return
        schema = self.system.updates[offer.update].schema
        labels: dict[str, Mask] = {}
        for label, rows in failures:
            labels[label] = labels[label] | rows if label in labels else rows
        for label, rows in labels.items():
            first = base + int(offer.rows[np.argmax(rows)])
            tally.violation(schema, label, int(np.count_nonzero(rows)), first, offer.update)

    def _candidates(self, tested: list[Offer]) -> tuple[_Infeasible | None, tuple[Keys, Words] | None]:
        """The infeasible candidates among the offers, and all new ones (None where there was no need to look)."""
        if not self._clauses or not tested:
            return None, None
        keys, words = distinct(np.concatenate([offer.successors for offer in tested]), self._seed)
        fresh = self._visited.absent(keys, words)
        known = self.infeasible.contains(keys, words)
        if not known.any():
            return self._evaluate(*fresh), fresh
        doubtful = known.copy()
        if len(fresh[0]):
            doubtful |= Run(*fresh).find(keys, words)[0]
        return self._evaluate(keys[doubtful], words[doubtful]), fresh

    def _evaluate(self, keys: Keys, words: Words) -> _Infeasible | None:
        """The infeasible ones of different states in ascending order of key."""
        bad: list[Rows] = []
        failing: list[Mask] = []
        formulas = [clause.formula for clause in self._clauses]
        for begin in range(0, len(keys), self._length) if formulas else ():
            block = Block(self.layout, words[begin : begin + self._length])
            values = evaluate_block(formulas, block.column, len(block))
            rows = np.flatnonzero(~np.logical_and.reduce(values))
            if len(rows):
                bad.append(rows + begin)
                failing.append(np.stack([~value[rows] for value in values], axis=1))
        if not bad:
            return None
        rows = np.concatenate(bad)
        return _Infeasible(Run(keys[rows], words[rows]), np.concatenate(failing))

    def _failures(self, offer: Offer, block: Block, infeasible: _Infeasible | None) -> Failures:
        """Every clause that fails for some row of the offer: before, after, feasibility."""
        update = self.system.updates[offer.update]
        failures: Failures = []
        if not len(offer.rows):
            return failures
        if update.before:
            failures += _failing(update.before, block.take(offer.rows))
        if update.after:
            failures += _failing(update.after, Block(self.layout, offer.successors))
        if infeasible is not None:
            found, place = infeasible.run.find(keys_of(offer.successors, self._seed), offer.successors)
            if found.any():
                failing = infeasible.failing[place] & found[:, np.newaxis]
                for number in np.flatnonzero(failing.any(axis=0)).tolist():
                    failures.append((self._clauses[number].label, failing[:, number]))
        return failures

    def _remember(self, words: Words, infeasible: _Infeasible) -> None:
        """Committed successors that are illegal: the infeasible ones are known as such from now on."""
        keys, words = distinct(words, self._seed)
        found, _ = infeasible.run.find(keys, words)
        self.infeasible.add(*self.infeasible.absent(keys[found], words[found]))


def _failing(clauses: tuple[Clause, ...], block: Block) -> Failures:
    values = evaluate_block([clause.formula for clause in clauses], block.column, len(block))
    return [(clause.label, ~value) for clause, value in zip(clauses, values, strict=True) if not value.all()]
