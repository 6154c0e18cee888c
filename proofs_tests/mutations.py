"""Random changes of texts: at lexemes (mostly ill formed afterwards) and in white space only (the meaning stays)."""

from __future__ import annotations

from random import Random

from icore_dsl.lexemes import cut
from icore_dsl.source import Lines

RUBBISH = (
    *('"', "`", "\0", "é", "}", "(", "{", "#", "\t", "not ", "..", "\ufeff", "\u0301", "?", "- "),
    *("3x", "package B ", "\n}\n", "\r", "𝄞"),
)
SPACES = (" ", "  ", "    ", "\n", "\n\n\n", "\t", "\r\n", "\n    ", "  # hi\n", "\n# own, line\n  ", " \t ")


def parts(text: str) -> list[tuple[str, str]]:
    """White space and what follows it, a lexeme or a comment, over the whole text."""
    found = cut(text, Lines(text, ""))
    places = [(lexeme.start, lexeme.end) for lexeme in found.lexemes] + [(item.span.start, item.span.end) for item in found.comments]
    before = 0
    pairs: list[tuple[str, str]] = []
    for start, end in sorted(places):
        pairs.append((text[before:start], text[start:end]))
        before = end
    return pairs


def mutated(text: str, seed: int) -> str:
    """The text with one to three lexemes deleted, repeated, replaced, exchanged or made rubbish, or cut off."""
    random = Random(seed)
    pieces = [space + word for space, word in parts(text)]
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(pieces))
        other = random.randrange(len(pieces))
        change = random.randrange(7)
        if change == 0 and len(pieces) > 1:
            del pieces[at]
        elif change == 1:
            pieces.insert(at, pieces[other])
        elif change == 2:
            pieces[at] = pieces[other]
        elif change == 3:
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif change == 4:
            pieces[at] = random.choice(RUBBISH)
        elif change == 5:
            pieces[at] += random.choice(RUBBISH)
        else:
            del pieces[at + 1 :]
    return "".join(pieces)


def respaced(text: str, seed: int) -> str:
    """The text with other white space, other line breaks and more comments between the same lexemes."""
    random = Random(seed)
    often = random.choice((0.02, 0.2, 0.9))
    out: list[str] = []
    after_comment = False
    for space, word in parts(text):
        if random.random() < often and (space or not out):
            chosen = random.choice((*SPACES, space + " ", space + "  "))
            space = "\n" + chosen if after_comment and "\n" not in chosen.partition("#")[0] else chosen
        out += [space, word]
        after_comment = word.startswith("#")
    return "".join(out)
