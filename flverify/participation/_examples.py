"""Small laws for laws that are built from laws, found by discovery."""

from __future__ import annotations

from flverify._core.catalogue import load, member_names
from flverify.participation._law import Participation

PACKAGE = "flverify.participation"


def plain_examples() -> tuple[Participation, ...]:
    """Return the examples of every law of the catalogue that is not composite."""
    found: list[Participation] = []
    for member in member_names(PACKAGE):
        module = load(PACKAGE, member)
        for name in module.__all__:
            law = getattr(module, name)
            if not law.composite:
                found.extend(law.examples())
    return tuple(found)
