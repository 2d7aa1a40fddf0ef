"""What `flverify certify --pl` asks: a rate of f(x) - f(x*) without convexity."""

from __future__ import annotations

from fractions import Fraction

from flverify._core.errors import ReadingError, RefusedError
from flverify._core.failed_floats import FLOATS_FAILED, floats_failed
from flverify._core.sentences import sentence
from flverify.certify.averages.gap_rate import gap_rate
from flverify.certify.averages.printed import printed_gap_rate
from flverify.commands._certifying import (
    Answer,
    Question,
    confirmed,
    excluded_by,
    promised,
    slowest,
)
from flverify.commands._function_class import (
    require_certifiable,
    require_certified_variant,
)
from flverify.report import console


def gap_answer(question: Question, beta: Fraction) -> Answer:
    """Compare with quadratics, which are such functions, then ask for a certificate."""
    algorithm, law = question.of.chosen.algorithm, question.of.law
    setting = algorithm, law, question.smoothness
    try:
        question.of.require_certified()
        require_certifiable(law)
        require_certified_variant(algorithm, law)
        with console.progress("certify", 2) as begin:
            begin("scalar quadratics")
            beside = slowest(question, beta)
            theorem = printed_gap_rate(*setting, beta)
            beside = promised(beside, theorem)
            why = excluded_by(question, beside)
            if why:
                return Answer("not_certified", why, "gap", beside)
            begin("certificate")
            found = gap_rate(*setting, beta, question.rate, question.of.loop)
    except (RefusedError, ReadingError) as error:
        return Answer("refused", sentence(error))
    except FLOATS_FAILED as error:
        return Answer("inconclusive", floats_failed(error))
    status, reason = found.status, found.reason
    return confirmed(Answer(status, reason, "gap", beside, found.certificate))
