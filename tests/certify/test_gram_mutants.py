"""Certificates with one field replaced: rejected, or true by dense numbers.

A second reader, written for this file, evaluates the identity at random rational points
and compares what is claimed with the certificate that was changed.
"""

import copy
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from flverify.certify.gram import (
    Certificate,
    Function,
    Lemma,
    Undecided,
    _check,
    bounded,
    descent,
    equal,
    given,
    inner,
    interpolation,
    jensen,
    lipschitz,
    number,
    prove,
    square,
    tangent,
    vector,
    verify,
)
from tests.certify.false_claim import false_claim, side
from tests.certify.test_gram_consistent import modelled

F = Fraction
X, Y, Z = vector("x"), vector("y"), vector("z")
CURVED, CONVEX = Function("f", 1, "1/10"), Function("g")

STORED = {
    "assumptions": Lemma(
        inner(X, Y) <= number("s") + 2,
        (
            bounded(X, 1),
            given(square(Y) <= 4),
            equal(number("s"), 0),
            given(square(Z) >= 1),
        ),
    ),
    "interpolation": Lemma(
        square(X - CURVED.gradient(X) - Y) <= F(81, 100) * square(X - Y),
        where=(CURVED.gradient(Y),),
    ),
    "jensen": Lemma(
        square(X + Y) <= 2 * square(X) + 2 * square(Y),
        (jensen([X, Y]),),
        interpolate=False,
    ),
    "lipschitz": Lemma(
        square(CURVED.gradient(X) - CURVED.gradient(Y)) <= square(X - Y),
        (lipschitz(CURVED, X, Y),),
        interpolate=False,
    ),
    "tangent": Lemma(
        CONVEX.value(Y) <= CONVEX.value(X) + 1,
        (tangent(CONVEX, Y, X), given(square(X - Y) >= 1)),
        (CONVEX.gradient(Y),),
        interpolate=False,
    ),
}
OTHERS = [None, True, False, 0, 1, 1.0, "", "0", "1", "-1", "1/0", "x", [], {}, ["1"]]
ABSENT = object()


