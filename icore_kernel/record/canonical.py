"""Canonical JSON (RFC 8785) for the values a record holds, and a reader that takes nothing else.

A value is an object with text keys, an array, a text, an integer up to 2^53 - 1 in size, a boolean, or null. There are no
floats: a rational or a larger integer is a text ("3/2"). For these values RFC 8785 leaves one form only: no spaces, keys
sorted by their UTF-16 code units, UTF-8, the shortest escapes. `parse` accepts exactly what `canonical` writes.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import NoReturn, TypeAlias

import msgspec

Value: TypeAlias = "dict[str, Value] | list[Value] | tuple[Value, ...] | str | int | bool | None"

LARGEST = 2**53 - 1
"""The largest integer that every JSON reader holds exactly."""
DEEPEST = 64
"""Objects and arrays within each other."""
LONGEST = 16 * 2**20
"""Bytes of one value."""

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()


class CanonicalError(ValueError):
    """A value that has no canonical form, or bytes that are not one. The message says what, and at which byte or key."""


def canonical(value: object) -> bytes:
    """The canonical form. CanonicalError where the value has none: floats, large integers, lone surrogates, other types."""
    try:
        plain = _admit(value, 0)
        # Sorted by bytes of UTF-8, as msgspec does, is sorted by UTF-16 code units unless a key has a character beyond ASCII.
        written = _encoder.encode(value) if plain else "".join(_pieces(value)).encode()
    except UnicodeEncodeError as wrong:
        raise CanonicalError(f"a lone surrogate in {wrong.object[:40]!r}") from wrong
    if len(written) > LONGEST:
        raise CanonicalError(f"{len(written):,} bytes; at most {LONGEST:,} are written")
    return written


def _admit(value: object, depth: int) -> bool:
    """Whether all keys are ASCII. CanonicalError for what may not stand in a record."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        if not -LARGEST <= value <= LARGEST:  # type: ignore[operator]
            raise CanonicalError(f"{_short(value)} is beyond 2^53 - 1: write it as a text")
        return True
    if depth == DEEPEST:
        raise CanonicalError(f"values nested deeper than {DEEPEST}")
    plain = True
    if kind is dict:
        for key, item in value.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                raise CanonicalError(f"the key {_short(key)} is not a text")
            plain = plain and key.isascii()
            if type(item) is not str:
                plain = _admit(item, depth + 1) and plain
        return plain
    if kind is list or kind is tuple:
        for item in value:  # type: ignore[attr-defined]
            if type(item) is not str:
                plain = _admit(item, depth + 1) and plain
        return plain
    raise CanonicalError(f"{_short(value)} of type {kind.__name__} has no place in a record")


def require_canonical(value: object, name: str) -> None:
    """CanonicalError where the value has no canonical form, with the path to what has none: `outside.why: 0.5 is not written …`."""
    try:
        canonical(value)
    except CanonicalError as wrong:
        raise CanonicalError(_misfit(value, name, 0) or f"{name}: {wrong}") from None


def _misfit(value: object, place: str, depth: int) -> str | None:
    """What first keeps a value from its canonical form, and where."""
    match value:
        case bool() | None:
            return None
        case str():
            return f"{place}: {value[:40]!r} has a lone surrogate" if _surrogates.search(value) else None
        case int() if -LARGEST <= value <= LARGEST and type(value) is int:
            return None
        case int() | float():
            return f"{place}: {_short(value)} is not written in a record; write text"
        case dict() | list() | tuple() if depth == DEEPEST:
            return f"{place[:60]}…: nested deeper than {DEEPEST}"
        case dict():
            for key, item in value.items():
                if type(key) is not str or _surrogates.search(key):
                    return f"{place}: the key {_short(key)} is not written in a record; write text"
                own = f"{place}.{key}" if key.isidentifier() else f"{place}[{key[:80]!r}]"
                if (found := _misfit(item, own, depth + 1)) is not None:
                    return found
            return None
        case list() | tuple():
            return next((found for n, item in enumerate(value) if (found := _misfit(item, f"{place}[{n}]", depth + 1))), None)
    return f"{place}: {_short(value)} of type {type(value).__name__} is not written in a record; write text, or objects and lists of it"


_surrogates = re.compile("[\ud800-\udfff]")


def _short(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length():,} bits"
    return repr(value)[:60]


def _pieces(value: object) -> list[str]:
    """The canonical form in pieces, of a value that `_admit` let through; the general way, for keys beyond ASCII."""
    match value:
        case None:
            return ["null"]
        case bool():
            return ["true" if value else "false"]
        case int():
            return [str(value)]
        case str():
            return [encode_basestring(value)]
        case dict():
            pieces = ["{"]
            for key in sorted(value, key=_utf16):
                pieces += [encode_basestring(key), ":", *_pieces(value[key]), ","]
            return [*(pieces[:-1] if value else pieces), "}"]
        case list() | tuple():
            pieces = ["["]
            for item in value:
                pieces += [*_pieces(item), ","]
            return [*(pieces[:-1] if value else pieces), "]"]
        case _:
            raise CanonicalError(f"{_short(value)} has no place in a record")


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def parse(text: bytes) -> Value:
    """The value whose canonical form these bytes are. CanonicalError says what is wrong with any others, and where."""
    if len(text) > LONGEST:
        raise CanonicalError(f"{len(text):,} bytes; at most {LONGEST:,} are read")
    try:
        if not _too_deep(text):
            value: Value = _decoder.decode(text)
            if canonical(value) == text:
                return value
    except (msgspec.MsgspecError, RecursionError, CanonicalError):
        pass  # what is wrong is said below, the same for all
    raise CanonicalError(fault(text) or "not in canonical form")


