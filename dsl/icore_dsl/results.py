"""The names of what every check may say, whatever a package declares: its own properties and runs are called otherwise."""

from __future__ import annotations

STANDING = ("legality", "soundness", "faults", "feasibility", "termination", "settlement", "order stability", "reports", "definedness")
"""Those that a file may expect to be violated."""

BUILT_IN = frozenset({*STANDING, "well-formed", "grounding", "start", "state space", "let through", "dead ends", "search", "vacuity"})
"""Every name that a line of a report has by itself."""
