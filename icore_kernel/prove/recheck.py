"""Checks a folder that `icore prove --certificate` wrote, by Z3, from its files alone. Nothing but Z3 and the standard library.

    python recheck.py DIR

Every file must have the digest of the manifest, every obligation must be `unsat`, in the order of the manifest, and base and
step must be among them. Exit status 0: checked; 1: an obligation is not `unsat`; 2: refused, it is not what was written;
3: the solver gave up.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

SCHEMA = "icore.certificate/1"
MANIFEST = "manifest.json"


class Refused(Exception):
    """It is no certificate, or not as it was written: the message says what."""


@dataclass(frozen=True)
class Checked:
    """`answers`: (kind, obligation, what the solver said). `claims`: what follows when all are `unsat`."""

    answers: tuple[tuple[str, str, str], ...]
    claims: dict[str, Any]
    package: str

    @property
    def failing(self) -> tuple[tuple[str, str, str], ...]:
        return tuple(answer for answer in self.answers if answer[2] != "unsat")


def digest_of(manifest: dict[str, Any]) -> str:
    """Of everything in the manifest but the digest itself."""
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    return sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, with every file as it says. Refused where one is not."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except OSError as wrong:
        raise Refused(f"{folder / MANIFEST}: cannot be read: {wrong.strerror or wrong}") from wrong
    except (ValueError, RecursionError) as wrong:
        raise Refused(f"{folder / MANIFEST}: not JSON: {wrong}") from wrong
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise Refused(f"{folder / MANIFEST}: not of schema {SCHEMA}")
    try:
        unchanged = manifest.get("digest") == digest_of(manifest)
    except (ValueError, RecursionError) as wrong:
        raise Refused(f"{folder / MANIFEST}: not of schema {SCHEMA}: {wrong}") from wrong
    if not unchanged:
        raise Refused(f"{folder / MANIFEST}: changed since it was written")
    files = manifest.get("files")
    if not isinstance(files, dict):
        raise Refused(f"{folder / MANIFEST}: names no files")
    for name, wanted in files.items():
        if Path(name).name != name or "\0" in name:
            raise Refused(f"{name}: not a file of this folder")
        try:
            content = (folder / name).read_bytes()
        except OSError as wrong:
            raise Refused(f"{folder / name}: cannot be read: {wrong.strerror or wrong}") from wrong
        if sha256(content).hexdigest() != wanted:
            raise Refused(f"{folder / name}: changed since it was written")
    return manifest


def well_formed(claims: dict[str, Any]) -> None:
    """Refused where a claim is of no form that obligations are written for: nothing would be asked about it."""
    if type(claims["feasible"]) is not bool:
        raise Refused("the manifest does not say whether feasibility is claimed")
    for key in ("legal", "refused"):
        names = claims[key]
        if type(names) is not list or any(type(name) is not str for name in names):
            raise Refused(f"what is claimed {key} is no list of names")
        if names and not claims["feasible"]:
            raise Refused(f"{names[0]} is claimed {key}, which says nothing without feasibility")
    if type(claims["invariants"]) is not list:
        raise Refused("the claimed invariants are no list")
    for claim in claims["invariants"]:
        if type(claim["name"]) is not str or type(claim["k"]) is not int or claim["k"] < 1:
            raise Refused(f"{claim['name']!r} is claimed by {claim['k']!r} steps of induction")


def complete(manifest: dict[str, Any]) -> None:
    """Base, step and property are there, and legality where feasibility is claimed. Refused where one is missing."""
    obligations = {script["kind"]: script["obligations"] for script in manifest["scripts"]}
    if len(obligations) != len(manifest["scripts"]):
        raise Refused("two scripts are of one kind")
    claims = manifest["claims"]
    well_formed(claims)
    for kind in ("base", "step", "property", *(("legality", "refusal") if claims["feasible"] else ())):
        if kind not in obligations:
            raise Refused(f"there is no {kind} among the obligations")
    if not obligations["base"]:
        raise Refused("the base says nothing")
    for claim in claims["invariants"]:
        name, k = claim["name"], claim["k"]
        if k == 1 and name not in obligations["property"]:
            raise Refused(f"{name} is claimed, and no obligation is about it")
        if k > 1 and not all(obligations.get(kind) for kind in (f"k-step {name}", *(f"k-base {n} {name}" for n in range(k)))):
            raise Refused(f"{name} is claimed by {k} steps, and their obligations are not there")
    if claims["feasible"]:
        for name in claims["legal"]:
            if name not in obligations["legality"]:
                raise Refused(f"{name} is claimed legal, and no obligation is about it")
        for name in claims["refused"]:
            if name not in obligations["refusal"]:
                raise Refused(f"{name} is claimed refused, and no obligation is about it")


def answers_of(text: str, names: list[str], solve: Any) -> list[str]:
    """What the solver says of each obligation of a script. Refused where they are not those that are named."""
    said = solve(text).split("\n")
    lines = [line.strip().strip('"') for line in said if line.strip()]
    wanted = [name.replace('"', "'") for name in names]
    if lines[0::2] != wanted or len(lines) != 2 * len(wanted):
        raise Refused(f"the script does not ask what the manifest says: {lines[:4]}")
    return lines[1::2]


def z3_solve(text: str) -> str:
    """All that Z3 answers to a script, in a context of its own."""
    import z3

    context = z3.Context()
    answered = z3.Z3_eval_smtlib2_string(context.ref(), text)
    return answered if isinstance(answered, str) else answered.decode()


def recheck(folder: Path, solve: Any = z3_solve) -> Checked:
    """Ask the solver every obligation. Refused where the folder is not what was written."""
    manifest = read_manifest(folder)
    try:
        complete(manifest)
        scripts = [(s["kind"], str(s["file"]), list(s["obligations"])) for s in manifest["scripts"]]
    except (KeyError, TypeError) as wrong:
        what = f"{wrong} is missing" if isinstance(wrong, KeyError) else str(wrong)
        raise Refused(f"{folder / MANIFEST}: not a manifest: {what}") from wrong
    answers: list[tuple[str, str, str]] = []
    for kind, file, names in scripts:
        if file not in manifest["files"]:
            raise Refused(f"{file}: not among the files of the manifest")
        text = (folder / file).read_text("utf-8")
        answers.extend((kind, name, said) for name, said in zip(names, answers_of(text, names, solve), strict=True))
    return Checked(tuple(answers), manifest["claims"], f"{manifest['package']} {manifest['version']}")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        checked = recheck(Path(arguments[0]))
    except Refused as wrong:
        print(f"refused: {wrong}", file=sys.stderr)
        return 2
    for kind, name, said in checked.failing:
        print(f"{kind}: {name}: {said}")
    print(f"{len(checked.answers)} obligations, {len(checked.answers) - len(checked.failing)} unsat")
    if any(said == "sat" for _, _, said in checked.failing):
        return 1
    return 3 if checked.failing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
