"""`python -m proofs_tests.mutation` from the checkout: each mutant of spec/ in turn, until something is different.

Ends with status 1 where a survivor is not explained in README.md, or one that is explained is caught. README.md says more.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS.parent), str(TESTS.parent / "dsl"), str(TESTS), str(TESTS / "theorems")]

from theory_lab import SPEC, theory_copy  # noqa: E402

from icore_kernel import api  # noqa: E402
from icore_kernel.load import InputError, UsageError  # noqa: E402
from mutation.detect import EXPECTED, PACKAGES, Detector, summary  # noqa: E402
from mutation.mutants import Mutant, mutants  # noqa: E402

SURVIVED, REFUSED = "survived", "refused"


def explained() -> dict[str, str]:
    """Survivor -> why, from the table of README.md."""
    lines = [line.strip("| \n") for line in (HERE / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    pairs = [line.split(" | ", 1) for line in lines]
    return {identity.strip("` ").replace("&#124;", "|"): why for identity, why in pairs}


class Run:
    """One scratch copy of spec/, in which one mutant at a time is written."""

    def __init__(self, folder: Path, near: bool = False) -> None:
        self.detector = Detector(SPEC, near)
        self.copy = theory_copy(SPEC, folder / "spec")
        self.sources = {file.name: file.read_text(encoding="utf-8") for file in self.copy.glob("*.icore")}

    def outcome(self, mutant: Mutant) -> str:
        """What caught it, SURVIVED, or REFUSED where the changed text is no theory."""
        file = self.copy / mutant.file
        source = self.sources[mutant.file]
        changed = mutant.apply(source)
        assert changed != source, mutant.identity
        file.write_text(changed, encoding="utf-8")
        try:
            if not self._loads():
                return REFUSED
            return self.detector.caught(mutant.name, self.copy) or SURVIVED
        finally:
            file.write_text(source, encoding="utf-8")

    def _loads(self) -> bool:
        try:
            api.load(TESTS.parent / PACKAGES[0], theory=self.copy)
        except (InputError, UsageError):
            return False
        return True


def chosen(every: list[Mutant], only: str, sample: int, seed: int) -> list[Mutant]:
    found = [m for m in every if only in m.identity]
    if sample and sample < len(found):
        found = sorted(random.Random(seed).sample(found, sample), key=every.index)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proofs_tests.mutation", description="Mutate spec/ and see that some test notices.")
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--sample", type=int, default=0, help="so many of them, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", default="", help="mutants of this file of spec/")
    parser.add_argument("--near", action="store_true", help="ask only the tests next to what was changed; skip what README.md explains")
    parser.add_argument("--list", action="store_true", help="name them and do nothing")
    parser.add_argument("--expected", action="store_true", help=f"write {EXPECTED.name} anew, from spec/ as it is")
    asked = parser.parse_args()
    if asked.expected:
        EXPECTED.write_text(json.dumps({p: summary(p, SPEC) for p in PACKAGES}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0
    every = [m for m in mutants(SPEC) if asked.file in m.file and not (asked.near and m.identity in explained())]
    found = chosen(every, asked.only, asked.sample, asked.seed)
    if asked.list:
        print("\n".join(m.identity for m in found))
        return 0
    return report(found, whole=not (asked.only or asked.sample or asked.file or asked.near), near=asked.near)


def report(found: list[Mutant], whole: bool, near: bool = False) -> int:
    """Run them and say what came of each that was not caught; the score at the end."""
    reasons = explained()
    by: Counter[str] = Counter()
    outcomes: dict[str, str] = {}
    began = process_time()
    with TemporaryDirectory() as scratch:
        run = Run(Path(scratch), near)
        for mutant in found:
            outcome = outcomes[mutant.identity] = run.outcome(mutant)
            by[outcome] += 1
            if outcome == SURVIVED and mutant.identity not in reasons:
                print(f"SURVIVED  {mutant.file}: {mutant.identity}", flush=True)
    survived = [identity for identity, outcome in outcomes.items() if outcome == SURVIVED]
    stale = [i for i in reasons if outcomes.get(i, SURVIVED) != SURVIVED or (whole and i not in outcomes)]
    for identity in stale:
        print(f"EXPLAINED, and not a survivor: {identity}")
    alive = len(found) - by[REFUSED]
    caught = alive - by[SURVIVED]
    open_ones = [i for i in survived if i not in reasons]
    print(
        f"{len(found)} mutants, {by[REFUSED]} refused as no theory; of {alive}, {caught} caught, {len(survived)} survived, "
        f"{len(survived) - len(open_ones)} of them explained; {process_time() - began:.0f} s of processor time"
    )
    return 1 if open_ones or stale else 0


if __name__ == "__main__":
    sys.exit(main())
