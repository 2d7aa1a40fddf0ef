"""Where things stand in the papers: chapters in their order, and what proofs use.

A claim is put into the chapter that holds the first place its source names; what is not
listed comes last. The table of uses says on which other claims a printed proof rests;
its own steps are known by their ids.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# A place: "Lemma 3", "Appendix D.5", "(97)"; an equation may carry a letter.
_PLACE = re.compile(
    r"(Abstract)|(Section|Appendix|Lemma|Theorem|Corollary|Assumption|Algorithm|Figure"
    r"|Table)s? ([A-Z0-9]+(?:\.[0-9]+)*)|\((\d+)[a-z]?\)"
)


@dataclass(frozen=True)
class Chapter:
    """A part of a paper.

    Parameters
    ----------
    heading : str
    places : tuple of str
        What stands in it, in its order; `(4)-(7)` means all these equations.
    """

    heading: str
    places: tuple[str, ...]

    def position(self, place: str) -> int | None:
        """Return where a place stands in the chapter; None if elsewhere."""
        order = [part for one in self.places for part in _expanded(one)]
        return order.index(place) if place in order else None

    def holds(self, place: str) -> bool:
        """Whether a place stands in the chapter, or in a section of its."""
        if self.position(place) is not None:
            return True
        return any(place.startswith(f"{one}.") for one in self.places)


def places(item: str) -> list[str]:
    """Return the places that a source names, in its order.

    Examples
    --------
    >>> places("Theorem 1, eq. (23), and Appendix D.5")
    ['Theorem 1', '(23)', 'Appendix D.5']
    >>> places("Abstract, Sections 1 and 4")
    ['Abstract', 'Section 1']
    """
    out = []
    first = item.partition("repeated as")[0]
    for abstract, kind, number, equation in _PLACE.findall(first):
        out.append(abstract or (f"{kind} {number}" if kind else f"({equation})"))
    return out


def _expanded(place: str) -> list[str]:
    ends = re.fullmatch(r"\((\d+)\)-\((\d+)\)", place)
    if ends is None:
        return [place]
    return [f"({n})" for n in range(int(ends[1]), int(ends[2]) + 1)]


OUTLINES: dict[str, tuple[Chapter, ...]] = {
    "focus": (
        Chapter(
            "Sections 1 and 2: the problem, FedAvg and client drift",
            ("Section 1", "Section 2", "(1)-(3)"),
        ),
        Chapter("Section 3: mixing matrices", ("Section 3", "(4)", "Figure 1")),
        Chapter("Section 3.1: participation", ("Section 3.1", "Assumption 1", "(5)")),
        Chapter(
            "Section 4.1: FedAvg in matrix form", ("Section 4.1", "Figure 2", "(6)-(8)")
        ),
        Chapter(
            "Section 4.2: push-pull and FOCUS",
            ("Section 4.2", "(9)-(14)", "Algorithm 1", "(15)-(22)", "Figure 3"),
        ),
        Chapter(
            "Section 5: assumptions, Theorem 1, experiments",
            (
                *(f"Assumption {n}" for n in (2, 3, 4, 5)),
                "(23)-(25)",
                "Theorem 1",
                "Table 1",
                "Section 5",
                "Figure 4",
            ),
        ),
        Chapter(
            "Appendices A and B: related work and notation",
            ("Appendix A", "(26)-(27)", "Figure 5", "Appendix B", "Table 2", "(28)"),
        ),
        Chapter(
            "Appendix C: convergence of FedAvg",
            (
                "(29)",
                "Theorem 2",
                "Appendix C",
                "(30)-(41)",
                "Lemma 1",
                "(42)-(47)",
                "Lemma 2",
                "(48)-(62)",
                *(f"Corollary {n}" for n in (1, 2, 3)),
            ),
        ),
        Chapter(
            "Appendices D.1 and D.2: recursions and observations",
            ("Appendix D.1", "Appendix D.2", "(63)-(78)"),
        ),
        Chapter(
            "Appendix D.3: Lemma 3, descent", ("Appendix D.3", "Lemma 3", "(79)-(88)")
        ),
        Chapter(
            "Appendix D.4: Lemma 4, consensus", ("Appendix D.4", "Lemma 4", "(89)-(96)")
        ),
        Chapter(
            "Appendix D.5: Theorem 1, strongly convex", ("Appendix D.5", "(97)-(102)")
        ),
        Chapter(
            "Appendix D.6: Theorem 1, Polyak-Lojasiewicz",
            ("Appendix D.6", "(103)-(110)"),
        ),
        Chapter("Appendix D.7: Theorem 1, nonconvex", ("Appendix D.7", "(111)-(121)")),
        Chapter("Appendix E: SG-FOCUS", ("Appendix E", "Algorithm 2", "(122)")),
        Chapter(
            "Appendix E.1: Lemma 5, descent", ("Appendix E.1", "Lemma 5", "(123)-(128)")
        ),
        Chapter(
            "Appendix E.2: Lemma 6, consensus",
            ("Appendix E.2", "Lemma 6", "(129)-(133)"),
        ),
        Chapter("Appendix E.3: Theorem 3", ("Appendix E.3", "Theorem 3", "(134)")),
        Chapter(
            "Appendix E.4: Theorem 4", ("Appendix E.4", "Theorem 4", "(135)-(136)")
        ),
        Chapter(
            "Appendix E.5: Theorem 5", ("Appendix E.5", "Theorem 5", "(137)-(141)")
        ),
        Chapter(
            "Appendix F: more experiments",
            ("Appendix F", *(f"Figure {n}" for n in (6, 7, 8, 9, 10, 11))),
        ),
    ),
    "agnostic": (
        Chapter(
            "Sections 1 and 2: the model",
            ("Abstract", "Section 1", "(1)-(2)", "Lemma 1", "(3)-(4)", "Section 2"),
        ),
        Chapter(
            "Section 3: the algorithm and its assumptions",
            ("Algorithm 1", "Section 3", *(f"Assumption {n}" for n in (1, 2, 3))),
        ),
        Chapter(
            "Sections 3.1 and 3.2: lemmas",
            (
                "Section 3.1",
                "Lemma 2",
                "Lemma 3",
                "Corollary 1",
                "Section 3.2",
                "Lemma 4",
                "(5)",
            ),
        ),
        Chapter(
            "Section 3.3: Theorem 4", ("Section 3.3", "(6)-(8)", "(9)", "Theorem 4")
        ),
        Chapter(
            "Section 4: weighted FedAvg and experiments",
            ("(10)", "Section 4", "Figure 1", "Figure 2", "Section 5"),
        ),
    ),
}

USES: dict[str, tuple[str, ...]] = {
    "focus.thm1.sc": ("focus.lemma3", "focus.lemma4"),
    "focus.thm1.pl": ("focus.lemma4",),
    "focus.thm1.nc": ("focus.lemma4",),
    "focus.thm2": ("focus.lemma1", "focus.lemma2", "focus.thm2.proof"),
    "sgfocus.thm3": ("sgfocus.lemma5", "sgfocus.lemma6"),
    "sgfocus.thm4": ("sgfocus.lemma6", "sgfocus.lemma5.step128"),
    "sgfocus.thm5": ("sgfocus.lemma6", "sgfocus.lemma5.step128"),
    "agnostic.thm4": ("agnostic.eq9",),
    "agnostic.eq9": ("agnostic.eq8",),
    "agnostic.eq8": ("agnostic.eq6", "agnostic.eq7"),
    "agnostic.eq6": ("agnostic.lemma4",),
    "agnostic.eq7": ("agnostic.lemma2", "agnostic.cor1"),
    "agnostic.cor1": ("agnostic.lemma3",),
    "agnostic.lemma4": ("agnostic.eq5",),
}
