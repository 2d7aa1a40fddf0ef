"""Sums over participants: pairs of (client, row) added up row by row."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from flverify._core.exact import Array
from flverify.engines.simulate._draws import Draw


class Scatter:
    """Adds rows of pairs into rows of a block, as a product with a sparse matrix.

    The sparse matrix is kept and refilled: building one checks its indices, which
    costs more than the product.
    """

    def __init__(self, n_clients: int, n_rows: int, dim: int) -> None:
        self.pairs = np.zeros((n_clients * n_rows, dim))  # operand, client by client
        self._matrix = csr_array((n_rows, n_clients * n_rows))

    def total(self, draw: Draw, pairs: Array, share: bool) -> Array:
        """Sum over S of the rows of pairs, times 1/|S| if `share`, shape (rows, d).

        `pairs` must be as long as `self.pairs`; what follows the draw's pairs is not
        read.
        """
        order, begins = draw.by_row
        each = draw.shares if share else np.ones(draw.n_rows)
        self._matrix.indices, self._matrix.indptr = order, begins
        self._matrix.data = np.repeat(each, draw.sizes)
        return np.asarray(self._matrix @ pairs)
