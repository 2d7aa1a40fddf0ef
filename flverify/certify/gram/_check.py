"""Check a proof from inner products, with the standard library alone.

A certificate states: for all vectors of any Hilbert space, all functions of the listed
classes, and all numbers with the listed assumptions, left <= right. It proves it by

    right - left = sum multiplier * gap + sum <zero vector, shift> + sum weight |v|^2
                   + slack

which is expanded here from the certificate's data and nothing else: the gaps of the
function classes are written down once more, not taken from the prover. So is the
statement in words, with every assumption; the certificate has to print the same. And
it has to list a model of its assumptions, unless they hold where everything is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flverify.certify.gram._check_gaps import Gaps
from flverify.certify.gram._check_model import model_fault
from flverify.certify.gram._check_reader import (
    DamagedError,
    Reader,
    Terms,
    add,
    equality,
    nonnegative,
    number,
    product,
    rows,
)
from flverify.certify.gram._check_words import statement

FORMAT, VERSION = "flverify/gram-certificate", 1


def verify(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate proves its statement, and its data say just that.

    The statement names no classes: they are listed under `functions`.

    Examples
    --------
    >>> x = {"x": "1"}
    >>> proof = {"format": FORMAT, "version": VERSION, "functions": {},
    ...     "statement": "0 <= 2 <x, x>",
    ...     "vectors": {"x": {"name": "x"}}, "values": {}, "zero": [], "shifts": [],
    ...     "left": {"pairs": [], "values": {}, "constant": "0"},
    ...     "right": {"pairs": [["x", "x", "2"]], "values": {}, "constant": "0"},
    ...     "hypotheses": [], "multipliers": [], "squares": [["2", x]], "slack": "0"}
    >>> verify(proof), verify({**proof, "squares": [["1", x]]})
    (True, False)
    >>> verify({**proof, "statement": "0 <= <x, x>"})
    False
    """
    return not fault(certificate)


def fault(certificate: Mapping[str, Any]) -> str:
    """Say what is wrong with a certificate; empty if it holds."""
    return _said(lambda reader: _false(reader) or model_fault(reader), certificate)


def identity_fault(certificate: Mapping[str, Any]) -> str:
    """Say what is wrong with an identity, even if no model of its assumptions is known.

    What follows from assumptions without one may follow because they contradict each
    other.
    """
    return _said(_false, certificate)


def _said(judge: Callable[[Reader], str], certificate: Mapping[str, Any]) -> str:
    try:
        return judge(Reader(certificate))
    except RecursionError:
        return "damaged: its points are nested too deeply"
    except DamagedError as error:
        return f"damaged: {error}"
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        return f"damaged: {type(error).__name__} {error}"


def _false(reader: Reader) -> str:
    """Expand both sides of the identity and compare; then compare the statement."""
    data = reader.data
    if data["format"] != FORMAT or repr(data["version"]) != repr(VERSION):
        return "another format or version"
    rest = reader.terms(data["right"])
    add(rest, reader.terms(data["left"]), Fraction(-1))
    add(rest, _proved(reader), Fraction(-1))
    wrong = sorted(key for key, value in rest.items() if value)
    if wrong:
        return f"the identity fails in {wrong}"
    shown = statement(reader)
    return "" if data["statement"] == shown else f"it proves another one: {shown}"


def _proved(reader: Reader) -> Terms:
    """Add up what is not negative; refuse a part that may be."""
    data, gaps = reader.data, Gaps(reader)
    total: Terms = {("", ""): nonnegative(data["slack"], "slack")}
    multipliers = rows(data["multipliers"], "multipliers")
    for entry, text in zip(reader.hypotheses(), multipliers, strict=True):
        free = equality(entry)
        multiplier = number(text) if free else nonnegative(text, "multiplier")
        add(total, gaps.of(entry), multiplier)
    shifts = rows(data["shifts"], "shifts")
    for zero, shift in zip(reader.zero(), shifts, strict=True):
        add(total, product(zero, reader.vector(shift)))
    for entry in rows(data["squares"], "squares"):
        text, listed = rows(entry, "a square")
        form = reader.vector(listed)
        add(total, product(form, form), nonnegative(text, "weight"))
    return total
