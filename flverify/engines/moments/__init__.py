"""Exact first and second moments of an algorithm under a participation law."""

from flverify.engines.moments._moments import Moments, moments

__all__ = ["Moments", "moments"]
