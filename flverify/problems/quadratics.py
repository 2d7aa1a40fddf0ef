"""Quadratic clients given by their Hessians and linear terms.

The class is defined in an underscore module, since the other members of this
catalogue build their problems from it and members do not import one another.
"""

from __future__ import annotations

from flverify.problems._quadratics import Quadratics

__all__ = ["Quadratics"]
