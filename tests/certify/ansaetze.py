"""Certificates of one ansatz, whatever a richer one could do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from flverify.certify.discover import discover
from flverify.certify.rates import certify
from flverify.certify.search import levels, problem, prove, read_round, search, smallest


def at_level(name):
    """Like `certify`, with the ansatz of this name alone."""

    def found(algorithm, law, mu, smooth):
        setting = problem(algorithm, law, mu, smooth)
        reading = read_round(setting)
        rungs = {
            level.name: (s, level) for s, level in levels(reading, discover(reading))
        }
        one = search(reading, *rungs[name], setting.mu)
        rho = Fraction(smallest(one)[0]).limit_denominator(10**6) + Fraction(1, 10**5)
        certificate, word = prove(one, rho, setting)
        assert certificate is not None, word
        assert certificate["level"] == name
        any_level = certify(algorithm, law, mu, smooth)
        return replace(any_level, rate=rho, level=name, certificate=certificate)

    return found