_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


def _too_deep(text: bytes) -> bool:
    """Whether brackets are nested deeper than DEEPEST. The decoder recurses in C, as deep as the interpreter's limit lets it, which a
    program may have set higher than its stack is."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    depth = 0
    for bracket in _BRACKETS.findall(_TEXTS.sub(b"", text)):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            return True
    return False


# What is wrong, and where: read again in the plainest way, only for bytes that were refused.


def fault(text: bytes) -> str | None:
    """What keeps these bytes from being a canonical form, with the place of the first such byte; None where nothing does."""
    try:
        read = text.decode()
    except UnicodeDecodeError as wrong:
        return f"byte {wrong.start}: not UTF-8"
    try:
        end = _value(read, 0, 0)
        if end < len(read):
            _wrong(end, f"{_seen(read, end)} after the end of the value")
    except _Fault as found:
        return f"byte {len(read[: found.at].encode())}: {found.what}"
    return None


def end_of_value(text: bytes) -> int | None:
    """Where the value at the beginning of these bytes ends; None where no whole value stands there."""
    read = text.decode(errors="surrogateescape")
    try:
        return len(read[: _value(read, 0, 0)].encode(errors="surrogateescape"))
    except _Fault:
        return None


class _Fault(Exception):
    def __init__(self, at: int, what: str) -> None:
        self.at, self.what = at, what


def _wrong(at: int, what: str) -> NoReturn:
    raise _Fault(at, what)


_NUMBER = re.compile(r"-?[0-9]+([.eE])?")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_SHORT_ESCAPES = dict(zip('"\\bfnrt', '"\\\b\f\n\r\t', strict=True))


def _seen(text: str, at: int) -> str:
    if at >= len(text):
        return "the end"
    named = {" ": "a space", "\t": "a tab", "\r": "a carriage return", "\n": "a line break", "\ufeff": "a byte order mark"}
    return named.get(text[at], repr(text[at]))


def _value(text: str, at: int, depth: int) -> int:
    """Where the value that begins at `at` ends."""
    for word in ("null", "true", "false"):
        if text.startswith(word, at):
            return at + len(word)
    match text[at : at + 1]:
        case '"':
            return _text(text, at)[1]
        case "{" | "[" if depth == DEEPEST:
            _wrong(at, f"values nested deeper than {DEEPEST}")
        case "{":
            return _object(text, at, depth)
        case "[":
            return _array(text, at, depth)
    return _number(text, at)


def _number(text: str, at: int) -> int:
    found = _NUMBER.match(text, at)
    if found is None:
        raise _Fault(at, f"{_seen(text, at)} where a value is expected")
    digits = found[0].lstrip("-")
    if found[1]:
        _wrong(at, "a number with a fraction or an exponent")
    if digits.startswith("0") and found[0] != "0":
        _wrong(at, "minus zero" if digits == "0" else "a number that begins with 0")
    if len(digits) > 16 or int(digits) > LARGEST:
        _wrong(at, "an integer beyond 2^53 - 1")
    return found.end()


def _text(text: str, at: int) -> tuple[str, int]:
    """The text whose quotation mark is at `at`, and where it ends."""
    read, here = "", at + 1
    while True:
        plain = _PLAIN.match(text, here)
        assert plain is not None  # it matches the empty text
        read, here = read + plain[0], plain.end()
        match text[here : here + 1]:
            case '"':
                return read, here + 1
            case "\\":
                character, end = _escape(text, here)
                if encode_basestring(character)[1:-1] != text[here:end]:
                    _wrong(here, f"{text[here:end]} is not the shortest way to write this character")
                read, here = read + character, end
            case "":
                _wrong(here, "a text without its end")
            case control:
                _wrong(here, f"the control character {control!r} without an escape")


def _escape(text: str, at: int) -> tuple[str, int]:
    letter = text[at + 1 : at + 2]
    if letter in _SHORT_ESCAPES and letter:
        return _SHORT_ESCAPES[letter], at + 2
    digits = re.compile("u[0-9a-fA-F]{4}").match(text, at + 1)
    if digits is None:
        if letter == "/":
            return "/", at + 2
        raise _Fault(at, f"the escape \\{letter} is not known")
    return chr(int(digits[0][1:], 16)), digits.end()


def _object(text: str, at: int, depth: int) -> int:
    here, last = at + 1, None
    if text.startswith("}", here):
        return here + 1
    while True:
        if not text.startswith('"', here):
            _wrong(here, f"{_seen(text, here)} where a key is expected")
        key, end = _text(text, here)
        if last is not None and _utf16(key) <= _utf16(last):
            _wrong(here, f"the key {key[:40]!r} a second time" if key == last else f"the key {key[:40]!r} after {last[:40]!r}: not sorted")
        if not text.startswith(":", end):
            _wrong(end, f"{_seen(text, end)} where : is expected")
        last, here = key, _value(text, end + 1, depth + 1)
        if text.startswith("}", here):
            return here + 1
        if not text.startswith(",", here):
            _wrong(here, f"{_seen(text, here)} where , or }} is expected")
        here += 1


def _array(text: str, at: int, depth: int) -> int:
    here = at + 1
    if text.startswith("]", here):
        return here + 1
    while True:
        here = _value(text, here, depth + 1)
        if text.startswith("]", here):
            return here + 1
        if not text.startswith(",", here):
            _wrong(here, f"{_seen(text, here)} where , or ] is expected")
        here += 1
