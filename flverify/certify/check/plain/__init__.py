"""A second checker, short enough to be read before it is trusted.

It goes through all cohorts, or all numbers of participants, one by one.  It shares the
plain loops with `check`, and one exception; `check` alone judges words and digest.
Keys of a certificate that it does not need are not read.

Gradients of f_i are measured from g*_i, that at the minimiser x* of mean f_i, and f_i
from its tangent at x*.  A loop is linear, so it can be played on sums of unknown
vectors, with a new one for every new gradient.  Three sums of inner products and of f_i
must then not be negative.  Inequalities that all f_i obey are taken away, times
weights: what is left must hold no f_i, and be a positive semidefinite form in all
unknown vectors, x* and g*_i among them.

At most six clients are written out, each with vectors of its own.  Of more, all clients
of a class have the same ones, but for two of one class: one has a further vector added,
the other subtracted.  This is enough.  Nothing below changes if clients of a class are
renamed, so a form is one in the class means, and for each class one of the deviation of
a client from its mean, summed over the clients.  The first is seen, and twice the
second; a positive semidefinite sum of both has both so.  What must be equal, or must
not occur, is looked at for the two as well: a vector of theirs occurs nowhere else, so
no more is equal for them than for any client.  Clients that do the same are played as
one, and counted; the start and the likeliest round are played client by client, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from types import SimpleNamespace
from typing import Any

from flverify.certify.check._json import Rejected

from ._groups import casts, sorts
from ._proof import MOST_CALLS, Proof, Watched
from ._sums import TooManyError, exact, judge

__all__ = ["MOST_CALLS", "TooManyError", "Watched", "check_plainly", "effort"]

LONG = 2000  # bits of a common denominator that take their time


def check_plainly(
    certificate: Any, watched: Watched = iter, own: Any = None
) -> Fraction:
    """Return the rho that a certificate proves.

    Definition: the three conditions are E V+ <= rho V - s |x - x*|^2 + c mean|g*_i|^2,
    V >= |x - x*|^2 (or 0, if s is not 0) and V_0 <= C1 |x_0 - x*|^2 + C2 mean|g*_i|^2.
    Here s and c are those of a neighbourhood, and 0 for a rate.

    Parameters
    ----------
    certificate : mapping
        The object of the format "flverify/certificate", version 1.
    watched : callable
        Is given the list of rounds of every class, and iterates over it.
    own : Loop, optional
        Of a method that the checkers have no loop of, as `flverify.certify.check.own`
        makes it.

    Raises
    ------
    TooManyError
        If there are more than 100,000 clients, more than 4,000 sorts of cohorts, or
        more than 20 gradients of a client in a round; nothing was judged then.
    Rejected
        If a condition does not hold, or the certificate is malformed.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.certify.rates import certify
    >>> from flverify.participation import Bernoulli
    >>> found = certify(Focus("1/5"), Bernoulli(["1/2", "1/2"]), "1/10", 1)
    >>> float(check_plainly(found.certificate))
    0.918113
    """
    # what is read is what is used, so whatever is malformed ends in one of these
    malformed = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
    try:
        c = exact(certificate)
        lists = casts(c.law)
        for cast in lists:
            sorts(c.law, cast)
        for cast in lists:
            for name, form in Proof(c, cast, own).conditions(watched):
                judge(name, form)
    except (*malformed, RecursionError) as error:
        raise Rejected(f"the certificate holds what cannot be read: {error}") from error
    return Fraction(c.rho)


def effort(certificate: Any) -> int:
    """Return how many gradients are written out, about: 1000 take some seconds.

    As many more where numbers have long denominators that share little, for these are
    multiplied with each other.

    Parameters
    ----------
    certificate : mapping
        One that `check` accepts.

    Raises
    ------
    TooManyError
        If there are more clients or sorts of cohorts than are gone through.

    Examples
    --------
    >>> law = {"kind": "uniform_cohort", "n_clients": 5, "cohort_size": 2}
    >>> effort({"law": law, "calls": 3})
    240
    """
    c = exact(certificate)
    long = lcm(*(x.denominator for x in _numbers(c))).bit_length() // LONG
    written = sum(len(x) * sorts(c.law, x) for x in casts(c.law))
    return int(c.calls * written * (1 + long**2))


def _numbers(value: Any) -> Iterator[Fraction]:
    inner = vars(value).values() if isinstance(value, SimpleNamespace) else value
    if isinstance(inner, Fraction):
        yield inner
    elif not isinstance(inner, str | int | None):
        for entry in inner:
            yield from _numbers(entry)
