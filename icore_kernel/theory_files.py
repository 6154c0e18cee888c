"""Where the theory's text lies: `spec/` of a checkout, or the copy inside an installed package."""

from __future__ import annotations

from pathlib import Path


def theory_directory() -> Path:
    """The folder with the theory's `*.icore` files.

    An installation carries it inside the kernel; a checkout (and an editable installation) has it beside the kernel.
    Raises FileNotFoundError, naming both places, when neither has any file of the theory.
    """
    kernel = Path(__file__).resolve().parent
    places = (kernel / "spec", kernel.parent / "spec")
    for place in places:
        if any(place.glob("*.icore")):
            return place
    raise FileNotFoundError(f"the theory's files are in neither {places[0]} nor {places[1]}: the installation is incomplete")
