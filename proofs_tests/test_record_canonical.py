"""Canonical JSON: what RFC 8785 says of the values a record holds, worked out by hand; and a reader that takes nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from icore_kernel.record.canonical import DEEPEST, LARGEST, LONGEST, CanonicalError, _pieces, canonical, end_of_value, fault, parse

INTEGERS = st.integers(-LARGEST, LARGEST)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def reference(value: object) -> bytes:
    """RFC 8785 by another way: sorted by UTF-16 code units first, then the standard library's writer in the order given."""

    def ordered(item: object) -> object:
        if isinstance(item, dict):
            return {key: ordered(item[key]) for key in sorted(item, key=lambda key: [*memoryview(key.encode("utf-16-be")).tolist()])}
        return [ordered(one) for one in item] if isinstance(item, list) else item

    return json.dumps(ordered(value), ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({}, b"{}"),
        ([], b"[]"),
        ("", b'""'),
        ([None, True, False, 0, -1, 10], b"[null,true,false,0,-1,10]"),
        (LARGEST, b"9007199254740991"),
        (-LARGEST, b"-9007199254740991"),
        ({"b": 1, "a": {"d": [], "c": {}}}, b'{"a":{"c":{},"d":[]},"b":1}'),
        ({"10": 1, "9": 2, "": 3, "A": 4, "a": 5}, b'{"":3,"10":1,"9":2,"A":4,"a":5}'),
        ("/ < > & '", b'"/ < > & \'"'),
        ('"\\', b'"\\"\\\\"'),
        ("\b\t\n\f\r", b'"\\b\\t\\n\\f\\r"'),
        ("\x00\x0b\x0f\x1f\x7f", b'"\\u0000\\u000b\\u000f\\u001f\x7f"'),
        ("é€\u2028\U0001f600", b'"\xc3\xa9\xe2\x82\xac\xe2\x80\xa8\xf0\x9f\x98\x80"'),
        ("e\u0301 is not \u00e9", b'"e\xcc\x81 is not \xc3\xa9"'),  # no normalisation
        ((1, (2,)), b"[1,[2]]"),
    ],
)
def test_values_are_written_as_worked_out_by_hand(value: object, written: bytes) -> None:
    assert canonical(value) == written
    assert parse(written) == json.loads(written)


def test_keys_are_sorted_by_utf_16_code_units() -> None:
    """The seven keys of RFC 8785, 3.2.3. U+1F600 is D83D DE00 in UTF-16, before U+FB33, though its code point is larger."""
    keys = ["€", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "ö"]
    written = canonical({key: number for number, key in enumerate(keys)})
    assert written == '{"\\r":1,"1":3,"\u0080":5,"ö":6,"€":0,"\U0001f600":4,"\ufb33":2}'.encode()
    assert list(json.loads(written)) == ["\r", "1", "\u0080", "ö", "€", "\U0001f600", "\ufb33"]