@pytest.fixture(scope="module")
def stored():
    found = {name: prove(lemma) for name, lemma in STORED.items()}
    assert all(isinstance(proof, Certificate) for proof in found.values())
    return {k: json.loads(json.dumps(p.as_dict())) for k, p in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", STORED)
def test_a_changed_field_is_rejected_or_leaves_a_true_proof(stored, name):
    proof = stored[name]
    assert verify(proof)
    assert sound(proof, proof)
    accepted = 0
    for path in places_of(proof):
        for value in others(at(proof, path)):
            mutant = changed(proof, path, value)
            if json.dumps(mutant) == json.dumps(proof):
                continue
            if verify(mutant):
                accepted += 1
                assert sound(mutant, proof), (path, value)
            else:
                assert _check.fault(mutant)
    assert accepted < 40  # other models, and constants that are idle


def others(value):
    """All that a field is replaced by."""
    if isinstance(value, str):
        try:
            number_ = F(value)
        except ValueError:
            return [*OTHERS, ABSENT, value + " ", [value]]
        return [*OTHERS, ABSENT, str(number_ + 1), str(-number_), float(number_)]
    if isinstance(value, list):
        more = [value[1:], [*value, *value], dict(enumerate(value))]
        flat = "".join(v for v in value if isinstance(v, str))
        return [*OTHERS, ABSENT, flat, *more]
    if isinstance(value, dict):
        return [*OTHERS, ABSENT, list(value), list(value.items()), str(value)]
    return [*OTHERS, ABSENT, "yes", "true"]


def places_of(data, path=()):
    """Paths to every field, table and list."""
    if path:
        yield path
    inside = data.items() if isinstance(data, dict) else ()
    inside = enumerate(data) if isinstance(data, list) else inside
    for key, value in inside:
        yield from places_of(value, (*path, key))


def at(data, path):
    for key in path:
        data = data[key]
    return data


def changed(proof, path, value):
    mutant = copy.deepcopy(proof)
    place = at(mutant, path[:-1])
    if value is ABSENT:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return mutant


# The second reader


def sound(data, original):
    """Whether a certificate says what another says, and proves it."""
    same = data["statement"] == original["statement"] and claims(data) == claims(
        original
    )
    assumed = [h for h in data["hypotheses"] if h["kind"] == "given"]
    model = data.get("model") is not None
    at_zero = all(
        F(h["gap"]["constant"]) == 0
        or (F(h["gap"]["constant"]) > 0 and not h["equality"])
        for h in assumed
    )
    return same and identical(data) and (modelled(data) if model else at_zero)


def claims(data):
    """Both sides and all assumptions, with every label spelled out."""

    def told(table, label):
        entry = data[table][label]
        if "name" in entry:
            assert type(entry["name"]) is str
            return entry["name"]
        f = entry["gradient" if table == "vectors" else "value"]
        return table, f, combined(entry["point"])

    def combined(entry):
        assert all(type(v) is str for v in entry.values())
        return frozenset((told("vectors", k), F(v)) for k, v in entry.items() if F(v))

    def side(entry):
        assert type(entry["pairs"]) is list
        total = {(): F(entry["constant"])}
        for a, b, v in entry["pairs"]:
            key = frozenset((told("vectors", a), told("vectors", b)))
            total[key] = total.get(key, 0) + F(v)
        for s, v in entry["values"].items():
            total["values", told("values", s)] = F(v)
        return {key: v for key, v in total.items() if v}

    assumed = [h for h in data["hypotheses"] if h["kind"] == "given"]
    assert all(type(h["equality"]) is bool for h in assumed)
    held = [(side(h["gap"]), h["equality"]) for h in assumed]
    sides = side(data["left"]), side(data["right"])
    return sides, held, [combined(zero) for zero in data["zero"]]


def identical(data):
    """Whether right - left is the sum that the proof says, at random rationals."""
    tables = ("hypotheses", "multipliers", "zero", "shifts", "squares")
    assert all(type(data[key]) is list for key in tables)
    assert len(data["hypotheses"]) == len(data["multipliers"])
    assert len(data["zero"]) == len(data["shifts"])
    free = [h["kind"] == "given" and h["equality"] for h in data["hypotheses"]]
    signs = [F(m) >= 0 for m in data["multipliers"]]
    fine = all(a or b for a, b in zip(free, signs, strict=True))
    fine = fine and all(F(w) >= 0 for w, _ in data["squares"]) and F(data["slack"]) >= 0
    return fine and all(balanced(data, seed) for seed in range(3))


def balanced(data, seed):
    point = Point(data, seed)
    total = F(data["slack"])
    for h, m in zip(data["hypotheses"], data["multipliers"], strict=True):
        total += F(m) * point.gap(h)
    for zero, shift in zip(data["zero"], data["shifts"], strict=True):
        total += point.vector(zero) @ point.vector(shift)
    forms = [(F(w), point.vector(form)) for w, form in data["squares"]]
    total += sum(w * (form @ form) for w, form in forms)
    return total == point.side(data["right"]) - point.side(data["left"])


class Point:
    """Random rationals for all symbols, as if no gradient had to do with its point."""

    def __init__(self, data, seed):
        random = np.random.default_rng(seed)
        self.data = data
        self.space = {label: drawn(random, 3) for label in data["vectors"]}
        self.values = {label: drawn(random, 1)[0] for label in data["values"]}

    def vector(self, entry):
        parts = [F(c) * self.space[label] for label, c in entry.items()]
        return sum(parts, start=np.array([F(0)] * 3))

    def side(self, entry):
        pairs = [(F(c), self.space[a], self.space[b]) for a, b, c in entry["pairs"]]
        values = [F(c) * self.values[s] for s, c in entry["values"].items()]
        return (
            F(entry["constant"]) + sum(c * (u @ v) for c, u, v in pairs) + sum(values)
        )

    def gap(self, h):
        if h["kind"] == "given":
            return self.side(h["gap"])
        if h["kind"] == "jensen":
            vectors = [self.vector(v) for v in h["vectors"]]
            return variance([F(w) for w in h["weights"]], vectors)
        f, points = h["function"], h["points"]
        x, y = map(self.vector, points)
        mu, L = constants(self.data["functions"][f])

        def slope(p):
            return self.at("vectors", "gradient", self.space, f, p)

        def level(p):
            return self.at("values", "value", self.values, f, p)

        first, second = points
        g = slope(first)
        if h["kind"] == "lipschitz":
            turn = g - slope(second)
            return L * L * (x - y) @ (x - y) - turn @ turn
        rise = level(second) - level(first)
        if h["kind"] == "descent":
            return g @ (y - x) + L / 2 * (y - x) @ (y - x) - rise
        if h["kind"] == "tangent":
            return rise - g @ (y - x) - mu / 2 * (y - x) @ (y - x)
        assert h["kind"] == "interpolation"
        k = slope(second)
        turn = g - k - mu * (x - y)
        bent = 0 if L is None else turn @ turn / (2 * (L - mu))
        return -rise - k @ (x - y) - mu / 2 * (x - y) @ (x - y) - bent

    def at(self, table, kind, found, f, entry):
        known = self.data[table].items()
        there = [k for k, v in known if v.get(kind) == f]
        place = self.data[table]
        (label,) = (k for k in there if nonzero(place[k]["point"]) == nonzero(entry))
        return found[label]


def drawn(random, count):
    return np.vectorize(F)(random.integers(-9, 10, size=count)) / 7


def variance(weights, vectors):
    assert sum(weights) == 1
    assert min(weights) >= 0
    mean = sum(w * v for w, v in zip(weights, vectors, strict=True))
    parts = zip(weights, vectors, strict=True)
    return sum(w * ((v - mean) @ (v - mean)) for w, v in parts)


def constants(entry):
    mu = F(entry["strong_convexity"])
    L = None if entry["smoothness"] is None else F(entry["smoothness"])
    assert mu >= 0 if L is None else -L <= mu < L
    return mu, L


def nonzero(entry):
    return {label: F(value) for label, value in entry.items() if F(value)}


@pytest.mark.parametrize("mu", ["1/10", "-1/2"])
@pytest.mark.parametrize("fact", [interpolation, descent, tangent, lipschitz])
def test_facts_of_curved_functions_are_those_of_the_second_reader(fact, mu):
    one = fact(Function("f", 1, mu), X, Y)
    proof = prove(Lemma(one.gap >= 0, (one,), interpolate=False))
    assert isinstance(proof, Certificate)
    assert identical(proof.as_dict())
    more = Lemma(one.gap >= square(X - Y) / 100, (one,), interpolate=False)
    assert not prove(more)


@pytest.mark.parametrize(("weights", "share"), [(None, "1/4"), (("1/3", "2/3"), "2/9")])
def test_the_gap_of_jensen_is_a_variance(weights, share):
    gap = jensen([X, Y]).gap if weights is None else jensen([X, Y], weights).gap
    spread = F(share) * square(X - Y)
    assert prove(gap <= spread)
    assert prove(spread <= gap)


# Faults that were found by hand


@pytest.mark.parametrize("flag", [None, 0, 1, "yes", "true", "", [], {}])
def test_an_equality_must_be_true_or_false(stored, flag):
    proof = stored["assumptions"]
    for k, entry in enumerate(proof["hypotheses"]):
        mutant = changed(proof, ("hypotheses", k, "equality"), flag)
        assert not verify(mutant), entry
        assert "equality must be true or false" in _check.fault(mutant)
    absent = changed(proof, ("hypotheses", 0, "equality"), ABSENT)
    assert not verify(absent)


def test_smoothness_is_used_of_smooth_functions_alone(stored):
    proof = stored["lipschitz"]
    rough = changed(proof, ("functions", "f", "smoothness"), None)
    assert "f need not be smooth" in _check.fault(rough)


def test_lists_and_versions_must_be_what_they_seem(stored):
    proof = stored["jensen"]
    pair = proof["left"]["pairs"][0]
    renamed = json.loads(json.dumps(proof).replace(f'"{pair[0]}"', '"a"'))
    assert verify(renamed)
    joined = ["".join(p) for p in renamed["left"]["pairs"]]
    wrong = [
        {**proof, "version": True},
        {**proof, "version": 1.0},
        {**proof, "multipliers": "".join(proof["multipliers"])},
        {**proof, "zero": ""},
        {**proof, "zero": {}, "shifts": {}},
        {**proof, "squares": dict(proof["squares"])},
        changed(renamed, ("left", "pairs"), joined),
        changed(proof, ("hypotheses", 0, "weights"), "01"),
    ]
    for data in wrong:
        assert not verify(data)
        assert _check.fault(data)


@pytest.mark.parametrize(
    "name", [" x", "x ", "x) y(", "(x", "x)", "\u202ex", "x\u200b", "x\r", "\u2028"]
)
def test_a_name_that_can_be_misread_is_none(name):
    # " f" of a narrow class would be printed as f, the name of a wide one
    answer = prove(square(vector(name)) <= 2 * square(vector(name)))
    assert isinstance(answer, Undecided)
    assert "is no name" in answer.reason
    assert prove(square(vector("g(x)")) <= 2 * square(vector("g(x)")))


def test_the_checker_reads_a_certificate_once():
    class Turning(dict):
        """Says one thing to the identity, another to the statement."""

        def __getitem__(self, key):
            if key == "right":
                self.count = getattr(self, "count", 0) + 1
                return self["second" if self.count > 1 else "first"]
            return super().__getitem__(key)

    proof = false_claim(first=side("1"), second=side("-1"))
    proof["squares"] = [["1", {"x": "1"}]]
    assert not verify(Turning(proof))


def test_every_module_of_the_checker_stands_alone():
    folder = Path(_check.__file__).parent
    for path in folder.glob("_check*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        names = [ln.split()[1] for ln in lines if ln.startswith(("import", "from"))]
        own = [n for n in names if n.startswith("flverify.certify.gram._check")]
        roots = {n.partition(".")[0] for n in names if n not in own}
        assert roots <= {
            "__future__",
            "collections",
            "fractions",
            "itertools",
            "json",
            "typing",
        }
