"""What `certify` and `region` share: which settings can be certified at all."""

from __future__ import annotations

from fractions import Fraction

from flverify._core.catalogue import member_names
from flverify._core.errors import DomainError, InputError, RefusedError
from flverify._core.sentences import nearest
from flverify.algorithms import ProxSkip
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.certificate import NAMES
from flverify.commands._algorithms import CATALOGUE
from flverify.commands._numbers import positive_number
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing
from flverify.participation.full import Full

CERTIFIABLE = ", ".join(sorted(NAMES.values()))


def read_class(mu: str, smoothness: str) -> tuple[Fraction, Fraction]:
    """Read strong convexity and smoothness.

    Raises
    ------
    DomainError
        If 0 < mu < L does not hold.
    """
    low = Fraction(positive_number("--mu", mu))
    high = Fraction(positive_number("--smoothness", smoothness))
    if not low < high:
        raise DomainError(
            f"--mu must be below --smoothness; got {low} and {high}; lower one or "
            "raise the other."
        )
    return low, high


def read_dominance(beta: str, smoothness: str) -> tuple[Fraction, Fraction]:
    """Read beta of |grad f|^2 >= 2 beta (f - f*), and the smoothness.

    Raises
    ------
    DomainError
        If 0 < beta <= L does not hold.
    """
    low = Fraction(positive_number("--pl", beta))
    high = Fraction(positive_number("--smoothness", smoothness))
    if low > high:
        raise DomainError(
            f"--pl must be at most --smoothness; got {low} and {high}; lower one or "
            "raise the other."
        )
    return low, high


def require_clients(n_clients: int | None, law: str) -> int:
    """Return the number of clients, which something must say.

    Raises
    ------
    InputError
        If neither an option nor the law's text does.
    """
    if n_clients is None:
        raise InputError(
            f"the number of clients must be known; {law!r} does not say it; add "
            "--n-clients."
        )
    return n_clients


def require_known(name: str) -> None:
    """Check that a name is that of an algorithm, before its settings are read.

    Raises
    ------
    RefusedError
        If it is none; the sentence lists those that have certificates.
    """
    if name not in member_names(CATALOGUE):
        raise RefusedError(
            f"a certificate must be for one of {CERTIFIABLE}; got {name!r}; "
            f"{nearest(name, NAMES.values(), 'pick one')}."
        )


def require_certified_name(name: str) -> None:
    """Check that an algorithm is one that has certificates.

    Raises
    ------
    RefusedError
        If it is none.
    """
    require_known(name)
    if name not in NAMES.values():
        raise RefusedError(
            f"a certificate must be for one of {CERTIFIABLE}; got {name}; use rate for "
            "this algorithm."
        )


def require_certified_variant(algorithm: Algorithm, law: Participation) -> None:
    """Check what a certificate of ProxSkip needs.

    Raises
    ------
    RefusedError
        If it is the paper's variant, and clients come one by one.
    """
    if not isinstance(algorithm, ProxSkip) or algorithm.variant != "paper":
        return
    if not isinstance(law, Full | AllOrNothing):
        raise RefusedError(
            "ProxSkip has certificates in its paper's variant only where everybody or "
            f"nobody takes part; got the law {law.spec}; use --law full or "
            "allornothing:P."
        )


def require_certifiable(law: Participation) -> None:
    """Check what no search is needed for.

    Raises
    ------
    RefusedError
        If nobody ever takes part.
    """
    if isinstance(law, AllOrNothing) and law.probability == 0:
        raise RefusedError(
            "every client must take part with positive probability; got 0; raise it, "
            "since no rate can hold for clients that never do."
        )