@given(VALUES)
@example({"\ue000": 1, "\U0001f600": 2})
def test_what_is_written_is_rfc_8785_and_is_read_back(value: object) -> None:
    written = canonical(value)
    assert written == reference(value)
    assert written == "".join(_pieces(value)).encode(), "the quick way and the general one"
    assert parse(written) == value
    assert canonical(parse(written)) == written
    assert fault(written) is None


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (1.0, "1.0 of type float has no place"),
        ({"a": [float("nan")]}, "nan of type float"),
        (float("inf"), "inf of type float"),
        (LARGEST + 1, "9007199254740992 is beyond 2^53 - 1: write it as a text"),
        (-LARGEST - 1, "beyond 2^53 - 1"),
        (1 << 16_609, "an integer of 16,610 bits is beyond"),
        ({1: 2}, "the key 1 is not a text"),
        ({None: 2}, "the key None is not a text"),
        ("\ud800", "a lone surrogate in '\\ud800'"),
        ({"é\udfff": 1}, "a lone surrogate"),
        (b"bytes", "of type bytes"),
        ({"a": {1, 2}}, "of type set"),
        (object, "of type type"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_has_no_canonical_form_is_refused_by_name(value: object, says: str) -> None:
    with pytest.raises(CanonicalError) as refused:
        canonical(value)
    assert says in str(refused.value)


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_bounded_in_both_directions() -> None:
    deepest = canonical(nested(DEEPEST))
    assert parse(deepest) == nested(DEEPEST)
    with pytest.raises(CanonicalError, match=f"deeper than {DEEPEST}"):
        canonical(nested(DEEPEST + 1))
    for text in (b"[" + deepest + b"]", b"[" * 200_000, b'{"a":' * 200_000):
        with pytest.raises(CanonicalError, match=f"byte {320 if text.startswith(b'{') else 64}: values nested deeper than {DEEPEST}"):
            parse(text)


def test_nesting_is_bounded_whatever_the_interpreter_would_allow() -> None:
    """In a process of its own: where the bound is not kept, the decoder runs out of stack."""
    program = (
        "import sys\nsys.setrecursionlimit(1_000_000)\n"
        "from icore_kernel.record.canonical import CanonicalError, parse\n"
        "for text in (b'[' * 500_000, b'{\"a\":' * 500_000, b'[\"x\",' * 500_000):\n"
        "    try:\n        parse(text)\n    except CanonicalError as wrong:\n        print('values nested deeper' in str(wrong))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\nTrue\nTrue\n")


def test_brackets_in_texts_are_no_nesting() -> None:
    value = {"a": "[{" * 200, "b": ['"[', "\\", "]" * 300], "c": [[1]] * 80}
    assert parse(canonical(value)) == value


def test_length_is_bounded_in_both_directions() -> None:
    with pytest.raises(CanonicalError, match="at most 16,777,216 are written"):
        canonical("x" * LONGEST)
    with pytest.raises(CanonicalError, match="at most 16,777,216 are read"):
        parse(b" " * (LONGEST + 1))
    assert parse(canonical("x" * (LONGEST - 2))) == "x" * (LONGEST - 2)


REFUSED = {
    b"": "byte 0: the end where a value is expected",
    b" 1": "byte 0: a space where a value is expected",
    b"1 ": "byte 1: a space after the end of the value",
    b"1\n": "byte 1: a line break after the end of the value",
    b"1\r": "byte 1: a carriage return after the end of the value",
    b"\xef\xbb\xbf1": "byte 0: a byte order mark where a value is expected",
    b'{"a": 1}': "byte 5: a space where a value is expected",
    b'{"a":1, "b":2}': "byte 7: a space where a key is expected",
    b'{ "a":1}': "byte 1: a space where a key is expected",
    b'{"a":1,}': "byte 7: '}' where a key is expected",
    b'{"a"}': "byte 4: '}' where : is expected",
    b'{"a":1': "byte 6: the end where , or } is expected",
    b"{a:1}": "byte 1: 'a' where a key is expected",
    b"[1,]": "byte 3: ']' where a value is expected",
    b"[1\t]": "byte 2: a tab where , or ] is expected",
    b'{"a":1,"a":2}': "byte 7: the key 'a' a second time",
    b'{"a":1,"\\u0061":2}': "byte 8: \\u0061 is not the shortest way to write this character",
    b'{"b":1,"a":2}': "byte 7: the key 'a' after 'b': not sorted",
    '{"\ufb33":1,"\U0001f600":2}'.encode(): "byte 9: the key '\U0001f600' after '\ufb33': not sorted",
    b"1.0": "byte 0: a number with a fraction or an exponent",
    b"1e2": "byte 0: a number with a fraction or an exponent",
    b"[0,1E400]": "byte 3: a number with a fraction or an exponent",
    b"-0": "byte 0: minus zero",
    b"-0.0": "byte 0: a number with a fraction or an exponent",
    b"01": "byte 0: a number that begins with 0",
    b"-01": "byte 0: a number that begins with 0",
    b"00": "byte 0: a number that begins with 0",
    b"+1": "byte 0: '+' where a value is expected",
    b".5": "byte 0: '.' where a value is expected",
    b"9007199254740992": "byte 0: an integer beyond 2^53 - 1",
    b"-9007199254740992": "byte 0: an integer beyond 2^53 - 1",
    b"1" * 100_000: "byte 0: an integer beyond 2^53 - 1",
    b"NaN": "byte 0: 'N' where a value is expected",
    b"-Infinity": "byte 0: '-' where a value is expected",
    b"True": "byte 0: 'T' where a value is expected",
    b"nul": "byte 0: 'n' where a value is expected",
    b"nulls": "byte 4: 's' after the end of the value",
    b"'a'": 'byte 0: "\'" where a value is expected',
    b'"a': "byte 2: a text without its end",
    b'"a\nb"': "byte 2: the control character '\\n' without an escape",
    b'"\x00"': "byte 1: the control character '\\x00' without an escape",
    b'"\\/"': "byte 1: \\/ is not the shortest way to write this character",
    b'"\\u000a"': "byte 1: \\u000a is not the shortest way to write this character",
    b'"\\u001F"': "byte 1: \\u001F is not the shortest way to write this character",
    b'"\\u00e9"': "byte 1: \\u00e9 is not the shortest way to write this character",
    b'"\\ud83d\\ude00"': "byte 1: \\ud83d is not the shortest way to write this character",
    b'"\\ud800"': "byte 1: \\ud800 is not the shortest way to write this character",
    b'"\\x41"': "byte 1: the escape \\x is not known",
    b'"\\u12"': "byte 1: the escape \\u is not known",
    b'"\\': "byte 1: the escape \\ is not known",
    b'"\xff"': "byte 1: not UTF-8",
    b'"\xed\xa0\x80"': "byte 1: not UTF-8",  # a surrogate as UTF-8
    b'"\xc0\xaf"': "byte 1: not UTF-8",  # / in two bytes
    '"é" x'.encode(): "byte 4: a space after the end of the value",
    b"1 // one": "byte 1: a space after the end of the value",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text)[:30])
