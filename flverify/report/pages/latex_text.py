r"""Text and formulas inside a LaTeX document: escaped, and easy to break."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "[": "{[}",
    "]": "{]}",
}
_LONGEST = 24  # characters of a word that stays on one line
_RUN = 12  # characters of a longer one after which a line may be broken


def escaped(text: str) -> str:
    """Text that means nothing but itself; long words may be broken now and then."""
    words = unicodedata.normalize("NFC", text).split()
    return " ".join(_word(word) for word in words)


def _word(word: str) -> str:
    size = _RUN if len(word) > _LONGEST else _LONGEST
    runs = [word[at : at + size] for at in range(0, len(word), size)]
    made = r"\brk{}".join("".join(map(_character, run)) for run in runs)
    return re.sub(r"([-,])(?=\1)", r"\1{}", made)  # no dashes and quotes of two marks


def _character(mark: str) -> str:
    if mark in _SPECIAL:
        return _SPECIAL[mark]
    if " " < mark <= "~" or "À" <= mark <= "ÿ":
        return mark
    return f"{{[}}U+{ord(mark):04X}{{]}}"


_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|.", re.DOTALL)
_SPACES = {r"\quad", r"\qquad", r"\;", r"\ ", ",", ";"}
_ONES = re.compile(r"\\mathbb\s*(\{1\}|1)")


def formula(latex: str) -> str:
    r"""Return a formula with places to break it; words of its stand outside.

    Examples
    --------
    >>> print(formula(r"a\le b,c\text{ for all }d"))
    $\displaystyle a\le b,\allowbreak c$ for all $\displaystyle d$
    """
    out: list[str] = []
    held: list[str] = []
    depth, before = 0, ""
    tokens = _TOKEN.findall(_ONES.sub(r"\\ones ", latex))
    place = 0
    while place < len(tokens):
        token = tokens[place]
        words, after = _words(tokens, place) if depth == 0 else ("", place)
        if words and before not in {"_", "^"}:
            out += [*_set(held), words]
            held, place = [], after
            continue
        depth += {"{": 1, r"\left": 1, r"\begin": 1}.get(token, 0)
        depth -= {"}": 1, r"\right": 1, r"\end": 1}.get(token, 0)
        held.append(token)
        if depth == 0 and token in _SPACES:
            held.append(r"\allowbreak ")
        before, place = token, place + 1
    return "".join([*out, *_set(held)])


def _set(held: Sequence[str]) -> list[str]:
    inner = "".join(held).strip()
    return [rf"$\displaystyle {inner}$"] if inner else []


def _words(tokens: Sequence[str], place: int) -> tuple[str, int]:
    r"""Return the plain words of a `\text` and where they end; nothing if not plain."""
    if tokens[place] != r"\text" or tokens[place + 1 : place + 2] != ["{"]:
        return "", place
    end = place + 2
    while end < len(tokens) and tokens[end] != "}":
        if len(tokens[end]) > 1 or tokens[end] == "{":
            return "", place
        end += 1
    inner = "".join(tokens[place + 2 : end])
    if tokens[end + 1 : end + 2] in (["_"], ["^"], ["'"]) or not inner.strip():
        return "", place
    first = " " if inner[0] == " " else ""
    last = " " if inner[-1] == " " else ""
    return f"{first}{escaped(inner)}{last}", end + 1
