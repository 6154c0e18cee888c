"""Which decision answers a property of the step graph; `unknown` for all of them where the exploration stopped."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from icore_kernel.check.answers import engine
from icore_kernel.check.plan import ON_GRAPH, Plan
from icore_kernel.explore.model import Audited, Exploration, Mode, Rules
from icore_kernel.load import Loaded
from icore_kernel.system import Property, PropertyKind, System
from icore_kernel.verdict import Assurance, Finding, Result, Verdict

if TYPE_CHECKING:
    from icore_kernel.check.whole import Whole


def asked(system: System, mode: Mode) -> bool:
    """Whether a step graph is needed."""
    return isinstance(mode, Audited) and any(p.kind in ON_GRAPH for p in system.properties)


class OnGraph:
    """Answers with one `Whole`, made when the first answer needs it. `findings` gathers ways in which an answer may be empty."""

    def __init__(self, loaded: Loaded, plan: Plan, exploration: Exploration, rules: Rules) -> None:
        self.loaded = loaded
        self.plan = plan
        self.exploration = exploration
        self.rules = rules
        self.findings: list[Finding] = []
        self.whole: Whole | None = None

    def decide(self, prop: Property) -> Result:
        exploration = self.exploration
        if not isinstance(exploration.mode, Audited):
            return self._unknown(prop, "asked of the audited system only")
        if exploration.states == 0:
            return self._unknown(prop, "no reachable state")
        if exploration.stopped is not None or exploration.graph is None:
            return self._unknown(prop, f"not decided by a search that stopped ({exploration.stopped})")
        started = perf_counter()
        return replace(self._decide(prop), seconds=perf_counter() - started)

    def _decide(self, prop: Property) -> Result:
        from icore_kernel.check import liveness, order
        from icore_kernel.check.whole import Whole

        if self.whole is None:
            self.whole = Whole(self.loaded.system, self.loaded.bank, self.exploration, self.rules)
        whole = self.whole
        match prop.kind:
            case PropertyKind.TERMINATION:
                return order.termination(whole, prop)
            case PropertyKind.STABILITY:
                result = order.stability(whole, prop)
                if result.verdict is Verdict.HOLDS:
                    self.findings.extend(order.order_findings(whole, prop))
                return result
            case PropertyKind.SETTLEMENT:
                return liveness.settlement(whole, self.plan, prop)
            case PropertyKind.EVENTUALLY:
                return liveness.eventually(whole, prop)
            case PropertyKind.LEADSTO:
                return liveness.leadsto(whole, prop)
            case PropertyKind.CONTROLLABLE:
                return liveness.controllable(whole, prop)
            case _:
                raise ValueError(f"{prop.kind.value} is not decided on the step graph")

    def _unknown(self, prop: Property, why: str) -> Result:
        stopped = self.exploration.stopped is not None
        assurance = Assurance.BOUNDED if stopped else Assurance.NONE
        return Result(prop.name, Verdict.UNKNOWN, assurance, why, prop.span, engine=engine(self.exploration))