def test_what_is_not_canonical_is_refused_with_what_and_where(text: bytes) -> None:
    with pytest.raises(CanonicalError) as refused:
        parse(text)
    assert str(refused.value) == REFUSED[text]


@given(VALUES, st.data())
def test_a_changed_byte_is_read_only_where_it_makes_another_canonical_form(value: object, data: st.DataObject) -> None:
    """The quick reader and the plain one, which are written apart, accept the same bytes."""
    written = canonical(value)
    at = data.draw(st.integers(0, len(written)))
    inserted = data.draw(st.binary(max_size=2) | st.sampled_from([b'"', b"\\", b",", b"0", b" ", b"e", b"]", b"\n"]))
    changed = written[:at] + inserted + written[at + data.draw(st.integers(0, 2)) :]
    if fault(changed) is None:
        assert canonical(parse(changed)) == changed
    else:
        with pytest.raises(CanonicalError):
            parse(changed)


@given(st.text('{}[]",:\\u01aetrueflsn-. \n'))
def test_random_punctuation_is_read_alike_by_both(text: str) -> None:
    if fault(text.encode()) is None:
        assert canonical(parse(text.encode())) == text.encode()
    else:
        with pytest.raises(CanonicalError):
            parse(text.encode())


@pytest.mark.parametrize(
    ("text", "end"),
    [(b"{}", 2), (b'{"a":"\xc3\xa9"}x', 10), (b'{"a":1', None), (b"", None), (b'"\xff"\xfe', 3), (b"[1]\n\n", 3), (b"\0\0", None)],
)
def test_the_end_of_the_first_value_is_found(text: bytes, end: int | None) -> None:
    assert end_of_value(text) == end
