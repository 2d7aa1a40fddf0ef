"""The interval in which curvatures lie."""

from __future__ import annotations

from flverify._core.checks import positive
from flverify._core.errors import DomainError
from flverify._core.exact import Scalar


def spectrum(strong_convexity: Scalar, smoothness: Scalar) -> tuple[float, float]:
    """Return mu and L in floats.

    Raises
    ------
    DomainError
        If 0 < mu <= L does not hold.

    Examples
    --------
    >>> spectrum("1/2", 2)
    (0.5, 2.0)
    """
    low = float(positive(strong_convexity, "strong_convexity"))
    high = float(positive(smoothness, "smoothness"))
    if low > high:
        raise DomainError(
            f"strong_convexity must not exceed smoothness; got {low} and {high}; "
            "exchange them."
        )
    return low, high
