"""What the whole stability analysis costs beside the exploration it stands on: `python proofs_tests/bench/analysis.py --size M`.

Each measurement is a process of its own: processor time of a bare exploration, of one that keeps its step graph, and of all that
`icore stable` decides on that graph but for the solver's questions; and the peak of memory. Printed are medians.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "dsl")]

SIZES = {
    "S": [("ladder_grid", "n=5"), ("decompose", "c=5"), ("kept_owners", "n=6 m=3"), ("last_ones", "n=7 m=3 k=3")],
    "M": [("ladder_grid", "n=6"), ("coverage", "n=5 m=2"), ("decompose", "c=6"), ("kept_owners", "n=7 m=3"), ("last_ones", "n=8 m=3 k=3")],
    "L": [("ladder_grid", "n=7"), ("coverage", "n=6 m=2"), ("decompose", "c=7"), ("kept_owners", "n=8 m=3"), ("last_ones", "n=9 m=3 k=3")],
}


def measured(model: str, settings: dict[str, str]) -> dict[str, float]:
    """In this process."""
    from icore_kernel import api
    from icore_kernel.check.order import condensed, stability, termination
    from icore_kernel.check.whole import Whole
    from icore_kernel.explore.model import Rules
    from icore_kernel.explore.search import explore
    from icore_kernel.system import Property, PropertyKind

    loaded = api.load(HERE / "models" / f"{model}.icore", settings=settings)
    explore(loaded.system, rules=Rules(max_states=20_000))  # imports, page tables
    began = time.process_time()
    bare = explore(loaded.system)
    after = time.process_time()
    found = {"states": bare.states, "steps": bare.steps, "bare": after - began}
    del bare
    rules = Rules(keep_graph=True)
    began = time.process_time()
    exploration = explore(loaded.system, rules=rules)
    after = time.process_time()
    found["kept"] = after - began
    whole = Whole(loaded.system, loaded.bank, exploration, rules)
    told = [
        decide(whole, Property(kind, kind.value, loaded.bank.true, loaded.package.span))
        for kind, decide in ((PropertyKind.TERMINATION, termination), (PropertyKind.STABILITY, stability))
    ]
    found["analysis"] = time.process_time() - after
    found["forms"] = condensed(whole, Property(PropertyKind.STABILITY, "", loaded.bank.true, loaded.package.span))[1].normal_forms
    total = whole.forks().total()
    found["unclassified"] = total.unclassified
    assert len(told) == 2
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=tuple(SIZES), default="S")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--one", metavar="MODEL SETTING ...", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        model, *settings = asked.one.split()
        print(json.dumps(measured(model, dict(item.split("=") for item in settings))))
        return
    heads = ("states", "steps", "forms", "bare s", "kept s", "analysis s", "to bare", "to kept", "MB")
    print(f"{'model':<26}" + "".join(f"{head:>13}" for head in heads))
    for model, settings in SIZES[asked.size]:
        command = [sys.executable, str(HERE / "analysis.py"), "--one", f"{model} {settings}"]
        runs = [json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(asked.repeat)]
        middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        print(f"{model + ' ' + settings:<26}{middle['states']:>13,.0f}{middle['steps']:>13,.0f}{middle['forms']:>13,.0f}", end="")
        bare, kept, analysis = middle["bare"], middle["kept"], middle["analysis"]
        print(f"{bare:>13.2f}{kept:>13.2f}{analysis:>13.2f}{analysis / bare:>13.2f}{analysis / kept:>13.2f}", end="")
        print(f"{middle['megabytes']:>13,.0f}", flush=True)


if __name__ == "__main__":
    main()
