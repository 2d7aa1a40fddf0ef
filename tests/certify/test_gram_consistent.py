"""Models of assumptions: found for many vectors, checked twice, and never invented.

What contradicts itself implies everything, so a proof needs a model of what it assumes.
Each model that is found here is evaluated once more, by formulas of this file.
"""

import copy
import json
from fractions import Fraction
from itertools import pairwise

import pytest

from flverify._core.errors import DomainError
from flverify.certify.gram import (
    Certificate,
    Counterexample,
    Function,
    Lemma,
    Undecided,
    _check,
    average,
    bounded,
    equal,
    given,
    inner,
    number,
    prove,
    square,
    vector,
    verify,
)

F = Fraction
X, Y, Z = vector("x"), vector("y"), vector("z")
S, T = number("s"), number("t")
ROUGH, SMOOTH, WEAK = Function("f"), Function("g", 1), Function("h", 1, -1)


def drift(n):
    """Clients near a point that is not the origin."""
    clients = [vector(f"v{k}") for k in range(n)]
    facts = [given(square(X) >= 1), *(bounded(v - X, 1) for v in clients)]
    return Lemma(square(average(clients) - X) <= 1, tuple(facts))


def lengths(n):
    """Irrational lengths, and angles between neighbours."""
    vs = [vector(f"v{k:02d}") for k in range(n)]
    facts = [equal(square(v), k + 2) for k, v in enumerate(vs)]
    facts += [equal(inner(u, v), -1) for u, v in pairwise(vs)]
    return Lemma(square(vs[0]) <= 3, tuple(facts))


def dissimilar(n):
    """Gradients of many functions, not all of them zero."""
    slopes = [Function(f"f{k}", 1, "1/10").gradient(X) for k in range(n)]
    mean, spread = average(slopes), number("Z")
    facts = (
        given(average([square(g - mean) for g in slopes]) <= spread),
        given(spread >= 1),
        given(spread <= 2),
        given(square(mean) >= "1/2"),
    )
    return Lemma(average(map(square, slopes)) <= square(mean) + 2, facts)


def far(n):
    """Values of one function at many points, away from its minimiser."""
    points = [vector(f"v{k}") for k in range(n)]
    star, g = vector("x*"), SMOOTH
    facts = [given(g.value(p) - g.value(star) >= k + 1) for k, p in enumerate(points)]
    facts += [bounded(points[0] - star, 4)]
    claim = g.value(points[0]) - g.value(star) <= 2
    return Lemma(claim, tuple(facts), (g.gradient(star),))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "n"), [(drift, 30), (lengths, 30), (dissimilar, 26), (far, 6)]
)
def test_a_model_is_found_for_many_vectors(build, n):
    answer = prove(build(n))
    assert isinstance(answer, Certificate)
    data = json.loads(json.dumps(answer.as_dict()))
    assert verify(data)
    assert modelled(data)
    assert not verify({**data, "model": None})


def modelled(data):
    """Whether the model satisfies the assumptions, by the formulas of this file."""
    model = data["model"]
    weights = list(map(F, model["weights"]))
    at = {label: list(map(F, v)) for label, v in model["vectors"].items()}
    values = {label: F(v) for label, v in model["values"].items()}

    def inside(u, v):
        return sum(w * a * b for w, a, b in zip(weights, u, v, strict=True))

    def point(entry):
        total = [F(0)] * len(weights)
        for label, factor in entry.items():
            total = [t + F(factor) * a for t, a in zip(total, at[label], strict=True)]
        return total

    def gap(entry):
        total = F(entry["constant"])
        total += sum(F(c) * inside(at[a], at[b]) for a, b, c in entry["pairs"])
        return total + sum(F(c) * values[s] for s, c in entry["values"].items())

    known = {}
    for table, kind, found in (
        ("vectors", "gradient", at),
        ("values", "value", values),
    ):
        for label, entry in data[table].items():
            if kind in entry and label in found:
                key = entry[kind], tuple(sorted(entry["point"].items()))
                known.setdefault(key, [point(entry["point"]), None, None])
                known[key][1 + (kind == "value")] = found[label]
    held = [(gap(h["gap"]), h["equality"]) for h in data["hypotheses"] if "gap" in h]
    return (
        all(w > 0 for w in weights)
        and not any(any(point(zero)) for zero in data["zero"])
        and all(v == 0 if equality else v >= 0 for v, equality in held)
        and all(
            interpolated(data["functions"][f], inside, one, two)
            for (f, _), one in known.items()
            for (g, _), two in known.items()
            if f == g and one is not two
        )
    )


