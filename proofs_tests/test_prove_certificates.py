"""Certificates: written, checked from the files alone by Z3 and by cvc5, tied to their package, refused when anything is changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import CHECKOUT, Icore

from icore_kernel import api
from icore_kernel.check.certificate import certificate_of, unlike
from icore_kernel.check.proof import prove
from icore_kernel.prove import recheck
from icore_kernel.prove.certificate import CertificateError, Claim, Claims, certify, write
from icore_kernel.prove.serial import TermError, record_of, terms_of
from icore_kernel.prove.steps import Steps

EXAMPLES = CHECKOUT / "examples"
PACKAGE = EXAMPLES / "code_change.icore"

LOOP = """language 1
package Loop "1"
agents { ana }
input c { x: 0..9 = 0 }
update step operation transform by ana { view global when c.x < 9 set c.x := if c.x == 0 then 1 else if c.x == 1 then 0 else c.x + 1 }
invariant below: c.x != 4
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of the code change: never changed by a test."""
    folder = tmp_path_factory.mktemp("certificate") / "code_change"
    write(folder, certificate_of(prove(api.load(PACKAGE))))
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(written, tmp_path / "copy"))


def resealed(folder: Path, change: Any) -> None:
    """Change the manifest and everything that it says of files, as somebody would who wants to deceive."""
    manifest = json.loads((folder / recheck.MANIFEST).read_text("utf-8"))
    change(manifest)
    for name in manifest["files"]:
        manifest["files"][name] = recheck.sha256((folder / name).read_bytes()).hexdigest()
    manifest["digest"] = recheck.digest_of(manifest)
    (folder / recheck.MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False), "utf-8")


# ---- from the files alone ------------------------------------------------------------------------------------------------
def test_every_obligation_is_unsat(written: Path) -> None:
    checked = recheck.recheck(written)
    assert checked.failing == () and checked.package == "CodeChange 1.0"
    kinds = {kind for kind, _, _ in checked.answers}
    assert kinds == {"base", "legality", "refusal", "step", "property"}
    legal = [name for kind, name, _ in checked.answers if kind == "legality"]
    assert len(legal) == 27 and "push(change)" in legal
    assert {name for kind, name, _ in checked.answers if kind == "property"} == {"soundness", "merged_as_seen", "four_eyes"}


def test_the_process_that_checks_imports_nothing_of_the_kernel(written: Path, tmp_path: Path) -> None:
    """The script that lies in the folder, run where no icore is to be found; it says what it has imported."""
    code = (
        "import runpy, sys\n"
        "sys.argv = sys.argv[1:]\n"
        "try:\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit as end:\n    status = end.code\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('icore_kernel', 'icore_dsl')), status)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = subprocess.run(
        [sys.executable, "-c", code, str(written / "recheck.py"), str(written)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert said.stdout.splitlines()[-1] == "[] 0"
    assert "85 obligations, 85 unsat" in said.stdout


def test_the_recheck_module_imports_nothing_but_z3_and_the_standard_library() -> None:
    source = Path(recheck.__file__).read_text("utf-8")
    imported = {line.split()[1] for line in source.splitlines() if line.strip().startswith(("import ", "from "))}
    assert imported == {"__future__", "json", "sys", "dataclasses", "hashlib", "pathlib", "typing", "z3"}


def cvc5_solve(text: str) -> str:
    cvc5 = pytest.importorskip("cvc5", reason="cvc5 is an extra: pip install cvc5")
    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("incremental", "true")
    symbols = cvc5.SymbolManager(terms)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "script")
    said = []
    while not (command := parser.nextCommand()).isNull():
        said.append(command.invoke(solver, symbols))
    return "".join(said)


def test_cvc5_agrees(written: Path) -> None:
    pytest.importorskip("cvc5", reason="cvc5 is an extra: pip install cvc5")
    by_cvc5 = recheck.recheck(written, cvc5_solve)
    assert by_cvc5.failing == () and len(by_cvc5.answers) == len(recheck.recheck(written).answers)


def test_an_invariant_by_k_steps_is_certified(tmp_path: Path) -> None:
    file = tmp_path / "loop.icore"
    file.write_text(LOOP, encoding="utf-8")
    loaded = api.load(file)
    certificate = certify(Steps(loaded.system, loaded.bank), Claims(True, ("step",), (), (Claim("below", 3),)), (), {})
    write(tmp_path / "three", certificate)
    checked = recheck.recheck(tmp_path / "three")
    assert checked.failing == ()
    assert [kind for kind, _, _ in checked.answers if kind.startswith("k-")] == [
        "k-base 0 below", "k-base 1 below", "k-base 2 below", "k-step below"
    ]  # fmt: skip
    # Two steps are not enough, and a certificate that says so is no proof.
    write(tmp_path / "two", certify(Steps(loaded.system, loaded.bank), Claims(True, ("step",), (), (Claim("below", 2),)), (), {}))
    assert [answer[0] for answer in recheck.recheck(tmp_path / "two").failing] == ["k-step below"]


def test_a_claim_that_is_not_true_is_not_unsat(tmp_path: Path) -> None:
    file = tmp_path / "loop.icore"
    file.write_text(LOOP.replace("c.x != 4", "c.x != 1"), encoding="utf-8")
    loaded = api.load(file)
    write(tmp_path / "wrong", certify(Steps(loaded.system, loaded.bank), Claims(False, (), (), (Claim("below"),)), (), {}))
    assert [answer[:2] for answer in recheck.recheck(tmp_path / "wrong").failing] == [("step", "step")]
    assert recheck.main([str(tmp_path / "wrong")]) == 1


# ---- changed ---------------------------------------------------------------------------------------------------------------
def test_one_flipped_byte_is_refused_wherever_it_is(folder: Path) -> None:
    for file in sorted(folder.iterdir()):
        content = file.read_bytes()
        for place in {0, len(content) // 3, len(content) // 2, len(content) - 2}:
            changed = bytearray(content)
            changed[place] ^= 1
            file.write_bytes(bytes(changed))
            with pytest.raises(recheck.Refused):
                recheck.recheck(folder)
        file.write_bytes(content)
    assert recheck.recheck(folder).failing == ()


@pytest.mark.parametrize("name", ["base.smt2", "step.smt2", "invariant.json", recheck.MANIFEST])
def test_a_file_that_is_missing_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(recheck.Refused, match="cannot be read"):
        recheck.recheck(folder)


@pytest.mark.parametrize("kind", ["base", "step", "property", "legality"])
def test_a_kind_of_obligation_that_is_left_out_is_refused(folder: Path, kind: str) -> None:
    def leave_out(manifest: dict[str, Any]) -> None:
        manifest["scripts"] = [s for s in manifest["scripts"] if s["kind"] != kind]

    resealed(folder, leave_out)
    with pytest.raises(recheck.Refused, match=f"no {kind} among the obligations"):
        recheck.recheck(folder)


def test_a_claim_without_an_obligation_is_refused(folder: Path) -> None:
    resealed(folder, lambda manifest: manifest["claims"]["invariants"].append({"name": "everything", "k": 1}))
    with pytest.raises(recheck.Refused, match="everything is claimed"):
        recheck.recheck(folder)


@pytest.mark.parametrize("k", [0, -1, 0.5, True, "1", None])
def test_a_claim_by_no_steps_of_induction_is_refused(folder: Path, k: object) -> None:
    """Nothing is asked of the solver for it: it would be claimed for no reason."""
    resealed(folder, lambda manifest: manifest["claims"]["invariants"].append({"name": "four_eyes", "k": k}))
    with pytest.raises(recheck.Refused, match="'four_eyes' is claimed by"):
        recheck.recheck(folder)
    with pytest.raises(CertificateError, match="'four_eyes' is claimed by"):
        unlike(folder, api.load(PACKAGE))


@pytest.mark.parametrize("key", ["legal", "refused"])
def test_what_is_legal_or_refused_is_not_claimed_without_feasibility(folder: Path, key: str) -> None:
    def forge(manifest: dict[str, Any]) -> None:
        other = "refused" if key == "legal" else "legal"
        manifest["claims"].update({"feasible": False, other: []})
        manifest["scripts"] = [s for s in manifest["scripts"] if s["kind"] not in ("legality", "refusal")]

    resealed(folder, forge)
    with pytest.raises(recheck.Refused, match=f"is claimed {key}, which says nothing without feasibility"):
        recheck.recheck(folder)
    with pytest.raises(CertificateError, match="says nothing without feasibility"):
        unlike(folder, api.load(PACKAGE))
    loaded = api.load(PACKAGE)
    names = ("push(change)",)
    claims = Claims(False, *((names, ()) if key == "legal" else ((), names)), ())
    with pytest.raises(CertificateError, match="together with feasibility"):
        certify(Steps(loaded.system, loaded.bank), claims, (), {})


@pytest.mark.parametrize("value", [1, "true", None])
def test_feasibility_is_claimed_or_not(folder: Path, value: object) -> None:
    resealed(folder, lambda manifest: manifest["claims"].update({"feasible": value}))
    with pytest.raises(recheck.Refused, match="does not say whether feasibility is claimed"):
        recheck.recheck(folder)


def test_two_scripts_of_one_kind_are_refused(folder: Path) -> None:
    resealed(folder, lambda manifest: manifest["scripts"].append(manifest["scripts"][-1]))
    with pytest.raises(recheck.Refused, match="two scripts are of one kind"):
        recheck.recheck(folder)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"schema": "icore.certificate/1", "package": "\\ud800", "files": {}}'], ids=["too deep", "half a character"]
)
def test_a_manifest_that_cannot_be_read_is_refused(folder: Path, icore: Icore, text: str) -> None:
    (folder / recheck.MANIFEST).write_text(text, "utf-8")
    with pytest.raises(recheck.Refused, match=r"manifest\.json"):
        recheck.recheck(folder)
    assert icore("recheck", str(folder)).returncode == 2


def test_a_file_name_with_a_nul_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / recheck.MANIFEST).read_text("utf-8"))
    manifest["files"]["a\0b"] = ""
    manifest["digest"] = recheck.digest_of(manifest)
    (folder / recheck.MANIFEST).write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(recheck.Refused, match="not a file of this folder"):
        recheck.recheck(folder)


def test_an_obligation_that_was_emptied_is_unsat_no_longer_or_not_asked(folder: Path) -> None:
    """A question that is not put gives no answer; the names are compared with the answers."""
    file = folder / "step.smt2"
    file.write_text(file.read_text("utf-8").replace("(check-sat)", "", 1), "utf-8")
    resealed(folder, lambda manifest: None)
    with pytest.raises(recheck.Refused, match="does not ask what the manifest says"):
        recheck.recheck(folder)


# ---- about a package ---------------------------------------------------------------------------------------------------------
def test_it_is_about_its_package_and_no_other(written: Path, tmp_path: Path) -> None:
    assert unlike(written, api.load(PACKAGE)) == []
    for name, called in (("code_change_broken", "CodeChangeBroken"), ("release_pipeline", "ReleasePipeline")):
        assert unlike(written, api.load(EXAMPLES / f"{name}.icore")) == [f"this certificate is about CodeChange, not {called}"]
    edited = tmp_path / "edited.icore"
    edited.write_text(PACKAGE.read_text("utf-8") + "invariant nothing: true\n", "utf-8")
    assert unlike(written, api.load(edited)) == ["the manifest's package_digest is another"]


def test_a_weaker_obligation_passes_the_solver_and_not_the_comparison(folder: Path) -> None:
    """`and false` makes everything unsat: the digests can be made to fit, the package cannot."""
    file = folder / "step.smt2"
    file.write_text(file.read_text("utf-8").replace("(push 1)", "(push 1)\n(assert false)"), "utf-8")
    resealed(folder, lambda manifest: None)
    assert recheck.recheck(folder).failing == ()
    assert unlike(folder, api.load(PACKAGE)) == ["step.smt2 is not what CodeChange comes to"]


def test_what_is_not_closed_is_not_claimed() -> None:
    """The clock's range is not proved for every state, so the environment may leave feasibility as far as the proof knows."""
    certificate = certificate_of(prove(api.load(EXAMPLES / "repair_verification.icore")))
    assert not certificate.claims.feasible and certificate.claims.legal == () and certificate.lemmas == ()
    assert [c.name for c in certificate.claims.invariants] == ["values"]


