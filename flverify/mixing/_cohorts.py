"""The matrix of one cohort, for each matrix of the paper."""

from __future__ import annotations

from collections.abc import Iterable

from flverify._core.errors import ShapeError
from flverify._core.exact import Array, Scalar, array, is_symbolic
from flverify.mixing import _forms
from flverify.mixing._forms import Features


def pull_matrix(cohort: Iterable[int], n_clients: int) -> Array:
    """Pull matrix R(S): participants take the server model.

    Definition: R[i, 0] = 1 for i in S, R[i, i] = 1 for i not in S (the server is
    never in S), 0 otherwise. For empty S it is the identity.

    Source
    ------
    focus, eq. (4), left.

    Parameters
    ----------
    cohort : iterable of int
        Participating clients, from 0.
    n_clients : int
        Number of clients N.

    Returns
    -------
    matrix : (N+1, N+1) array of Fraction

    Raises
    ------
    DomainError
        If a client is not one of 0, ..., N-1.

    Examples
    --------
    >>> pull_matrix({0}, 2).astype(int).tolist()
    [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    """
    return _forms.pull(Features.of_cohort(cohort, n_clients))


def aggregation_matrix(
    cohort: Iterable[int],
    n_clients: int,
    *,
    reading: str = "printed",
    empty: str = "keep",
) -> Array:
    """Server-average matrix A(S): the server takes the mean of the participants.

    Definition: A[i, i] = 1 for clients i, and 1/|S| at [i, 0] for i in S as printed
    in (4), or at [0, i] for i in S as drawn in Figure 1; 0 otherwise.

    Source
    ------
    focus, eq. (4), right, and Figure 1. Deviations: A(S) for empty S is not printed,
    see `empty`.

    Parameters
    ----------
    cohort : iterable of int
        Participating clients, from 0.
    n_clients : int
        Number of clients N.
    reading : {"printed", "figure1"}
        Where the weights stand.
    empty : {"keep", "zero"}
        Server row for empty S: its own model (A[0, 0] = 1), or 0 from 0/0 = 0.

    Returns
    -------
    matrix : (N+1, N+1) array of Fraction

    Raises
    ------
    DomainError
        If a client is not one of 0, ..., N-1, or a setting is unknown.

    Examples
    --------
    >>> [str(a) for a in aggregation_matrix({0, 1}, 2, reading="figure1")[0]]
    ['0', '1/2', '1/2']
    >>> [str(a) for a in aggregation_matrix({0, 1}, 2)[:, 0]]
    ['0', '1/2', '1/2']
    """
    return _forms.aggregation(Features.of_cohort(cohort, n_clients), reading, empty)


def push_matrix(cohort: Iterable[int], n_clients: int) -> Array:
    """Push matrix C(S): the server adds what participants hold, and resets them.

    Definition: C[0, j] = 1 for j in S, C[j, j] = 1 for j not in S (the server is
    never in S), 0 otherwise. For empty S it is the identity.

    Source
    ------
    focus, unnumbered display after Figure 1, left.

    Parameters
    ----------
    cohort : iterable of int
        Participating clients, from 0.
    n_clients : int
        Number of clients N.

    Returns
    -------
    matrix : (N+1, N+1) array of Fraction

    Raises
    ------
    DomainError
        If a client is not one of 0, ..., N-1.

    Examples
    --------
    >>> push_matrix({0}, 2).astype(int).tolist()
    [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    """
    return _forms.push(Features.of_cohort(cohort, n_clients))


def doubly_stochastic_matrix(
    cohort: Iterable[int],
    n_clients: int,
    *,
    diagonal: str = "others",
    weight: str = "printed",
) -> Array:
    """Two-way matrix W(S): server and participants mix.

    Definition: the weight at [i, 0] and [0, i] for i in S, 1 - sum_i W[i, j] on the
    diagonal, 0 otherwise. The printed diagonal rule can be read in two ways.

    Source
    ------
    focus, unnumbered display after Figure 1, right. Not the W(S) of (35), which
    shares its letter: see `virtual_matrix`.

    Parameters
    ----------
    cohort : iterable of int
        Participating clients, from 0.
    n_clients : int
        Number of clients N.
    diagonal : {"others", "all"}
        "others": the sum leaves out i = j. "all": it runs over every i, taken
        literally, so W[j, j] = 1 - (others + W[j, j]), that is (1 - others)/2.
    weight : {"printed", "figure1"}
        1/|S| as printed in the display, or 1/(|S| + 1) as drawn in Figure 1.

    Returns
    -------
    matrix : (N+1, N+1) array of Fraction

    Raises
    ------
    DomainError
        If a client is not one of 0, ..., N-1, or a setting is unknown.

    Notes
    -----
    Empty S needs no convention: the identity, and half of it for "all".

    Examples
    --------
    >>> [str(w) for w in doubly_stochastic_matrix({0, 2}, 4)[0]]
    ['0', '1/2', '0', '1/2', '0']
    >>> [str(w) for w in doubly_stochastic_matrix({0, 2}, 4, weight="figure1")[0]]
    ['1/3', '1/3', '0', '1/3', '0']
    """
    features = Features.of_cohort(cohort, n_clients)
    return _forms.doubly_stochastic(features, diagonal, weight)


def virtual_matrix(
    cohort: Iterable[int], n_clients: int, *, empty: str = "keep"
) -> Array:
    """Matrix W(S) of the virtual form of FedAvg, in which every client works.

    Definition: every row is (0, 1{1 in S}/|S|, ..., 1{N in S}/|S|).

    Source
    ------
    focus, eq. (35) and (36). Deviations: W(S) for empty S is not printed, see
    `empty`.

    Parameters
    ----------
    cohort : iterable of int
        Participating clients, from 0.
    n_clients : int
        Number of clients N.
    empty : {"keep", "zero"}
        Rows for empty S: e_0, so that the server keeps its model and every client
        pulls it, or 0 from 0/0 = 0. (The identity would let the virtual clients
        drift, and the server's trajectory would change.)

    Returns
    -------
    matrix : (N+1, N+1) array of Fraction

    Raises
    ------
    DomainError
        If a client is not one of 0, ..., N-1, or a setting is unknown.

    Examples
    --------
    >>> [str(w) for w in virtual_matrix({0, 2}, 4)[3]]
    ['0', '1/2', '0', '1/2', '0']
    """
    return _forms.virtual(Features.of_cohort(cohort, n_clients), empty)


def is_row_stochastic(matrix: Array) -> bool:
    """Whether every row sums to 1, exactly (focus, after Figure 1).

    Raises
    ------
    InputError
        If it is no matrix of numbers.

    Examples
    --------
    >>> is_row_stochastic(pull_matrix({0}, 2)), is_row_stochastic(push_matrix({0}, 2))
    (True, False)
    """
    return all(_is_one(total) for total in _table(matrix).sum(axis=1))


def is_column_stochastic(matrix: Array) -> bool:
    """Whether every column sums to 1, exactly (focus, after Figure 1).

    Raises
    ------
    InputError
        If it is no matrix of numbers.

    Examples
    --------
    >>> is_column_stochastic(push_matrix({0}, 2))
    True
    """
    return all(_is_one(total) for total in _table(matrix).sum(axis=0))


def _table(matrix: object) -> Array:
    found = array(matrix, "matrix")
    if found.ndim != 2:
        raise ShapeError(
            f"matrix must have rows and columns; got the shape {found.shape}; pass one "
            "such as pull_matrix({0}, 2)."
        )
    return found


def _is_one(total: Scalar) -> bool:
    return bool((total.expand() if is_symbolic(total) else total) == 1)
