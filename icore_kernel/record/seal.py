"""The seal of a record: how many entries there are and the last one's hash; with a key, signed (Ed25519).

The signature is over the canonical form of {"count", "format": "icore.seal/1", "head"}. Signing and checking need the extra
`sign` (the library cryptography).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from icore_kernel.record.canonical import canonical
from icore_kernel.record.entry import Body, Entry, RecordError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from icore_kernel.record.store import Store

SEAL_FORMAT = "icore.seal/1"
ALGORITHM = "ed25519"

_KEY = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")


class MissingExtra(RecordError):
    """A library that is installed with an extra of icore is not there."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed: pip install 'icore[{extra}]', from a checkout pip install '.[{extra}]'")


class WrongSignature(RecordError):
    """A signature that is not that of the seal by the key that stands in it."""


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """`public` is the public key, 64 hexadecimal digits."""

    public: str
    secret: Ed25519PrivateKey

    def sign(self, message: bytes) -> str:
        signature: bytes = self.secret.sign(message)
        return signature.hex()


def seal(store: Store, key: PrivateKey | None = None) -> Entry:
    """Seal a record, signed where there is a key. SealedRecord when it is sealed already."""

    def body(count: int, head: str) -> Body:
        signature = None if key is None else key.sign(_signed(count, head))
        return {
            "count": count,
            "head": head,
            "key": None if key is None else key.public,
            "signature": signature,
            "algorithm": None if key is None else ALGORITHM,
        }

    return store.finish(body)


def _signed(count: int, head: str) -> bytes:
    return canonical({"count": count, "format": SEAL_FORMAT, "head": head})


def check_signature(sealed: Entry) -> str | None:
    """The public key by which a seal is signed; None where it is not. WrongSignature; MissingExtra when it cannot be checked."""
    algorithm, key, signature = (sealed.body.get(name) for name in ("algorithm", "key", "signature"))
    if algorithm is None and key is None and signature is None:
        return None
    if algorithm != ALGORITHM:
        raise WrongSignature(f"signed by {str(algorithm)[:40]!r}; {ALGORITHM} is expected")
    if not (isinstance(key, str) and _KEY.fullmatch(key) and isinstance(signature, str) and _SIGNATURE.fullmatch(signature)):
        raise WrongSignature("the key must be 64 hexadecimal digits and the signature 128, in small letters")
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as missing:
        raise MissingExtra("cryptography", "sign") from missing
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), _signed(sealed.body["count"], sealed.body["head"]))
    except (InvalidSignature, ValueError) as wrong:
        raise WrongSignature("the signature is not that of the seal by the key that stands in it") from wrong
    return key


# Keys in files


def new_key(path: Path) -> PrivateKey:
    """Make a key and write it to a new file that only its owner may read (PEM, PKCS 8), and its public half to `PATH.pub`."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as missing:
        raise MissingExtra("cryptography", "sign") from missing
    key = _private(Ed25519PrivateKey.generate())
    pem = key.secret.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption_algorithm=serialization.NoEncryption()
    )
    beside = path.with_name(f"{path.name}.pub")
    for place, content, mode in ((path, pem, 0o600), (beside, f"{key.public}\n".encode(), 0o644)):
        try:
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content)
        except FileExistsError as there:
            raise RecordError(f"{place}: exists already and was left as it is") from there
        except OSError as failed:
            raise RecordError(f"{place}: cannot be written: {failed.strerror or failed}") from failed
    return key


def read_key(path: Path) -> PrivateKey:
    """The private key in a file: PEM (PKCS 8, without a passphrase), or its 32 bytes as 64 hexadecimal digits."""
    if path.suffix == ".pub":  # its digits would do for a private key, which everybody would know
        raise RecordError(f"{path}: a public key; {path.with_suffix('')} is the one that signs")
    text = _text(path)
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as missing:
        raise MissingExtra("cryptography", "sign") from missing
    if _KEY.fullmatch(text.lower()):
        return _private(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text)))
    try:
        key = load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as wrong:
        raise RecordError(f"{path}: not a private key without a passphrase, in PEM or as 64 hexadecimal digits") from wrong
    if not isinstance(key, Ed25519PrivateKey):
        raise RecordError(f"{path}: a private key, but not of Ed25519")
    return _private(key)


def _private(key: Ed25519PrivateKey) -> PrivateKey:
    public: bytes = key.public_key().public_bytes_raw()
    return PrivateKey(public.hex(), key)


def public_key(given: str) -> str:
    """The public key, as 64 hexadecimal digits, that is given as such, or as a file that holds them or a PEM of it."""
    if _KEY.fullmatch(given.lower()):
        return given.lower()
    text = _text(Path(given))
    if _KEY.fullmatch(text.lower()):
        return text.lower()
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError as missing:
        raise MissingExtra("cryptography", "sign") from missing
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm) as wrong:
        raise RecordError(f"{given}: not a public key, in PEM or as 64 hexadecimal digits") from wrong
    if not isinstance(key, Ed25519PublicKey):
        raise RecordError(f"{given}: a public key, but not of Ed25519")
    public: bytes = key.public_bytes_raw()
    return public.hex()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as failed:
        raise RecordError(f"{path}: cannot be read: {failed.strerror or failed}") from failed
    except UnicodeDecodeError as wrong:
        raise RecordError(f"{path}: not a key: not a text") from wrong
