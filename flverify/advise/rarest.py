"""What the client that takes part most rarely costs.

Three answers: the rounds to the target accuracy under the law as it is; the same with
that client's probability raised to the mean of all; and the accuracy at which the other
clients' minimiser is, to which a method without a bias goes when the client is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flverify._core.errors import DomainError
from flverify._core.exact import Scalar
from flverify.engines.kinds import require_law, require_problem
from flverify.participation._law import Participation
from flverify.participation.bernoulli import Bernoulli


@dataclass(frozen=True)
class Rarest:
    """The client that takes part most rarely.

    Parameters
    ----------
    client : int
        The first of them.
    inclusion, mean : scalar
        Its probability p_min, and the mean of all p_i.
    raised : Participation or None
        The law with p_min raised to the mean.
    reason : str
        Why there is no such law.
    dropped : scalar or None
        |x' - x*|^2/|x_0 - x*|^2, x' the minimiser without the client and x_0 = 0.
    dropped_reason : str
        Why there is none.
    """

    client: int
    inclusion: Scalar
    mean: Scalar
    raised: Participation | None
    reason: str
    dropped: Scalar | None
    dropped_reason: str


def rarest(problem: Any, law: Participation) -> Rarest:
    """Find the rarest client, the law that raises it, and what dropping it does.

    Raises
    ------
    DomainError
        If F has no unique minimiser.
    InputError
        If problem or law are none.

    Examples
    --------
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[1]], [[2]]], [[0], [1], [4]])
    >>> found = rarest(problem, Bernoulli(["1/2", "1/2", "1/5"]))
    >>> found.client, found.mean, found.raised.spec, found.dropped
    (2, Fraction(2, 5), 'bernoulli:1/2,1/2,2/5', Fraction(9, 25))
    """
    require_problem(problem)
    chances = require_law(law).inclusion().tolist()
    client = min(range(len(chances)), key=lambda i: chances[i])
    mean = sum(chances) / len(chances)
    raised, reason = _raised(law, chances, client, mean)
    dropped, why = _dropped(problem, client)
    return Rarest(client, chances[client], mean, raised, reason, dropped, why)


def _raised(
    law: Participation, chances: list[Scalar], client: int, mean: Scalar
) -> tuple[Participation | None, str]:
    if not chances[client] < mean * (1 - 1e-12):
        return None, "all clients take part equally often"
    if not isinstance(law, Bernoulli):
        return None, "one client's probability alone can be raised in bernoulli laws"
    return Bernoulli([mean if i == client else p for i, p in enumerate(chances)]), ""


def _dropped(problem: Any, client: int) -> tuple[Scalar | None, str]:
    if problem.n_clients == 1:
        return None, "there is no other client"
    weights = [int(i != client) for i in range(problem.n_clients)]
    here = problem.minimiser()
    try:
        gap = problem.minimiser(weights) - here
    except DomainError as error:
        return None, str(error)
    return (gap * gap).sum() / (here * here).sum(), ""
