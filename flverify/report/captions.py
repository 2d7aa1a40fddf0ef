"""Captions of figures: paragraphs, and the ledger's verdicts on what is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from flverify._core.errors import InputError
from flverify._core.shipped import shipped_folder
from flverify._core.shown import shown
from flverify.claims import ledger_file

WIDTH = 80


def caption(title: str, *paragraphs: str, claims: Sequence[str] = ()) -> str:
    """Return title, paragraphs and verdicts, wrapped, with empty lines between.

    Parameters
    ----------
    title : str
        Without a full stop.
    *paragraphs : str
        Setting and scope.
    claims : sequence of str
        Identifiers in the ledger, whose verdicts end the caption.

    Raises
    ------
    InputError
        If a paragraph is no text.

    Examples
    --------
    >>> print(caption("A line", "Scope: one line.", claims=["focus.eq4.R"]))
    A line.
    <BLANKLINE>
    Scope: one line.
    <BLANKLINE>
    Verdicts on the printed statements: focus.eq4.R: PROVED.
    """
    for other in (one for one in paragraphs if not isinstance(one, str)):
        raise InputError(
            f"a paragraph of a caption must be a text; got {shown(other)}; quote it, "
            "and name claims by claims=CLAIMS."
        )
    parts = [f"{title}.", *paragraphs]
    if claims:
        parts.append(f"Verdicts on the printed statements: {verdicts(claims)}.")
    return "\n\n".join(
        textwrap.fill(part, WIDTH, break_on_hyphens=False) for part in parts
    )


def verdicts(claims: Sequence[str], readings: bool = False) -> str:
    """Return what the ledger says of some claims, never what was typed in.

    Parameters
    ----------
    claims : sequence of str
    readings : bool
        Whether the verdict of every reading follows in brackets.

    Examples
    --------
    >>> verdicts(["focus.eq4.R", "no.such.claim"])
    'focus.eq4.R: PROVED; no.such.claim: no verdict in the ledger'
    """
    known = ledger_file.read(shipped_folder("proofs") / "ledger.toml")
    out = []
    for claim in claims:
        entry = known.get(claim, {"verdict": "no verdict in the ledger"})
        each = entry.get("readings", {})
        said = f"{claim}: {entry['verdict']}"
        if readings and isinstance(each, dict) and each:
            listed = "; ".join(f"{name}: {found}" for name, found in each.items())
            said += f" ({listed})"
        out.append(said)
    return "; ".join(out)
