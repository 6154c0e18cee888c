"""Formulas of the theory, asked in single states of small packages: a laboratory for hand-computed cases.

A `Lab` loads a package of `cases/theory/` with a folder of theory files and with `probes`: clauses written like those of
spec/, by name, such as `{"covers": "(q: Obligation, r: Obligation): covers(q, r)"}`. They are added as one more file in a
copy of the folder, so a probe may use every definition of the theory and needs nothing of the kernel's inside. States are
reached by naming updates; nothing is audited on the way, so that unsound states can be looked at too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from icore_kernel import api
from icore_kernel.explore import judge
from icore_kernel.meaning import scalar
from icore_kernel.system import Clause, GroundUpdate
from icore_kernel.terms.node import Term
from icore_kernel.theory_files import theory_directory

CASES = Path(__file__).resolve().parent / "cases" / "theory"
SPEC = theory_directory()
State = tuple[int, ...]
NOTHING: Mapping[str, str] = {}


def theory_copy(source: Path, target: Path) -> Path:
    """A folder `target` with the theory's files of `source`."""
    target.mkdir(parents=True)
    for file in sorted(source.glob("*.icore")):
        shutil.copy(file, target / file.name)
    return target


def case(name: str) -> str:
    return (CASES / f"{name}.icore").read_text(encoding="utf-8")


def load_text(text: str, theory: Path, extra: Mapping[str, str] = NOTHING) -> api.Loaded:
    """A package given as text, with the theory of a folder; `extra` files are added to a copy of the theory."""
    with TemporaryDirectory() as scratch:
        folder = theory_copy(theory, Path(scratch) / "spec")
        for name, content in extra.items():
            (folder / name).write_text(content, encoding="utf-8")
        file = Path(scratch) / "package.icore"
        file.write_text(text, encoding="utf-8")
        return api.load(file, theory=folder)


class Lab:
    """One package under one theory. `holds` asks a probe, `measure` a measure, `broken` which clauses fail in a state."""

    def __init__(self, package: str, theory: Path, probes: Mapping[str, str] = NOTHING) -> None:
        lines = ["language 1", 'theory "probes"', *(f'soundness "probe {name}" {text}' for name, text in probes.items())]
        text = case(package) if "\n" not in package else package
        self.loaded = load_text(text, theory, {"9-probes.icore": "\n".join(lines) + "\n"} if probes else NOTHING)
        self.system = self.loaded.system
        self.start: State = self.system.initial

    # ---- states ------------------------------------------------------------------------------------------------------
    def update(self, name: str) -> GroundUpdate:
        found = [u for u in self.system.updates if u.name == name]
        assert found, f"no update {name}; there are {', '.join(u.name for u in self.system.updates)}"
        return found[0]

    def after(self, *names: str, start: State | None = None) -> State:
        """The state after these updates, each attempted where its `when` holds; nothing is refused."""
        state = self.start if start is None else start
        for name in names:
            update = self.update(name)
            assert judge.occurs(update, state), f"{name} cannot be attempted"
            state = judge.successor(update, state)
        return state

    def refusal(self, state: State, name: str) -> tuple[str, ...]:
        """The labels of all that makes an occurrence of `name` in `state` illegal."""
        assert judge.occurs(self.update(name), state), f"{name} cannot be attempted"
        return tuple(dict.fromkeys(f.clause.label for f in judge.failing(self.system, self.update(name), state)))

    # ---- formulas ----------------------------------------------------------------------------------------------------
    def holds(self, state: State, probe: str, *names: str) -> bool:
        """A probe's instance for these elements. A label of the theory's own clauses may be given too."""
        clauses = [c for c in self._clauses() if c.label in {f"probe {probe}", probe}]
        assert len(clauses) == 1, f"no clause {probe}"
        instances = dict(clauses[0].instances)
        term = instances.get(", ".join(names))
        return True if term is None else truth(term, state)  # the kernel keeps no instance that is true in every state

    def those(self, state: State, probe: str, names: Iterable[str], *rest: str) -> set[str]:
        """The names n for which the probe holds of (n, *rest)."""
        return {n for n in names if self.holds(state, probe, n, *rest)}

    def _clauses(self) -> tuple[Clause, ...]:
        s = self.system
        return (*s.soundness, *s.feasibility, *s.accept, *s.reject, *s.stuck, *s.hypotheses, *s.conclusions)

    def measure(self, state: State, name: str) -> Fraction:
        found = [m for m in self.system.measures if m.name == name]
        assert len(found) == 1, f"no measure {name}"
        return found[0].ratio.at(scalar.evaluate(found[0].ratio.num, state), scalar.evaluate(found[0].ratio.den, state))

    def infeasible(self, state: State) -> tuple[str, ...]:
        return broken(self.system.feasibility, state)

    def not_accept(self, state: State) -> tuple[str, ...]:
        """The clauses of Acc that fail, by their number in A.6."""
        return tuple(label.removeprefix("A.6 ") for label in broken(self.system.accept, state))

    def not_reject(self, state: State) -> tuple[str, ...]:
        return tuple(label.removeprefix("A.6 ") for label in broken(self.system.reject, state))


def truth(term: Term, state: State) -> bool:
    return bool(scalar.evaluate(term, state))


def broken(clauses: Sequence[Clause], state: State) -> tuple[str, ...]:
    return tuple(c.label for c in clauses if not truth(c.formula, state))
