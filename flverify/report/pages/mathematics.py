"""Statements in MathML.

Every browser draws MathML without a script, but not all know its alphabets nor break
its lines: letters become characters of their own, and a formula becomes pieces to wrap
between.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cache
from itertools import pairwise
from xml.etree.ElementTree import Element, tostring

from latex2mathml import exceptions
from latex2mathml.converter import Converter

from flverify.report.pages.allowed import allowed

_CANNOT = (
    exceptions.NumeratorNotFoundError,
    exceptions.DenominatorNotFoundError,
    exceptions.ExtraLeftOrMissingRightError,
    exceptions.MissingSuperScriptOrSubscriptError,
    exceptions.DoubleSubscriptsError,
    exceptions.DoubleSuperscriptsError,
    exceptions.NoAvailableTokensError,
    exceptions.InvalidStyleForGenfracError,
    exceptions.MissingEndError,
    exceptions.InvalidAlignmentError,
    exceptions.InvalidWidthError,
    exceptions.LimitsMustFollowMathOperatorError,
    AttributeError,
    IndexError,
    KeyError,
    StopIteration,
    RuntimeError,  # a StopIteration inside a generator
    RecursionError,
    TypeError,
    ValueError,
)


def understood(latex: str) -> bool:
    r"""Whether a statement may be set as mathematics.

    Examples
    --------
    >>> understood(r"\frac{1}{2}\le x_i"), understood(r"\input{/etc/passwd}")
    (True, False)
    >>> understood(r"\frac{1}{2"), understood("100 % true"), understood(r"\quadA")
    (False, False, False)
    """
    return allowed(latex) and _converted(latex) is not None


def mathml(latex: str) -> str | None:
    """Return a statement as pieces of MathML and text; None if not understood.

    Parameters
    ----------
    latex : str
        Without dollar signs.
    """
    if not understood(latex):
        return None
    row = _converted(latex)
    return None if row is None else "<wbr>".join(_pieces(list(deepcopy(row))))


@cache
def _converted(latex: str) -> Element | None:
    """Convert to MathML; None if the converter cannot."""
    plain = latex.replace(r"\textstyle", "")
    plain = re.sub(r"\\arg(?![a-zA-Z])", r"\\operatorname{arg}", plain)
    try:
        math = Converter(display="block").convert_to_element(plain)
    except _CANNOT:
        return None
    row = math[0]
    for one in row.iter():
        _mend(one)
    for one in list(row.iter()):
        _join_definitions(one)
        _lower_limits(one)
    left_over = any(
        "\\" in (one.text or "") for one in row.iter() if one.tag != "mtext"
    )
    return None if left_over else row


_DELIMITERS = {
    r"\{": "{",
    r"\}": "}",
    r"\|": "‖",
    r"\langle": "⟨",
    r"\rangle": "⟩",
    r"\lfloor": "⌊",
    r"\rfloor": "⌋",
    r"\lceil": "⌈",
    r"\rceil": "⌉",
    r"\vert": "|",
    r"\Vert": "‖",
}


def _mend(one: Element) -> None:
    """Turn references into characters and alphabets into letters of their own."""
    text = html.unescape(one.text or "")
    alphabet = one.attrib.get("mathvariant", "normal")
    if alphabet != "normal":
        del one.attrib["mathvariant"]
        text = "".join(_letter(alphabet, mark) for mark in text)
    one.text = _DELIMITERS.get(text, text) or None
    if one.tag == "mi" and text in _FENCES:
        one.tag = "mo"
        one.attrib["stretchy"] = "false"
    if one.tag == "mo" and text in _CLOSE:
        one.attrib.update({"lspace": "0", "rspace": "0", "stretchy": "false"})


def _join_definitions(row: Element) -> None:
    """Make `:` and `=` one sign."""
    for first, second in pairwise(list(row)):
        if (first.tag, first.text, second.tag, second.text) == ("mo", ":", "mo", "="):
            first.text = ":="
            row.remove(second)


def _lower_limits(one: Element) -> None:
    """Write what a minimum or limit is over below it."""
    if one.tag == "msub" and len(one) and _core(one) in _LIMITS:
        one.tag = "munder"
        one[0].attrib["movablelimits"] = "true"


_LIMITS = frozenset({"lim", "inf", "sup", "min", "max"})
_FENCES = "⌊⌋⌈⌉"
_CLOSE = "|/"  # written without space, as in the print
_ALPHABETS = {
    "double-struck": ("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK"),
    "bold": ("MATHEMATICAL BOLD",),
    "bold-italic": ("MATHEMATICAL BOLD ITALIC", "MATHEMATICAL BOLD"),
    "sans-serif": ("MATHEMATICAL SANS-SERIF",),
    "script": ("MATHEMATICAL SCRIPT", "SCRIPT"),
    "fraktur": ("MATHEMATICAL FRAKTUR", "BLACK-LETTER"),
    "monospace": ("MATHEMATICAL MONOSPACE",),
}


def _letter(alphabet: str, mark: str) -> str:
    """Return a letter of an alphabet, or the letter itself if there is none.

    Examples
    --------
    >>> [_letter("double-struck", mark) for mark in "ER1"]
    ['𝔼', 'ℝ', '𝟙']
    """
    name = unicodedata.name(mark, "")
    short = re.sub(r"^(LATIN|GREEK) ", "", name).replace("LETTER ", "")
    for prefix in _ALPHABETS.get(alphabet, ()):
        try:
            return unicodedata.lookup(f"{prefix} {short}")
        except KeyError:
            continue
    return mark


_RELATIONS = frozenset("=≤≥<>≠≡≈∼≪≫∝→⇒⇐⇔⟹⟺") | {":="}
_SIGNS = frozenset("+−-±∓")
_OPENING = frozenset("([{⟨⌊⌈,;:|") | _RELATIONS | _SIGNS
_PAIRS = {")": "(", "]": "[", "}": "{", "⟩": "⟨", "‖": "‖", "|": "|"}
_SHORT = 16  # parts of a bracket that is kept on one line


def _pieces(row: Sequence[Element]) -> Iterator[str]:
    """Yield parts between which a line may be broken: before relations and signs."""
    held: list[Element] = []
    together = _brackets(row)
    for place, one in enumerate(row):
        text = (one.text or "").strip()
        words = one.tag == "mtext" and len(text) > 1
        gap = one.tag == "mspace" and one.attrib.get("width", "").rstrip("em") >= "1"
        breaks = place not in together and _breaks(text, row[place - 1])
        if held and (words or gap or breaks):
            yield _math(held)
            held = []
        if words:
            yield _words(one.text or "")
        elif gap:
            yield '<span class="gap"> </span>'
        else:
            held.append(one)
        if held and text in {",", ";"} and place not in together:
            yield _math(held)
            held = []
    if held:
        yield _math(held)


def _brackets(row: Sequence[Element]) -> set[int]:
    """Places inside brackets and norms that are short enough for one line."""
    inside: set[int] = set()
    waiting: list[tuple[str, int]] = []
    for place, one in enumerate(row):
        mark = _core(one)
        opening = _PAIRS.get(mark, "")
        if opening in [known for known, _ in waiting]:
            begun = place
            while waiting:  # a bar that stands alone is passed over
                known, begun = waiting.pop()
                if known == opening:
                    break
            if place - begun <= _SHORT:
                inside |= set(range(begun + 1, place + 1))
        elif mark in _PAIRS.values():
            waiting.append((mark, place))
    return inside


def _core(one: Element) -> str:
    """Text of an element without what is above or below it."""
    while len(one) and one.tag in {"msup", "msub", "msubsup"}:
        one = one[0]
    return (one.text or "").strip() if one.tag == "mo" else ""


def _breaks(text: str, before: Element) -> bool:
    """Whether a line may be broken before a relation, or a sign that is no prefix."""
    if text in _RELATIONS:
        return True
    opened = before.tag == "mo" and (before.text or "") in _OPENING
    return text in _SIGNS and not opened


def _words(text: str) -> str:
    return f"<span>{html.escape(text.replace(chr(160), ' '))}</span>"


def _math(held: Sequence[Element]) -> str:
    first = held[0]
    if first.tag == "mo" and (first.text or "") in _RELATIONS | _SIGNS and held[1:]:
        first.attrib["form"] = "infix"
    math = Element("math", {"displaystyle": "true"})
    math.extend(held)
    return tostring(math, encoding="unicode")
