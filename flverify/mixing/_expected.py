"""Expected mixing matrices of a law, and what the paper prints for them."""

from __future__ import annotations

from flverify._core.checks import choice, numbers
from flverify._core.exact import Array, identity, zeros
from flverify.mixing._forms import Features, build
from flverify.participation._law import Participation, table


def expected_matrix(name: str, participation: Participation, **settings: str) -> Array:
    """Mean mixing matrix E M(S) under a law.

    Definition: E M(S) = sum_S P(S) M(S), evaluated through p_i, q_i and P(S empty),
    in which every M(S) is affine.

    Source
    ------
    flverify: own derivation, to be compared with focus, eq. (5) and (37).

    Parameters
    ----------
    name : {"pull", "aggregation", "push", "doubly_stochastic", "virtual"}
        Which matrix.
    participation : Participation
        The law of S.
    **settings : str
        Those of the matrix of a cohort: `reading` and `empty` for "aggregation",
        `diagonal` for "doubly_stochastic", `empty` for "virtual".

    Returns
    -------
    matrix : (N+1, N+1) array
        Exact if the law is, symbolic if its probabilities are.

    Raises
    ------
    DomainError
        If the name or a setting is unknown.
    InputError
        If the law is none.
    RefusedError
        For the weights 1/(|S| + 1) of Figure 1, which moments do not give.

    Notes
    -----
    Cost O(N^2) beside the law's own tables; subsets are never enumerated.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> [str(v) for v in expected_matrix("pull", UniformCohort(3, 2))[1]]
    ['2/3', '1/3', '0', '0']
    """
    return build(name, Features.of_law(participation), settings)


def printed_matrix(name: str, averaging_weights: Array) -> Array:
    """Mean mixing matrix as the paper prints it, in terms of q.

    Definition: "pull" is [1, 0; q, diag(1 - q)], "aggregation" is [0, q'; 0, I],
    "push" is the transpose of "pull", and "virtual" has all rows (0, q').

    Source
    ------
    focus, eq. (5), the sentence after it, and eq. (37).

    Parameters
    ----------
    name : {"pull", "aggregation", "push", "virtual"}
        Which matrix.
    averaging_weights : (N,) array
        The weights q_i; any numbers or symbols.

    Returns
    -------
    matrix : (N+1, N+1) array

    Raises
    ------
    DomainError
        If the name is unknown or none is printed, or an entry is not a number.
    ShapeError
        If the weights are not a list.

    Examples
    --------
    >>> [str(v) for v in printed_matrix("pull", ["1/4", "3/4"])[1]]
    ['1/4', '3/4', '0']
    """
    name = choice(name, "name", ("pull", "aggregation", "push", "virtual"))
    listed = numbers(averaging_weights, "averaging_weights")
    q = table(listed, (len(listed),))
    exact, size = q.dtype == object, len(q) + 1
    if name == "virtual":
        out = zeros((size, size), exact)
        out[:, 1:] = q
        return out
    out = identity(size, exact)
    if name == "aggregation":
        out[0, 0], out[0, 1:] = 0 * out[0, 0], q
        return out
    out[1:, 0] = q
    out[range(1, size), range(1, size)] = 1 - q
    return out.T if name == "push" else out
