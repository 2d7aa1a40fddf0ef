"""Data of a proof of "0 <= -<x, x>", which is false; tests add what should not do."""

from __future__ import annotations

from flverify.certify.gram import _check


def side(factor):
    """The side factor * <x, x> of an inequality; nothing for None."""
    pairs = [] if factor is None else [["x", "x", factor]]
    return {"pairs": pairs, "values": {}, "constant": "0"}


def false_claim(**changed):
    """Without hypotheses, multipliers and squares, but for what is changed."""
    return {
        "format": _check.FORMAT,
        "version": _check.VERSION,
        "statement": "0 <= -<x, x>",
        "functions": {},
        "vectors": {"x": {"name": "x"}},
        "values": {},
        "zero": [],
        "shifts": [],
        "left": side(None),
        "right": side("-1"),
        "hypotheses": [],
        "multipliers": [],
        "squares": [],
        "slack": "0",
        **changed,
    }
