"""Exact first and second moments of an algorithm under a participation law."""

from flverify.engines.moments._moments import Moments, moments
from flverify.engines.moments._told import surely_moves

__all__ = ["Moments", "moments", "surely_moves"]
