"""Signed seals: keys in files, what is signed, and forgeries that only a signature gives away."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import CHECKOUT
from record_lab import SMALL, Given, rewritten, sealed_lines

from icore_kernel.record.canonical import parse
from icore_kernel.record.chain import check_chain
from icore_kernel.record.entry import Entry, RecordError, read
from icore_kernel.record.seal import WrongSignature, check_signature, new_key, public_key, read_key, seal
from icore_kernel.record.store import open_store
from icore_kernel.record.verify import Verified, verify

pytest.importorskip("cryptography", reason="the extra `sign` is not installed")

# RFC 8032, 7.1, test 1: the secret key, its public key, the signature of the empty message.
SECRET = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
SIGNATURE = (
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(SECRET, encoding="utf-8")
    return path


def checked(tmp_path: Path, lines: Sequence[bytes], trusted: str | None = None) -> Verified:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(lines))
    return verify(path, trusted, ())


def test_the_key_is_ed25519s_of_rfc_8032(key_file: Path) -> None:
    key = read_key(key_file)
    assert (key.public, key.sign(b"")) == (PUBLIC, SIGNATURE)


def test_what_is_signed_is_the_canonical_form_of_count_format_and_head(key_file: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = read_key(key_file)
    sealed = read(sealed_lines(SMALL, key)[-1][:-1])
    message = b'{"count":3,"format":"icore.seal/1","head":"%b"}' % sealed.prev.encode()
    assert sealed.body["algorithm"] == "ed25519"
    assert parse(message) == {"count": 3, "format": "icore.seal/1", "head": sealed.body["head"]}
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(PUBLIC)).verify(bytes.fromhex(sealed.body["signature"]), message)
    assert check_signature(sealed) == PUBLIC


def test_verify_says_who_signed_and_whether_that_is_the_trusted_key(tmp_path: Path, key_file: Path) -> None:
    key, other = read_key(key_file), new_key(tmp_path / "other")
    lines = sealed_lines(SMALL, key)
    found = checked(tmp_path, lines)
    assert (found.exit_status, found.signed_by, found.trusted) == (0, PUBLIC, False)
    found = checked(tmp_path, lines, PUBLIC)
    assert (found.exit_status, found.signed_by, found.trusted) == (0, PUBLIC, True)
    found = checked(tmp_path, lines, other.public)
    assert (found.exit_status, found.trusted) == (1, False)
    assert found.problems == (f"signed by {PUBLIC}; a signature by {other.public} is expected",)
    found = checked(tmp_path, sealed_lines(SMALL), PUBLIC)
    assert (found.exit_status, found.problems) == (1, (f"not signed; a signature by {PUBLIC} is expected",))
    assert checked(tmp_path, lines[:-1], PUBLIC).exit_status == 3


def lies(entry: Entry) -> Given:
    return entry.kind, {**entry.body, "outcome": "reject"} if entry.kind == "end" else dict(entry.body)


def test_a_forgery_that_keeps_the_signature_is_found_by_anyone(tmp_path: Path, key_file: Path) -> None:
    lines = sealed_lines(SMALL, read_key(key_file))
    forged = rewritten(lines, lies)
    assert check_chain(forged).sealed
    for trusted in (None, PUBLIC):
        found = checked(tmp_path, forged, trusted)
        assert found.exit_status == 1
        assert found.problems == ("the signature is not that of the seal by the key that stands in it",)


def test_a_shortened_record_that_keeps_the_signature_is_found_by_anyone(tmp_path: Path, key_file: Path) -> None:
    lines = sealed_lines(SMALL, read_key(key_file))
    found = checked(tmp_path, rewritten([*lines[:2], lines[3]], lambda entry: (entry.kind, dict(entry.body))))
    assert found.chain.sealed
    assert found.exit_status == 1


def test_a_forgery_without_the_signature_is_found_with_the_trusted_key(tmp_path: Path, key_file: Path) -> None:
    def unsigned(entry: Entry) -> Given:
        kind, body = lies(entry)
        return kind, {**body, "algorithm": None, "key": None, "signature": None} if kind == "seal" else body

    forged = rewritten(sealed_lines(SMALL, read_key(key_file)), unsigned)
    assert checked(tmp_path, forged).exit_status == 0, "nothing in it says that it was signed: only the reader knows"
    assert checked(tmp_path, forged, PUBLIC).exit_status == 1


def test_a_forgery_signed_by_another_key_is_found_with_the_trusted_key(tmp_path: Path, key_file: Path) -> None:
    thief = new_key(tmp_path / "thief")
    changed = [(entry.kind, dict(entry.body)) for entry in (read(line[:-1]) for line in rewritten(sealed_lines(SMALL), lies))][:-1]
    forged = sealed_lines(changed, thief)
    found = checked(tmp_path, forged)
    assert (found.exit_status, found.signed_by) == (0, thief.public), "it says by whom"
    assert checked(tmp_path, forged, PUBLIC).exit_status == 1


@pytest.mark.parametrize("part", ["key", "signature"])
def test_every_changed_digit_of_a_signature_or_its_key_is_found(key_file: Path, part: str) -> None:
    sealed = read(sealed_lines(SMALL, read_key(key_file))[-1][:-1])
    given = sealed.body[part]
    for at, digit in enumerate(given):
        for other in "05af" if digit not in "05af" else "16be":
            changed = Entry(sealed.seq, sealed.prev, sealed.hash, sealed.kind, {**sealed.body, part: given[:at] + other + given[at + 1 :]})
            with pytest.raises(WrongSignature):
                check_signature(changed)


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "rsa"},
        {"algorithm": 1},
        {"key": PUBLIC.upper()},
        {"key": PUBLIC[:-2]},
        {"key": 5},
        {"signature": SIGNATURE},
        {"signature": SIGNATURE + "00"},
        {"signature": None},
        {"key": "00" * 32, "signature": "00" * 64},
        {"key": "ff" * 32},
    ],
)
def test_a_signature_that_is_none_is_wrong_and_no_error(key_file: Path, change: dict[str, object]) -> None:
    sealed = read(sealed_lines(SMALL, read_key(key_file))[-1][:-1])
    with pytest.raises(WrongSignature):
        check_signature(Entry(sealed.seq, sealed.prev, sealed.hash, sealed.kind, {**sealed.body, **change}))


# Keys


def test_nobody_signs_with_the_digits_of_a_public_key(tmp_path: Path) -> None:
    new_key(tmp_path / "team.key")
    with pytest.raises(RecordError, match=r"team\.key\.pub: a public key; .*team\.key is the one that signs"):
        read_key(tmp_path / "team.key.pub")


def test_a_new_key_is_its_owners_alone_and_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "team.key"
    key = new_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(encoding="utf-8").startswith("-----BEGIN PRIVATE KEY-----\n")
    assert read_key(path).public == key.public == public_key(str(tmp_path / "team.key.pub")) == public_key(key.public.upper())
    assert read_key(path).sign(b"x") == key.sign(b"x")
    content = path.read_bytes()
    with pytest.raises(RecordError, match="exists already and was left as it is"):
        new_key(path)
    assert path.read_bytes() == content
    assert new_key(tmp_path / "second.key").public != key.public


def test_public_keys_are_read_from_pem(tmp_path: Path, key_file: Path) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    pem = read_key(key_file).secret.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "public.pem").write_bytes(pem)
    assert public_key(str(tmp_path / "public.pem")) == PUBLIC


def test_what_is_no_key_is_refused_by_name(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat, PublicFormat

    other = ec.generate_private_key(ec.SECP256R1())
    wrong = {
        "words": (b"not a key", "not a private key"),
        "bytes": (b"\xff\xfe", "not a text"),
        "empty": (b"", "not a private key"),
        "short": (SECRET[:-2].encode(), "not a private key"),
        "curve": (other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "but not of Ed25519"),
        "locked": (other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pass")), "without a passphrase"),
    }
    for name, (content, says) in wrong.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RecordError, match=says):
            read_key(tmp_path / name)
        with pytest.raises(RecordError, match=r"not a public key|not a text"):
            public_key(str(tmp_path / name))
    (tmp_path / "curve.pub").write_bytes(other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(RecordError, match="but not of Ed25519"):
        public_key(str(tmp_path / "curve.pub"))
    for read_it in (lambda: read_key(tmp_path / "none"), lambda: public_key(str(tmp_path / "none"))):
        with pytest.raises(RecordError, match="cannot be read: No such file"):
            read_it()
    with pytest.raises(RecordError, match="cannot be written: No such file"):
        new_key(tmp_path / "folder" / "key")


def test_without_the_library_sealing_works_and_signing_says_what_is_missing(tmp_path: Path, key_file: Path) -> None:
    with open_store(tmp_path / "run.jsonl") as store:
        store.append("commit", {})
        seal(store, read_key(key_file))
    code = """
import sys
sys.modules["cryptography"] = None
from pathlib import Path
from icore_kernel.record import open_store
from icore_kernel.record.seal import MissingExtra, new_key, read_key, seal
from icore_kernel.record.verify import verify
for call in (lambda: new_key(Path("x")), lambda: read_key(Path("key"))):
    try: call()
    except MissingExtra as missing: print(missing)
with open_store("plain.jsonl") as store:
    seal(store)
for name in ("plain.jsonl", "run.jsonl"):
    found = verify(name, checks=())
    print(found.exit_status, found.chain.sealed, *found.unsure)
"""
    environment = {"PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'dsl'}"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    missing = "cryptography is not installed: pip install 'icore[sign]', from a checkout pip install '.[sign]'"
    assert done.stderr == ""
    assert done.stdout.splitlines() == [missing, missing, "0 True", f"3 True the signature was not checked: {missing}"]