def interpolated(classed, inside, one, two):
    """Theorem 4 of Taylor, Hendrickx and Glineur (2017), as they write it.

    Without smoothness 1/L is 0, and f is differentiable still: a tangent that touches
    elsewhere is the tangent there.
    """
    (x, g, fx), (y, h, fy) = one, two
    mu = F(classed["strong_convexity"])
    over = F(0) if classed["smoothness"] is None else 1 / F(classed["smoothness"])
    step = [a - b for a, b in zip(x, y, strict=True)]
    turn = [a - b for a, b in zip(g, h, strict=True)]
    bent = over * inside(turn, turn) + mu * inside(step, step)
    bent = (bent - 2 * mu * over * inside(turn, step)) / (2 * (1 - mu * over))
    left = fx - fy - inside(h, step) - bent
    straight = turn == [mu * s for s in step]
    return left > 0 or (left == 0 and (over > 0 or straight))


@pytest.mark.parametrize("n", [3, 30])
def test_many_vectors_that_contradict_each_other_prove_nothing(n):
    vs = [vector(f"v{k}") for k in range(n)]
    tight = (*(bounded(v, 1) for v in vs), given(inner(vs[0], vs[1]) >= "11/10"))
    answer = prove(Lemma(square(vs[0]) <= 1, tight))
    assert isinstance(answer, Undecided)
    assert answer.reason == "the assumptions cannot hold together"


@pytest.mark.parametrize(
    "assumed",
    [
        # two gradients at one place
        (bounded(X - Y, 0), given(square(ROUGH.gradient(X) - ROUGH.gradient(Y)) >= 1)),
        # a tangent that touches where the gradient is another one
        (
            equal(ROUGH.value(X) - ROUGH.value(Y), inner(ROUGH.gradient(Y), X - Y)),
            given(square(ROUGH.gradient(X) - ROUGH.gradient(Y)) >= 1),
        ),
    ],
)
def test_a_function_without_smoothness_is_differentiable_still(assumed):
    # a subgradient of |.| would do; no function that is meant has two at one place
    answer = prove(Lemma(square(Z) <= 5, (bounded(Z, 5), *assumed)))
    assert isinstance(answer, Undecided)


def test_kinks_are_refused_by_the_checker():
    apart = given(square(ROUGH.gradient(X) - ROUGH.gradient(Y)) >= 1)
    near = bounded(X - Y, 1)
    data = prove(Lemma(square(X - Y) <= 1, (near, apart))).as_dict()
    assert verify(data)
    model = data["model"]
    slopes = [k for k, entry in data["vectors"].items() if "gradient" in entry]
    kink = {k: ["0", "0"] for k in model["vectors"]}
    kink = {**kink, slopes[0]: ["1", "0"], slopes[1]: ["0", "1"]}
    values = dict.fromkeys(model["values"], "0")
    broken = {"weights": ["1", "1"], "vectors": kink, "values": values}
    assert "cannot take" in _check.fault({**data, "model": broken})


def test_a_model_of_values_apart_needs_slopes():
    apart = given(ROUGH.value(X) - ROUGH.value(Y) >= 1)
    data = prove(Lemma(square(X - Y) <= 1, (bounded(X - Y, 1), apart))).as_dict()
    assert verify(data)
    [x] = [k for k, entry in data["vectors"].items() if entry.get("name") == "x"]
    flat = {k: ["1" if k == x else "0"] for k in data["model"]["vectors"]}
    high = {k: str(int(x in data["values"][k]["point"])) for k in data["values"]}
    broken = {"weights": ["1"], "vectors": flat, "values": high}
    assert "cannot take" in _check.fault({**data, "model": broken})


POSSIBLE = [
    # models at isolated points only, numbers alone, and what is at the origin
    (square(X) <= 1, (bounded(X, 1), given(square(X) >= 1), equal(inner(X, Y), 1))),
    (inner(X, Y) <= 3, (bounded(X, 9), bounded(Y, 1), given(inner(X, Y) >= 3))),
    (S <= 5, (equal(S + T, 4), given(S - T >= 1), given(T >= 1))),
    (square(SMOOTH.gradient(X)) <= 9, (bounded(SMOOTH.gradient(X), 9), bounded(Y, 0))),
    (WEAK.value(X) <= -1, (given(WEAK.value(X) <= -1), equal(WEAK.value(Y), 5))),
    (ROUGH.value(X) <= 3, (given(ROUGH.value(X) <= 3), given(ROUGH.value(X) >= 2))),
    (2 * inner(X, Z) <= square(Z) + 1, (bounded(X, 1), given(square(Y) >= 1))),
    # sizes far apart
    (square(X) <= 1, (bounded(X, 1), bounded(Y, 10**81), given(inner(X, Y) >= 10**40))),
    (square(X) <= 1, (given(square(X) >= F(1, 10**300)), bounded(X, F(1, 10**299)))),
]


