"""Bibliography: every formula of the package says where it is printed."""

from __future__ import annotations

from dataclasses import dataclass

from flverify._core.errors import UnknownNameError

PAPERS = {
    "focus": "Ying, B., Li, Z., and Yang, H. (2025). Exact and linear convergence "
    "for federated learning under arbitrary client participation is attainable. "
    "NeurIPS 2025. arXiv:2503.20117.",
    "agnostic": "Convergence of agnostic federated averaging (2025). arXiv:2507.10325.",
    "mcmahan2017": "McMahan, B., Moore, E., Ramage, D., Hampson, S., and Agüera y "
    "Arcas, B. (2017). Communication-efficient learning of deep networks from "
    "decentralized data. AISTATS 2017.",
    "karimireddy2020": "Karimireddy, S. P., Kale, S., Mohri, M., Reddi, S., Stich, "
    "S., and Suresh, A. T. (2020). SCAFFOLD: stochastic controlled averaging for "
    "federated learning. ICML 2020. arXiv:1910.06378.",
    "mishchenko2022": "Mishchenko, K., Malinovsky, G., Stich, S., and Richtárik, P. "
    "(2022). ProxSkip: yes! Local gradient steps provably lead to communication "
    "acceleration! Finally! ICML 2022. arXiv:2202.09357.",
    "wang2024": "Wang, S. and Ji, M. (2024). A lightweight method for tackling "
    "unknown participation statistics in federated averaging. ICLR 2024. "
    "arXiv:2306.03401.",
    "schmidt2017": "Schmidt, M., Le Roux, N., and Bach, F. (2017). Minimizing finite "
    "sums with the stochastic average gradient. Mathematical Programming 162.",
    "flverify": "flverify: own derivation, stated where it is used.",
}


@dataclass(frozen=True)
class Source:
    """A place in a paper.

    Parameters
    ----------
    paper : str
        A key of the bibliography.
    item : str
        Where it is printed: equation, lemma, algorithm or section.

    Raises
    ------
    UnknownNameError
        If the bibliography has no such key.

    Examples
    --------
    >>> str(Source("focus", "Algorithm 1"))
    'focus, Algorithm 1'
    """

    paper: str
    item: str

    def __post_init__(self) -> None:
        if self.paper not in PAPERS:
            raise UnknownNameError(
                f"a source must name a paper of the bibliography; got "
                f"{self.paper!r}; add it to flverify/_core/sources.py."
            )

    def __str__(self) -> str:
        return f"{self.paper}, {self.item}"

    def citation(self) -> str:
        """Return the full reference with the item."""
        return f"{PAPERS[self.paper]} {self.item}."