def test_a_certificate_is_not_written_over_something_else(written: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(CertificateError, match="not an empty folder"):
        write(tmp_path, certify(Steps((loaded := api.load(PACKAGE)).system, loaded.bank), Claims(False, (), (), ()), (), {}))
    assert [f.name for f in tmp_path.iterdir()] == ["notes.txt"]


def test_terms_come_back_the_same() -> None:
    loaded = api.load(PACKAGE)
    terms = tuple(c.formula for c in (*loaded.system.feasibility, *loaded.system.accept))
    back = terms_of(json.loads(json.dumps(record_of(terms))), loaded.system, loaded.bank)
    assert all(a is b for a, b in zip(terms, back, strict=True))
    with pytest.raises(TermError, match=r"^node 0 is no term: there is no field nobody$"):
        terms_of({"nodes": [["field", [], "nobody"]], "terms": [0]}, loaded.system, loaded.bank)


def test_the_command_line(icore: Icore, tmp_path: Path) -> None:
    folder = str(tmp_path / "certificate")
    assert icore("prove", str(PACKAGE), "--certificate", folder).returncode == 3  # much is not asked
    again = icore("prove", str(PACKAGE), "--certificate", folder)
    assert again.returncode == 2 and "not an empty folder" in again.stderr
    said = icore("recheck", folder)
    assert said.returncode == 0 and "85 obligations, 85 unsat" in said.stdout and "proved: merged_as_seen" in said.stdout
    about = icore("recheck", folder, "--package", str(PACKAGE))
    assert about.returncode == 0 and "it is about" in about.stdout
    other = icore("recheck", folder, "--package", str(EXAMPLES / "code_change_broken.icore"))
    assert (other.returncode, other.stdout) == (2, "")
    assert other.stderr == "refused: this certificate is about CodeChange, not CodeChangeBroken\n"
    file = Path(folder) / "base.smt2"
    file.write_bytes(file.read_bytes().replace(b"assert", b"assfrt", 1))
    changed = icore("recheck", folder)
    assert changed.returncode == 2 and "changed since it was written" in changed.stderr
