"""A certificate's proof as one page of Python that needs nothing else.

A page holds the plain loop of the algorithm, less than the checkers do of a proof, for
every client is written out, and numbers. Whatever V these are, what ends without a
complaint is a proof of the first of them, so the loop and the proof are what to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flverify.certify.check import check

from ._numbers import numbers
from ._text import text

__all__ = ["numbers", "page", "written"]


def page(certificate: Mapping[str, Any]) -> str:
    """Return a program that proves what a certificate states, or says it does not.

    Parameters
    ----------
    certificate : mapping
        One that `check` accepts.

    Raises
    ------
    TooManyError
        If there are more than six clients, more gradients of a client and round than
        are written out, or longer numbers than Python reads.
    Rejected
        If it is not accepted, or of a method of one's own.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.certify.rates import certify
    >>> from flverify.participation import Bernoulli
    >>> found = certify(Focus("1/5"), Bernoulli(["1/2", "1/2"]), "1/10", 1)
    >>> program = page(found.certificate)
    >>> print(program.splitlines()[0])
    \"\"\"A proof that needs nothing but Python 3.10 or newer.
    >>> exec(program, {"__name__": "__main__"})
    proved: rho = 918113/1000000, s = 0, c = 0, C1 = ...
    """
    check(certificate)  # its words are repeated
    return written(certificate)


def written(certificate: Mapping[str, Any]) -> str:
    """Return the page of a certificate that was accepted already."""
    return text(certificate, numbers(certificate))
