"""Bibliography: every formula of the package says where it is printed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flverify._core.errors import InputError, UnknownNameError
from flverify._core.shown import shown

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
    "gu2021": "Gu, X., Huang, K., Zhang, J., and Huang, L. (2021). Fast federated "
    "learning in the presence of arbitrary device unavailability. NeurIPS 2021. "
    "arXiv:2106.04159.",
    "jhunjhunwala2022": "Jhunjhunwala, D., Sharma, P., Nagarkatti, A., and Joshi, G. "
    "(2022). FedVARP: tackling the variance due to partial client participation in "
    "federated learning. UAI 2022. arXiv:2207.14130.",
    "xiang2024": "Xiang, M., Ioannidis, S., Yeh, E., Joe-Wong, C., and Su, L. (2024). "
    "Efficient federated learning against heterogeneous and non-stationary client "
    "unavailability. NeurIPS 2024. arXiv:2409.17446.",
    "li2020": "Li, T., Sahu, A. K., Zaheer, M., Sanjabi, M., Talwalkar, A., and Smith, "
    "V. (2020). Federated optimization in heterogeneous networks. MLSys 2020. "
    "arXiv:1812.06127.",
    "acar2021": "Acar, D. A. E., Zhao, Y., Matas, R., Mattina, M., Whatmough, P., and "
    "Saligrama, V. (2021). Federated learning based on dynamic regularization. ICLR "
    "2021. arXiv:2111.04263.",
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
        A key of the bibliography, or a key of one's own with its reference.
    item : str
        Where it is printed: equation, lemma, algorithm or section.
    reference : str
        The full reference of a paper that the bibliography does not have.

    Raises
    ------
    UnknownNameError
        If the bibliography has no such key and there is no reference.
    InputError
        If a reference is given for a paper of the bibliography, the key is no word, or
        a part is no text.

    Examples
    --------
    >>> str(Source("focus", "Algorithm 1"))
    'focus, Algorithm 1'
    >>> Source("mine", "Lemma 1", reference="A. Author (2026). A title.").citation()
    'A. Author (2026). A title. Lemma 1.'
    """

    paper: str
    item: str
    reference: str = ""

    def __post_init__(self) -> None:
        for name in ("paper", "item", "reference"):
            if not isinstance(getattr(self, name), str):
                raise InputError(
                    f"{name} of a source must be a text; got "
                    f"{shown(getattr(self, name))}; write one."
                )
        if self.paper not in PAPERS and not self.reference:
            raise UnknownNameError(
                f"a source must name a paper of the bibliography; got {self.paper!r}; "
                f"choose among {', '.join(PAPERS)}, or give its reference."
            )
        if self.paper in PAPERS and self.reference:
            raise InputError(
                f"a reference must be of a paper that the bibliography does not have; "
                f"got one for {self.paper!r}; choose another key."
            )
        if self.paper == "index" or not re.fullmatch(r"\w+", self.paper):
            raise InputError(  # pages are named after it
                f"the key of a paper must be one word of letters, digits and "
                f"underscores, and not index; got {self.paper!r}; choose another."
            )

    def __str__(self) -> str:
        return f"{self.paper}, {self.item}"

    def citation(self) -> str:
        """Return the full reference with the item."""
        return f"{self.full_reference} {self.item}."

    @property
    def full_reference(self) -> str:
        """The reference of the paper, without the item."""
        return self.reference or PAPERS[self.paper]
