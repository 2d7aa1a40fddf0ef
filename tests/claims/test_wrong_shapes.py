"""Judges and claims that are given other things say so in one sentence."""

import numpy as np
import pytest
import sympy

from flverify import moments
from flverify._core.errors import FlverifyError, InputError, UnknownNameError
from flverify.algorithms import FedAvg
from flverify.certify import quadratic_form as q
from flverify.claims import judge
from flverify.claims.claim import Source, claim
from flverify.claims.judge import Case, Step
from flverify.participation import Full
from flverify.problems import Quadratics
from flverify.testing import assert_claim

x = sympy.Symbol("x", real=True)
FOUND = judge.identity([("itself", x, x)], "all x")
CASE = Case({"N": 2}, 1, 2, lambda: (1, 2))
NO_LIST = {
    "None": None,
    "text": "abc",
    "number": 3,
    "nan": float("nan"),
    "class": float,
    "symbol": x,
    "mapping": {"a": 1},
    "object": object(),
}
NOTHING = {
    **NO_LIST,
    "list": [1],
    "pair": (1, 2),
    "array": np.zeros(2),
    "matrix": sympy.eye(2),
    "function": len,
    "long": [10**5000],
}
NO_ENTRY = {name: one for name, one in NOTHING.items() if name != "pair"}
OF_LISTS = {
    "identity": lambda given: judge.identity(given, "all"),
    "nonnegative": lambda given: judge.nonnegative(given, "all"),
    "implied": lambda given: judge.implied(given, x <= 1, "all"),
    "instances": lambda given: judge.instances(given, "<=", "all"),
    "one_step": lambda given: judge.one_step(given, "all"),
    "vectors": lambda given: judge.vectors(given, "all"),
}
OF_FINDINGS = {
    "all_of": lambda given: judge.all_of({"a": given}),
    "readings": lambda given: judge.readings({"a": FOUND, "b": given}),
    "proof": lambda given: judge.proof_or_search(given, FOUND),
    "search": lambda given: judge.proof_or_search(FOUND, given),
    "witness": lambda given: judge.witness(given, "<=", "all"),
    "all_of these": judge.all_of,
    "readings of": judge.readings,
}
OF_RELATIONS = {
    "instances": lambda given: judge.instances([CASE], given, "all"),
    "witness": lambda given: judge.witness(CASE, given, "all"),
}
OF_TEXTS = {
    "identity": lambda given: judge.identity([("a", x, x)], given),
    "nonnegative": lambda given: judge.nonnegative([("a", x**2)], given),
    "implied": lambda given: judge.implied([x <= 1], x <= 2, given),
    "instances": lambda given: judge.instances([CASE], "<=", given),
    "witness": lambda given: judge.witness(CASE, "<=", given),
    "one_step": lambda given: judge.one_step([], given),
    "vectors": lambda given: judge.vectors([], given),
    "all_of": lambda given: judge.all_of({"a": FOUND}, scope=given, argument="so"),
    "source": lambda given: Source("mine", given, reference="A. Author."),
    "paper": lambda given: Source(given, "Lemma 1", reference="A. Author."),
}


def made(key="constants", value=None, judged_by=lambda _: FOUND):
    asked = {
        "source": Source("mine", "Lemma 1", reference="A. Author (2026)."),
        "statement": "x=x",
        "proposition": "x is x",
        "constants": {"cap": 2},
        "twin": {"cap": 3},
        key: {"cap": 2} if value is None else value,
    }
    name = asked.pop("id", "mine.one")
    return claim(name, **asked)(judged_by)


OF_CLAIMS = {
    key: (lambda given, key=key: made(key, given))
    for key in ("source", "constants", "twin", "reading_twins", "structural", "sharp")
}


def refuses(ask, given=None):
    with pytest.raises(FlverifyError) as error:
        ask(given)
    text = str(error.value)
    assert "\n" not in text
    assert "must" in text
    assert text.endswith(".")
    assert len(text) < 400
    return text


def table(asked, values):
    return [
        pytest.param(ask, value, id=f"{name} {what}")
        for name, ask in asked.items()
        for what, value in values.items()
    ]


