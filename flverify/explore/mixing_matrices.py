"""Expected mixing matrices of the law, and its probabilities and weights as bars."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from flverify.explore.at_the_point import require_sound
from flverify.explore.corners import law_of
from flverify.explore.view import View
from flverify.mixing import expected_matrix
from flverify.report.rows import RowTable

# symbol and word of each matrix
MATRICES = {
    "Rbar": ("R̄", "pull"),
    "Abar": ("Ā", "aggregation"),
    "Wbar": ("W̄", "virtual"),
}
_READ: dict[str, tuple[str, dict[str, str]]] = {
    "Rbar": ("pull", {}),
    "Abar": ("aggregation", {"reading": "figure1", "empty": "keep"}),
    "Wbar": ("virtual", {"empty": "keep"}),
}
MOST_EXACT = 32  # clients up to which entries are rationals


@dataclass(frozen=True)
class Entry:
    """One entry of an expected mixing matrix; node 0 is the server.

    Parameters
    ----------
    matrix : {"Rbar", "Abar", "Wbar"}
    row, column : int
        Node `row` takes `value` from node `column`.
    value : float
    text : str
        The same as a rational, or to 6 digits for many clients.
    """

    matrix: str
    row: int
    column: int
    value: float
    text: str


@dataclass(frozen=True)
class Weight:
    """Probabilities of one client.

    Parameters
    ----------
    client : int
        From 1, as in the papers.
    inclusion, averaging : float
        p_i and q_i = E[I_i/|S|].
    inclusion_text, averaging_text : str
        The same as rationals, or to 6 digits for many clients.
    """

    client: int
    inclusion: float
    averaging: float
    inclusion_text: str
    averaging_text: str


@dataclass(frozen=True)
class Mixing:
    """Matrices and weights of a law.

    Parameters
    ----------
    rows : tuple of Entry
        Matrix by matrix, row by row.
    weights : tuple of Weight
        Client by client.
    """

    rows: tuple[Entry, ...]
    weights: tuple[Weight, ...]

    def matrix(self, name: str) -> tuple[tuple[float, ...], ...]:
        """Return the values of one matrix, row by row.

        Examples
        --------
        >>> mixing(View(law="full", n_clients=2)).matrix("Abar")[0]
        (0.0, 0.5, 0.5)
        """
        size = len(self.weights) + 1
        values = [entry.value for entry in self.rows if entry.matrix == name]
        return tuple(tuple(values[k * size : (k + 1) * size]) for k in range(size))

    @property
    def entries(self) -> RowTable[Entry]:
        """The entries as a table."""
        return RowTable(self.rows)

    @property
    def bars(self) -> RowTable[Weight]:
        """The weights as a table."""
        return RowTable(self.weights)


def mixing(view: View) -> Mixing:
    """Return the expected matrices R̄, Ā, W̄ and the weights p, q of the law.

    Notes
    -----
    A(S) is read as Figure 1 draws it, since (4) prints its averages in the column of
    the server; an empty round keeps the server's model.

    Raises
    ------
    InputError
        If the view is refused.

    Examples
    --------
    >>> found = mixing(View(law="uniform", n_clients=3, cohort=2))
    >>> found.weights[0].inclusion_text, found.weights[0].averaging_text
    ('2/3', '1/3')
    """
    require_sound(view)
    return _mixing(law_of(view))


@lru_cache(maxsize=64)
def _mixing(view: View) -> Mixing:
    floats = view.n_clients > MOST_EXACT
    law = view.participation(floats=floats)
    entries = []
    for name, (which, settings) in _READ.items():
        table = expected_matrix(which, law, **settings).tolist()
        for i, row in enumerate(table):
            entries += [
                Entry(name, i, j, float(v), _text(v)) for j, v in enumerate(row)
            ]
    pairs = zip(law.inclusion().tolist(), law.averaging_weights().tolist(), strict=True)
    weights = [
        Weight(i, float(p), float(q), _text(p), _text(q))
        for i, (p, q) in enumerate(pairs, start=1)
    ]
    return Mixing(tuple(entries), tuple(weights))


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
