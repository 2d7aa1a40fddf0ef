"""Certificates of one ansatz, whatever a richer one could do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from flverify.certify.coordinates import Memory
from flverify.certify.discover import discover
from flverify.certify.rates import Certified
from flverify.certify.search import levels, problem, prove, read_round, search, smallest


def at_level(name, calls=None):
    """Like `certify`, with the ansatz of this name alone.

    With `calls` V remembers all clients' gradients at these calls, not at the first.
    """

    def found(algorithm, law, mu, smooth):
        setting = problem(algorithm, law, mu, smooth)
        reading = read_round(setting)
        rungs = {
            level.name: (s, level) for s, level in levels(reading, discover(reading))
        }
        structure, level = rungs[name]
        if calls is not None:
            own = Memory(None, calls, (Fraction(0),) * len(calls))
            structure = replace(structure, memories=(*structure.memories[:-1], own))
        one = search(reading, structure, level, setting.mu)
        rho = Fraction(smallest(one)[0]).limit_denominator(10**6) + Fraction(1, 10**5)
        certificate, word = prove(one, rho, setting)
        assert certificate is not None, word
        assert certificate["level"] == name
        return Certified("certified", "", rho, name, certificate)

    return found