@pytest.mark.parametrize(("ask", "given"), table(OF_LISTS, NO_LIST))
def test_what_is_no_list(ask, given):
    refuses(ask, given)


@pytest.mark.parametrize(("ask", "given"), table(OF_LISTS, NO_ENTRY))
def test_entries_of_other_kinds(ask, given):
    refuses(lambda _: ask([given]))


@pytest.mark.parametrize(("ask", "given"), table(OF_FINDINGS, NOTHING))
def test_what_is_no_finding(ask, given):
    refuses(ask, given)


@pytest.mark.parametrize(("ask", "given"), table(OF_RELATIONS, NOTHING))
def test_what_is_no_relation(ask, given):
    refuses(ask, given)


NO_TEXT = {name: one for name, one in NOTHING.items() if name != "text"}


@pytest.mark.parametrize(("ask", "given"), table(OF_TEXTS, NO_TEXT))
def test_what_is_no_text(ask, given):
    refuses(ask, given)


@pytest.mark.parametrize("blank", ["", " \n"])
@pytest.mark.parametrize("judged", sorted({*OF_TEXTS} - {"all_of", "source", "paper"}))
def test_a_scope_is_not_blank(judged, blank):
    assert "must not be blank" in refuses(OF_TEXTS[judged], blank)


@pytest.mark.parametrize("part", ["id", "proposition"])
def test_a_claim_has_a_name_and_says_something(part):
    told = refuses(lambda given: made(part, given), " ")
    assert f"the {part} of a claim must not be blank" in told


NO_PART = {n: one for n, one in NOTHING.items() if n not in ("None", "mapping")}


@pytest.mark.parametrize(("ask", "given"), table(OF_CLAIMS, NO_PART))
def test_parts_of_a_claim_of_other_kinds(ask, given):
    refuses(ask, given)


@pytest.mark.parametrize("size", [2, 4])
def test_pairs_have_a_label_and_two_sides(size):
    text = refuses(lambda _: judge.identity([(x,) * size], "all"))
    assert text.startswith("entry 0 of pairs must be (label, left, right); got (x, x")


@pytest.mark.parametrize("recheck", [3, "abc", lambda: 3, lambda: (1, 2, 3)])
def test_rechecks_return_two_sides(recheck):
    case = Case({}, 1, 2, recheck)
    refuses(lambda _: judge.instances([case], ">=", "all"))


def test_enclosures_have_two_ends():
    refuses(lambda _: judge.witness(Case({}, (1, 2, 3), 4), "<=", "all"))


@pytest.mark.parametrize("part", ["problem", "algorithm", "law", "lemma", "where"])
@pytest.mark.parametrize("given", [None, "abc", 3, [1], float])
def test_steps_of_other_kinds(part, given):
    model = q.square(q.server("model"))
    parts = {
        "where": {"N": 2},
        "problem": Quadratics([[[1]], [[2]]], [[0], [2]]),
        "algorithm": FedAvg("1/4"),
        "law": Full(2),
        "lemma": model <= 2 * model,
    }
    assert moments(parts["problem"], parts["algorithm"], parts["law"])
    parts[part] = given
    refuses(lambda _: judge.one_step([Step(*parts.values())], "all"))


@pytest.mark.parametrize("counts", [("1", 2), (1, None), (1.5, 2), (-1, 2), (3, 2)])
def test_shares_are_counted(counts):
    refuses(lambda _: judge.share("a trend", *counts, "all"))


def test_constants_that_a_claim_does_not_have():
    lost = made(judged_by=lambda c: judge.identity([("a", x, c.cpa * x)], "all"))
    text = refuses(lambda _: lost.check())
    assert text.startswith("a check must use constants that its claim has; got cpa")
    refuses(lambda _: made().check(cpa=3))
    assert not hasattr(lost.judged_by, "cpa")


@pytest.mark.parametrize("judged_by", [None, 3, "abc"])
def test_a_claim_is_judged_by_a_function(judged_by):
    with pytest.raises(InputError, match="must be judged by a function"):
        made(judged_by=judged_by)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["", "nobody", "focus", 3, None])
def test_claims_that_do_not_exist(name):
    with pytest.raises(UnknownNameError, match="must be that of a claim"):
        assert_claim(name, "PROVED")