@pytest.mark.parametrize(("claim", "assumed"), POSSIBLE)
def test_assumptions_that_can_hold_are_no_obstacle(claim, assumed):
    answer = prove(Lemma(claim, assumed))
    assert isinstance(answer, Certificate)
    data = answer.as_dict()
    assert verify(data)
    assert data["model"] is None or modelled(data)


def test_a_model_is_part_of_the_proof():
    claim = square(SMOOTH.gradient(X)) <= 4
    assumed = (bounded(X - Y, 4), given(square(SMOOTH.gradient(X)) >= 1))
    data = prove(Lemma(claim, assumed, (SMOOTH.gradient(Y),))).as_dict()
    assert verify(data)
    assert modelled(data)
    model = data["model"]
    slope = next(k for k, entry in data["vectors"].items() if "gradient" in entry)
    wrong = [
        None,
        [],
        {},
        {**model, "weights": [f"-{w}" for w in model["weights"]]},
        {**model, "weights": ["0"] * len(model["weights"])},
        {**model, "weights": [*model["weights"], "1"]},
        {**model, "weights": model["weights"][0]},
        {**model, "vectors": {}},
        {**model, "values": {}},
        {**model, "vectors": {k: v for k, v in model["vectors"].items() if k != slope}},
        {**model, "vectors": {k: [F(1)] for k in model["vectors"]}},
        {**model, "vectors": {k: ["0"] * len(v) for k, v in model["vectors"].items()}},
        {**model, "values": dict.fromkeys([*model["values"]][:1], "1000")},
        {**model, "values": {**model["values"], "more": "0"}},
    ]
    for entry in wrong:
        assert not verify({**data, "model": entry}), entry
        assert _check.fault({**data, "model": entry})
    for key, point in model["vectors"].items():  # each number counts
        for k in range(len(point)):
            moved = copy.deepcopy(data)
            moved["model"]["vectors"][key][k] = str(F(point[k]) + 10)
            assert verify(moved) == modelled(moved)


@pytest.mark.parametrize(
    ("y", "z"), [(["1", "1"], ["1", "0"]), (["1", "0"], ["1", "1"])]
)
def test_a_model_obeys_every_coordinate_of_every_zero_vector(y, z):
    lemma = Lemma(square(Y) >= F(1, 2), (given(square(X) >= 1),), (X - Y, X - Z))
    data = prove(lemma).as_dict()
    label = {entry["name"]: key for key, entry in data["vectors"].items()}

    def judged(**vectors):
        at = {label[name]: value for name, value in vectors.items()}
        model = {"weights": ["1", "1"], "vectors": at, "values": {}}
        return _check.fault({**data, "model": model})

    assert judged(x=["1", "0"], y=["1", "0"], z=["1", "0"]) == ""
    assert "zero vector that is not zero" in judged(x=["1", "0"], y=y, z=z)


def test_a_vector_and_a_number_of_one_name_are_two_things():
    assert isinstance(prove(2 * number("x") <= square(X) + 1), Counterexample)
    label = ("scalar", "a")
    both = prove(number("a") <= number("a") + square(vector(label)))
    assert "is no name" in both.reason


@pytest.mark.usefixtures("limited")
def test_a_number_too_long_to_be_written_is_refused():
    with pytest.raises(DomainError, match="4300 digits"):
        prove(square(X) <= 10**5000 * square(X))


def test_nested_points_take_no_exponential_time():
    # the k-th point of gradient descent contains all gradients before it
    point, star = X, vector("x*")
    for _ in range(9):
        point = point - SMOOTH.gradient(point)
    claim = square(SMOOTH.gradient(point)) <= 1
    assumed = (given(square(SMOOTH.gradient(point)) <= 1), given(square(X - star) >= 9))
    answer = prove(Lemma(claim, assumed, (SMOOTH.gradient(star),)))
    assert isinstance(answer, Certificate)
    assert modelled(answer.as_dict())
