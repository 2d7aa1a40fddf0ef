"""One-step lemmas: forms against plain loops, decisions against eigenvalues."""

import importlib
import inspect
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import InputError, ReadingError, Refusal, RefusedError
from flverify._core.rationals import to_flint, to_fraction
from flverify.algorithms import Ball, FedAU, FedAvg, Focus, GradientDescent
from flverify.algorithms._algorithm import Algorithm, Numbers, Server
from flverify.algorithms.agnostic_fedavg import AgnosticFedAvg
from flverify.certify import gram, quadratic_form
from flverify.certify._definite import as_float, negative_state, squares
from flverify.certify.quadratic_form import (
    Counterexample,
    Proof,
    _matrices,
    _rounds,
    after,
    average,
    client,
    evaluate,
    expect,
    fixed,
    gradient,
    inner,
    kept_zero,
    minimiser,
    one_step,
    point_of,
    server,
    square,
    value,
)
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    ExplicitLaw,
    Full,
    ModeChain,
    UniformCohort,
)
from flverify.problems import Quadratics
from tests import zoo

F = Fraction
PLANE = zoo.PLANE
LINE = Quadratics([[[1]], [[3]], [[2]]], [[0], [2], ["1/2"]])
LAW3 = Bernoulli(["1/2", "1/3", "3/4"])
X, STAR = server("model"), minimiser()


# Plain computations on lists, nothing of flverify but the reference loops.


def slope(problem):
    hessians, linear = zoo.as_lists(problem)

    def gradient_of(i, x):
        rows = zip(hessians[i], linear[i], strict=True)
        return [sum(h * v for h, v in zip(row, x, strict=True)) - b for row, b in rows]

    return gradient_of


def dot(a, b):
    return sum(u * v for u, v in zip(a, b, strict=True))


def minus(a, b):
    return [u - v for u, v in zip(a, b, strict=True)]


def objective(problem, x):
    hessians, linear = zoo.as_lists(problem)
    parts = [
        dot(x, [dot(row, x) for row in h]) / 2 - dot(b, x)
        for h, b in zip(hessians, linear, strict=True)
    ]
    return sum(parts) / F(len(parts))


def played(problem, algorithm, law, state):
    """States after one round with their probabilities, by the plain loop."""
    home = type(algorithm).__module__.rpartition(".")[2]
    play = importlib.import_module(f"flverify.reference.{home}").play
    known = inspect.signature(play).parameters
    named = {k: v for k, v in zoo.settings(algorithm).items() if k in known}
    n = problem.n_clients
    return [
        (play(listed(state), slope(problem), n, cohort, **named), chance)
        for cohort, chance in law.support().items()
    ]


def listed(state):
    return {name: np.array(v, dtype=object).tolist() for name, v in state.items()}


def short(random, shape):
    raw = random.integers(-6, 7, size=shape)
    return np.vectorize(lambda v: F(int(v), 3), otypes=[object])(raw)


def random_state(algorithm, problem, random):
    n, d = problem.n_clients, problem.dim
    state = {
        name: short(random, (d,) if kind.__name__ == "Server" else (n, d))
        for name, kind in algorithm.slots().items()
    }
    if "table" in state:  # the mean beside it is its mean, as loops take it
        state["mean"] = state["table"].sum(axis=0) / F(n)
    return state


def has_loop(member):
    module = importlib.import_module(f"flverify.reference.{member}")
    return hasattr(module, "play") and member not in {
        "fedau",
        "fedawe",
        "agnostic_fedavg",
    }


CASES = [
    pytest.param(algorithm, law, id=f"{member}-{k}-{law.spec}")
    for k, (member, algorithm) in enumerate(zoo.algorithms(3))
    if has_loop(member)
    for law in [*zoo.LAWS[3], AllOrNothing(3, "2/5")]
]


def some_expression(algorithm):
    """A little of everything: means, values, products with every slot, constants."""
    others = [
        server(name) if kind.__name__ == "Server" else client(name, 2)
        for name, kind in algorithm.slots().items()
    ]
    b = fixed([1, "-2/3"])
    return (
        expect(square(after(X) - STAR))
        + 2 * expect(inner(after(X), others[-1]))
        - "1/3" * square(expect(after(X)) - b)
        + expect(value(after(X)))
        + expect(inner(after(others[-1]), after(X) + gradient(X, 1)))
        + "5/7"
    )


def by_hand(problem, algorithm, law, state):
    outcomes = played(problem, algorithm, law, state)
    star, slots = problem.minimiser().tolist(), listed(state)
    last = list(algorithm.slots())[-1]

    def other(record):
        found = record[last]
        return found[2] if isinstance(found[0], list) else found

    mean = [sum(c * after_["model"][k] for after_, c in outcomes) for k in range(2)]
    total = F(5, 7) - F(1, 3) * dot(*[minus(mean, [1, F(-2, 3)])] * 2)
    at_one = slope(problem)(1, slots["model"])
    for after_, chance in outcomes:
        x = after_["model"]
        total += chance * dot(minus(x, star), minus(x, star))
        total += chance * (2 * dot(x, other(slots)) + objective(problem, x))
        moved = [u + v for u, v in zip(x, at_one, strict=True)]
        total += chance * dot(other(after_), moved)
    return total


@pytest.mark.parametrize(("algorithm", "law"), CASES)
def test_forms_and_evaluation_agree_with_the_plain_loops(algorithm, law):
    random = np.random.default_rng(7)
    round_ = _rounds.read_round(PLANE, algorithm, law)
    form = _matrices.Matrices(PLANE, round_).form(some_expression(algorithm))
    for _ in range(2):
        state = random_state(algorithm, PLANE, random)
        wanted = by_hand(PLANE, algorithm, law, state)
        expression = some_expression(algorithm)
        assert evaluate(expression, PLANE, algorithm, law, state) == wanted
        vector = to_flint(homogeneous(round_.layout, state))
        assert to_fraction(vector @ form @ vector) == wanted


def homogeneous(layout, state):
    parts = [
        state[slot] if kind == "server" else state[slot][i]
        for kind, slot, i in layout.blocks
    ]
    return np.concatenate([*parts, np.array([F(1)], dtype=object)])


def test_a_planted_bug_in_the_expectation_is_seen(monkeypatch):
    algorithm, law = Focus("1/20", 2), LAW3
    honest = _rounds.traced_round(LINE, algorithm, law)
    forgetful = _rounds.Round(  # E<u, v> taken as <E u, E v>
        honest.layout, honest.weights[:1], honest.still[:1], honest.parts[:1]
    )
    monkeypatch.setattr(_rounds, "traced_round", lambda *_: forgetful)
    distance = square(X - STAR)
    answer = one_step(
        LINE, algorithm, law, expect(square(after(X) - STAR)) <= distance / 100
    )
    assert isinstance(answer, Refusal)  # the cohorts, run one by one, disagree
    assert "disagree" in answer.reason


def test_a_state_that_violates_nothing_refutes_nothing(monkeypatch):
    lemma = expect(square(after(X))) <= "1/4" * square(X)
    assert isinstance(one_step(*PAIR, lemma), Counterexample)
    harmless = to_flint(np.array([0, 1], dtype=object))
    monkeypatch.setattr(quadratic_form._definite, "negative_state", lambda *_: harmless)
    answer = one_step(*PAIR, lemma)
    assert isinstance(answer, Refusal)
    assert "was to violate" in answer.reason


@pytest.mark.parametrize("algorithm", [Focus("1/20", 2), FedAvg("1/9", 2)])
@pytest.mark.parametrize("law", [*zoo.LAWS[3], LAW3])
def test_traced_and_listed_rounds_give_the_same_forms(algorithm, law):
    expression = some_expression(algorithm)
    rounds = [
        read(PLANE, algorithm, law)
        for read in (_rounds.traced_round, _rounds.listed_round)
    ]
    one, other = (_matrices.Matrices(PLANE, r).form(expression) for r in rounds)
    assert set(rounds[1].still) == {1}
    assert (len(rounds[0].still) == 1) == (law.spec == "full")
    assert (one == other).all()


# Decisions


def test_a_tight_constant_is_proved_and_a_smaller_one_refuted():
    # one uniform client of curvature 1 or 3: ((3/4)^2 + (1/4)^2)/2 = 5/16
    setting = Quadratics([[[1]], [[3]]], [[0], [0]]), FedAvg("1/4"), UniformCohort(2, 1)
    left = expect(square(after(X)))
    assert isinstance(one_step(*setting, left <= "5/16" * square(X)), Proof)
    answer = one_step(*setting, left <= "312499/1000000" * square(X))
    assert isinstance(answer, Counterexample)
    assert not answer
    assert answer.confirmed
    (x,) = answer.state["model"]
    assert answer.left == F(5, 16) * x * x > answer.right == F(312499, 10**6) * x * x


def test_constants_enter_through_the_closure():
    # x+ = 1: 1 <= c + 0 x^2 + ... with a form that is singular in the direction of x
    setting = Quadratics([[[1]]], [[1]]), GradientDescent(1), Full(1)
    left = expect(square(after(X)))
    assert one_step(*setting, left <= 0 * square(X) + 1)
    assert not one_step(*setting, left <= 0 * square(X) + "99/100")
    # linear in x: false far away, on either side
    for sign in (1, -1):
        answer = one_step(*setting, left <= sign * inner(X, fixed([1])) + 10**6)
        assert isinstance(answer, Counterexample)
        assert answer.left > answer.right
    # negative only at infinity: no eigenvector helps at distance 1
    answer = one_step(*setting, square(X) <= F(10**9) * expect(square(after(X))))
    assert answer.state["model"][0] ** 2 > 10**9


def test_a_proof_is_a_sum_of_squares_that_adds_up():
    right = "1/2" * square(X - STAR) + "1/2"
    left = expect(square(after(X) - STAR))
    setting = Quadratics([[[1]], [[3]]], [[0], [2]]), FedAvg("1/4"), UniformCohort(2, 1)
    proof = one_step(*setting, left <= right)
    assert str(proof) == "right - left = 3/16 (model - 1/3)^2 + 23/48 (1)^2"
    for x in (F(-3), F(1, 7), F(4)):
        # by hand: x* = 1/2, and x+ is 3x/4 or x/4 + 1/2
        gap = (x - F(1, 2)) ** 2 / 2 + F(1, 2)
        gap -= ((3 * x / 4 - F(1, 2)) ** 2 + (x / 4) ** 2) / 2
        assert total(proof, {"model": x, "1": 1}) == gap


def total(proof, coordinates):
    return sum(
        weight * sum(c * coordinates[name] for name, c in terms) ** 2
        for weight, terms in proof.squares
    )


def lemma3(eta, mu, L, share):
    """Lemma 3 of the FOCUS paper for 3 clients, its first coefficient scaled."""
    n = 3
    spread = sum(square(X - point_of(client("stored", i), i)) for i in range(n))
    excess = value(X) - value(STAR)
    right = (1 - share * eta * mu * n / 2) * square(X - STAR)
    right += -2 * eta * n * (1 - 2 * eta * n * L) * excess
    return expect(square(after(X) - STAR)) <= right + 8 * eta * L**2 * n / mu * spread


@pytest.mark.parametrize("law", [LAW3, UniformCohort(3, 2), Full(3)])
def test_lemma_3_of_focus_on_an_instance_and_its_false_twin(law):
    algorithm = Focus("1/60", 2)
    eta, mu, L = algorithm.step_size, 1, 3
    held = kept_zero(algorithm, 3)
    assert one_step(LINE, algorithm, law, lemma3(eta, mu, L, 1), held)
    answer = one_step(LINE, algorithm, law, lemma3(eta, mu, L, 6), held)
    assert isinstance(answer, Counterexample)
    assert answer.confirmed
    left, right = lemma3_by_hand(LINE, algorithm, law, answer.state, mu, L, 6)
    assert left == answer.left > right == answer.right
    stored = [g for (g,) in answer.state["stored"]]
    assert answer.state["tracker"] == (sum(stored),)


def lemma3_by_hand(problem, algorithm, law, state, mu, L, share):
    eta, n = algorithm.step_size, problem.n_clients
    hessians, linear = zoo.as_lists(problem)
    star = sum(b[0] for b in linear) / sum(h[0][0] for h in hessians)
    x = state["model"][0]
    left = sum(
        chance * (later["model"][0] - star) ** 2
        for later, chance in played(problem, algorithm, law, state)
    )
    right = (1 - share * eta * mu * n / 2) * (x - star) ** 2
    excess = objective(problem, [x]) - objective(problem, [star])
    right -= 2 * eta * n * (1 - 2 * eta * n * L) * excess
    for h, b, (g,) in zip(hessians, linear, state["stored"], strict=True):
        point = (g + b[0]) / h[0][0]  # where the stored gradient was taken
        right += 8 * eta * L**2 * n / mu * (x - point) ** 2
    return left, right


def test_hypotheses_make_the_difference():
    # with y = sum_i g_i, full participation and tau = 1, FOCUS is gradient descent
    algorithm, law = Focus("1/12"), Full(3)
    lemma = expect(square(after(X) - STAR)) <= "1/4" * square(X - STAR)
    held = kept_zero(algorithm, 3)
    assert [str(v) for v in held] == ["stored[0] + stored[1] + stored[2] - tracker"]
    proof = one_step(LINE, algorithm, law, lemma, held)
    assert isinstance(proof, Proof)
    assert "with" in proof.statement
    assert isinstance(one_step(LINE, algorithm, law, lemma), Counterexample)


class AnchoredState(NamedTuple):
    model: Server
    anchor: Server
    unused: Server


@dataclass(frozen=True)
class Anchored(Algorithm):
    """x+ = x - step_size grad F(x), beside the start and a zero, which stay."""

    step_size: Any
    local_steps: int = 1

    State = AnchoredState

    def init(self, start, cohort, oracle):
        del cohort, oracle
        return AnchoredState(start, start, 0 * start)

    def round(self, state, cohort, oracle):
        slopes = cohort.everyone(oracle.gradient(cohort.broadcast(state.model)))
        moved = state.model - self.step_size / cohort.n_clients * slopes
        return AnchoredState(moved, state.anchor, state.unused)


def test_what_stays_is_zero_only_if_it_starts_there():
    algorithm = Anchored(F(1, 4))
    held = kept_zero(algorithm, 3)
    assert [str(v) for v in held] == ["unused"]
    setting = LINE, algorithm, Full(3)
    assert one_step(*setting, square(server("unused")) <= 0, held)
    assert not one_step(*setting, square(server("anchor")) <= 0, held)


def test_one_hypothesis_may_fix_a_vector():
    setting = Quadratics([[[1]], [[3]]], [[0], [2]]), FedAvg("1/4"), UniformCohort(2, 1)
    left = expect(square(after(X)))
    at_star = one_step(*setting, left <= expect(0 * left) + "5/32", (X - STAR,))
    # x = 1/2 moves to 3/8 or 5/8: (9 + 25)/128 = 17/64
    assert isinstance(at_star, Counterexample)
    assert (at_star.state, at_star.left) == ({"model": (F(1, 2),)}, F(17, 64))
    assert one_step(*setting, left <= 0 * square(X) + "17/64", (X - STAR,))


def test_many_clients_are_traced_not_listed():
    n = 20
    problem = Quadratics([[[1 + (i % 3)]] for i in range(n)], [[i] for i in range(n)])
    law = UniformCohort(n, 5)  # 15504 cohorts
    left = expect(square(after(X) - expect(after(X))))
    assert one_step(problem, FedAvg("1/8"), law, 0 * left <= left)
    answer = one_step(problem, FedAvg("1/8"), law, left <= 0 * left)
    assert isinstance(answer, Counterexample)
    assert not answer.confirmed


# Random lemmas against dense linear algebra


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.integers(0, 40))
def test_random_lemmas_are_decided_as_eigenvalues_say(seed, scale):
    random = np.random.default_rng(seed)
    chances = [F(int(v), 10) for v in random.integers(1, 11, size=2)]
    problem = Quadratics(
        [[[F(int(v), 4)]] for v in random.integers(1, 9, size=2)], short(random, (2, 1))
    )
    algorithm, law = Focus(F(1, int(random.integers(4, 30)))), Bernoulli(chances)
    slots = [X, server("tracker"), client("stored", 0), client("stored", 1)]
    weights = [F(int(v), 3) for v in random.integers(0, 6, size=4)]
    right = F(scale, 10) * square(X - STAR) + F(int(random.integers(0, 9)), 2)
    right += sum(w * square(s) for w, s in zip(weights, slots, strict=True))
    lemma = expect(square(after(X) - STAR)) <= right
    answer = one_step(problem, algorithm, law, lemma)
    matrices = _matrices.Matrices(problem, _rounds.read_round(problem, algorithm, law))
    lowest = np.linalg.eigvalsh(as_float(matrices.form(lemma.gap)))[0]
    if abs(lowest) > 1e-9:
        assert isinstance(answer, Proof if lowest > 0 else Counterexample)
    if isinstance(answer, Counterexample):
        assert answer.confirmed
        outcomes = played(problem, algorithm, law, answer.state)
        star = problem.minimiser()[0]
        left = sum(c * (later["model"][0] - star) ** 2 for later, c in outcomes)
        assert left == answer.left > answer.right
    else:
        state = random_state(algorithm, problem, random)
        coordinates = {
            "model": state["model"][0],
            "tracker": state["tracker"][0],
            "stored[0]": state["stored"][0][0],
            "stored[1]": state["stored"][1][0],
            "1": F(1),
        }
        setting = problem, algorithm, law, state
        assert total(answer, coordinates) == evaluate(lemma.gap, *setting)


def test_small_forms_are_sums_of_squares_or_have_a_negative_vector():
    negative = 0
    for a, b, c, p, q, r in product(
        (0, 1, 2), (0, 1, 2), (-1, 0, 2), *[(-1, 0, 1)] * 3
    ):
        form = to_flint(np.array([[a, p, q], [p, b, r], [q, r, c]], dtype=object))
        terms, witness = squares(form)
        # by all principal minors
        pairs = min(a * b - p * p, a * c - q * q, b * c - r * r)
        whole = a * b * c + 2 * p * q * r - a * r * r - b * q * q - c * p * p
        assert (witness is None) == (min(a, b, c, pairs, whole) >= 0)
        if witness is None:
            parts = [weight * np.outer(column, column) for weight, column in terms]
            assert (sum(parts, start=0 * form) == form).all()
            continue
        negative += 1
        assert witness @ form @ witness < 0
        state = negative_state(form, witness)
        assert state[-1] == 1
        assert state @ form @ state < 0
    assert 400 < negative < 729


def test_a_form_may_be_negative_only_very_far_away():
    for slope in (0, 10**15, -(10**15)):
        rows = [[-1, slope], [slope, 10**40]]
        form = to_flint(np.array(rows, dtype=object))
        state = negative_state(form, squares(form)[1])
        assert state[-1] == 1
        assert state @ form @ state < 0


# Refusals and errors


def test_settings_that_cannot_be_decided_are_refused():
    lemma = expect(square(after(X))) <= square(X)
    modes = ModeChain([["1/2", "1/2"], ["1/2", "1/2"]], [Full(3), UniformCohort(3, 1)])
    big = Quadratics(np.full((100, 1, 1), 1), np.full((100, 1), 1))
    refused = [
        (LINE.as_float(), FedAvg("1/4"), LAW3, "rational"),
        (LINE, FedAvg(0.25), LAW3, "rational"),
        (LINE, FedAvg(sympy.Symbol("h")), LAW3, "rational"),
        (LINE, FedAvg("1/4"), Bernoulli([0.5, 0.5, 0.5]), "rational"),
        (LINE, FedAvg("1/4"), modes, "mode"),
        (LINE, FedAvg("1/4"), Full(2), "same clients"),
        (LINE, FedAU("1/4"), LAW3, "numbers per client"),
        (LINE, AgnosticFedAvg("1/4", 2, projection=Ball(1)), LAW3, "project"),
        (big, Focus("1/9", 2), Full(100), "too large"),
        (object(), FedAvg("1/4"), LAW3, "quadratic"),
    ]
    for problem, algorithm, law, word in refused:
        answer = one_step(problem, algorithm, law, lemma)
        assert isinstance(answer, Refusal), word
        assert word in answer.reason


def test_a_state_of_96_numbers_is_the_largest():
    for n, size in ((46, None), (47, 98)):  # model, tracker and n gradients in a plane
        problem = Quadratics(np.full((n, 2, 2), np.eye(2, dtype=int)), [[0, 0]] * n)
        answer = _rounds.refuses(problem, Focus("1/9"), Full(n))
        said = "" if answer is None else answer.reason
        assert said == (f"a state of {size} numbers is too large." if size else "")


def test_a_fresh_aggregate_returned_to_clients_is_listed():
    law = ExplicitLaw({(0,): "1/2", (0, 2): "1/2"}, 3)
    algorithm = next(a for m, a in zoo.algorithms(3) if m == "proxskip")
    answer = one_step(
        LINE, algorithm, law, expect(square(after(X))) <= 1 + 100 * square(X)
    )
    assert isinstance(answer, Proof | Counterexample)


@pytest.mark.parametrize(
    ("write", "word"),
    [
        (lambda: square(after(X)) <= square(X), "expect"),
        (lambda: inner(X, after(X)) <= square(X), "expect"),
        (lambda: inner(after(X), STAR) <= square(X), "expect"),
        (lambda: square(server("nonsense")) <= square(X), "slot"),
        (lambda: square(client("model", 0)) <= square(X), "slot"),
        (lambda: square(fixed([1, 2])) <= square(X), "entries"),
        (lambda: square(gradient(X, 3)) <= square(X), "client"),
        (lambda: after(after(X)), "look one round ahead"),
        (lambda: after(expect(after(X))), "look one round ahead"),
        (lambda: expect(3), "expectation"),
        (lambda: gradient(3), "vector"),
        (lambda: value(X) <= X, "square"),
        (lambda: X + 1, "inner product"),
        (lambda: inner(X, 2), "two vectors"),
        (lambda: 0.5 * square(X), "rational"),
        (lambda: average([]), "average"),
        (lambda: average([X, X], [1]), "weights"),
        (lambda: bool(square(X) <= 1), "truth value"),
        (lambda: square(X) / 0, "zero"),
        (lambda: X / 0, "zero"),
        (lambda: X - None, "added to a vector"),
        (lambda: 3 - X, "added to a vector"),
        (lambda: 3 + X, "added to a vector"),
        (lambda: square(X) < 1, "<="),
        (lambda: square(X) > 1, ">="),
        (lambda: average(3), "some items"),
        (lambda: average(["a"]), "vectors or expressions"),
        (lambda: gradient(X, [1]), "hashable"),
        (lambda: True, "an inequality"),
        (lambda: None, "an inequality"),
        (lambda: square(X) == 0, "an inequality"),
        (lambda: gram.number("s") <= square(X), "vocabulary"),
        (lambda: square(gram.vector("x")) <= square(X), "vocabulary"),
        (lambda: kept_zero(None, 3), "algorithm"),
        (lambda: kept_zero(Focus("1/4"), 0), "n_clients"),
    ],
)
def test_misuse_says_what_to_do(write, word):
    with pytest.raises(InputError, match=word):
        one_step(LINE, FedAvg("1/4"), LAW3, write())


@pytest.mark.parametrize(
    ("algorithm", "law", "word"),
    [
        (None, LAW3, "algorithm must be"),
        (FedAvg, LAW3, "algorithm must be"),
        (FedAvg("1/4"), None, "participation must be"),
    ],
)
def test_a_setting_must_be_of_its_kinds(algorithm, law, word):
    with pytest.raises(InputError, match=word):
        one_step(LINE, algorithm, law, expect(square(after(X))) <= square(X))
    with pytest.raises(InputError, match=word):
        evaluate(square(X), LINE, algorithm, law, {"model": [1]})


# Two clients of curvature 1 and 3, one of them drawn

PAIR = Quadratics([[[1]], [[3]]], [[0], [0]]), FedAvg("1/4"), UniformCohort(2, 1)


def test_what_holds_on_average_is_no_lemma_about_every_draw():
    # the next state is 3/4 x or 1/4 x: 5/16 x^2 on average, and 9/16 x^2 for one draw
    assert one_step(*PAIR, expect(square(after(X))) <= "5/16" * square(X))
    with pytest.raises(InputError, match="expect"):
        one_step(*PAIR, square(after(X)) <= "5/16" * square(X))


def test_the_point_of_a_gradient_of_the_mean():
    # F has curvature 2: its gradient is 3 at 3/2
    found = square(point_of(fixed([3])))
    assert evaluate(found, *PAIR, {"model": [1]}) == F(9, 4)
    assert one_step(*PAIR, found <= 0 * found + "9/4")
    assert not one_step(*PAIR, found <= 0 * found + 2)


@pytest.mark.parametrize(
    ("left", "sharp"),
    [
        (square(gradient(X / 2, 1)), "9/4"),
        (square(point_of(2 * X, 1)), "4/9"),
        (value(X / 3, 1), "1/6"),
        (square(expect(gradient(after(X) / 3, 1))), "1/4"),  # E x+ is x/2
    ],
)
def test_factors_inside_of_points_and_gradients_count(left, sharp):
    assert evaluate(left, *PAIR, {"model": [1]}) == F(sharp)
    assert isinstance(one_step(*PAIR, left <= sharp * square(X)), Proof)
    answer = one_step(*PAIR, left <= "99/100" * (sharp * square(X)))
    assert isinstance(answer, Counterexample)
    assert answer.confirmed


def test_after_reaches_into_points_and_gradients():
    stored = client("stored", 0)
    assert str(after(point_of(stored, 0))) == str(point_of(after(stored), 0))
    assert str(after(gradient(X, 1))) == "grad f_1(model+)"


def test_hypotheses_that_can_be_read_once_are_all_stated():
    # true only where x = 0: the statement has to say so
    once, listed_ = (
        one_step(*PAIR, square(X) <= 0, where) for where in ((v for v in [X]), (X,))
    )
    assert isinstance(once, Proof)
    assert once == listed_
    assert once.statement.endswith("with model = 0")


@pytest.mark.parametrize("where", [X, None, "model", (square(X) <= 0,), (1,)])
def test_hypotheses_must_be_a_list_of_vectors(where):
    with pytest.raises(InputError, match="where must be"):
        one_step(*PAIR, square(X) <= 0, where)


def test_a_product_of_the_next_state_has_no_value_without_expect():
    state = {"model": [F(1)]}
    with pytest.raises(InputError, match="expect"):
        evaluate(square(after(X)), *PAIR, state)
    with pytest.raises(InputError, match="expect"):
        evaluate(inner(X, gradient(after(X))), *PAIR, state)
    assert evaluate(expect(square(after(X))), *PAIR, state) == F(5, 16)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ({"model": [0.5]}, "rational"),
        ({"model": np.array([0.5])}, "rational"),
        ({"model": [True]}, "a number"),
        ({"model": [1, 2]}, "shape"),
        ({"model": 1}, "shape"),
        ({}, "slots model"),
        ({"model": [1], "other": [1]}, "slots model"),
        (None, "slots model"),
    ],
)
def test_a_state_must_be_rational_and_complete(state, word):
    with pytest.raises(InputError, match=word):
        evaluate(square(X), *PAIR, state)


@pytest.mark.parametrize(
    ("write", "word"),
    [
        (lambda: X, "an expression"),
        (lambda: square(gram.vector("x")), "vocabulary"),
        (lambda: gram.number("x"), "vocabulary"),
        (lambda: square(server("nonsense")), "slot"),
        (lambda: square(server("stored")), "slot"),
        (lambda: square(client("model", 0)), "slot"),
        (lambda: square(client("stored", 2)), "slot"),
        (lambda: square(gradient(X, -1)), "client"),
        (lambda: square(gradient(X, 2)), "client"),
        (lambda: square(fixed([1, 2])), "entries"),
        (lambda: square(point_of(X, 0)), "singular"),
        (lambda: square(point_of(X, -1)), "client"),
        (lambda: square(point_of(X, 2)), "client"),
    ],
)
def test_what_has_no_value_at_a_state_is_refused(write, word):
    flat = Quadratics([[[0]], [[3]]], [[0], [0]])
    state = {"model": [1], "tracker": [1], "stored": [[1], [2]]}
    with pytest.raises(InputError, match=word):
        evaluate(write(), flat, Focus("1/4"), Full(2), state)


def test_a_state_with_numbers_per_client_has_no_value():
    algorithm = FedAU("1/4")
    shapes = {kind: [1] if kind is Server else [[1], [1]] for kind in (Server, Numbers)}
    state = {name: shapes[kind] for name, kind in algorithm.slots().items()}
    with pytest.raises(ReadingError, match="got slots"):
        evaluate(square(X), PAIR[0], algorithm, Full(2), state)


def test_a_setting_of_floats_has_no_exact_value():
    problem, algorithm, law = PAIR
    with pytest.raises(RefusedError, match="rational"):
        evaluate(square(X), problem.as_float(), algorithm, law, {"model": [1]})


def test_numbers_beyond_the_range_of_floats_are_decided():
    huge, left = 10**400, expect(square(after(X)))
    answer = one_step(*PAIR, huge * left <= square(X))
    assert isinstance(answer, Counterexample)
    assert answer.left == huge * F(5, 16) * answer.state["model"][0] ** 2
    assert isinstance(one_step(*PAIR, left <= huge * square(X)), Proof)
    assert not one_step(*PAIR, left <= square(X) / huge)
    steep = Quadratics([[[huge]], [[3]]], [[0], [huge]])
    answer = one_step(steep, *PAIR[1:], left <= square(X))
    assert isinstance(answer, Counterexample)
    assert answer.confirmed


def test_hypotheses_must_be_about_the_state_and_leave_some():
    lemma = expect(square(after(X))) <= square(X)
    with pytest.raises(InputError, match="current state"):
        one_step(LINE, FedAvg("1/4"), LAW3, lemma, (after(X),))
    with pytest.raises(InputError, match="current state"):  # "on every draw" or "mean"?
        one_step(LINE, FedAvg("1/4"), LAW3, lemma, (after(X) - X,))
    with pytest.raises(InputError, match="leave some"):
        one_step(LINE, FedAvg("1/4"), LAW3, lemma, (X, X - fixed([1])))
    with pytest.raises(InputError, match="leave some"):  # the tracker is still free
        one_step(LINE, Focus("1/4"), LAW3, lemma, (X, X - fixed([1])))
    later = point_of(after(client("stored", 0)), 0)
    with pytest.raises(InputError, match="current state"):
        one_step(LINE, Focus("1/4"), LAW3, lemma, (later,))
    with pytest.raises(InputError, match="expect"):
        one_step(LINE, Focus("1/4"), LAW3, square(later) <= square(X))


def test_a_point_with_a_given_gradient_needs_a_regular_hessian():
    flat = Quadratics([[[0]], [[1]]], [[1], [1]])
    lemma = square(point_of(X, 0)) <= square(X)
    with pytest.raises(InputError, match="singular"):
        one_step(flat, FedAvg("1/4"), Full(2), lemma)


def test_every_public_name_is_there():
    assert all(hasattr(quadratic_form, name) for name in quadratic_form.__all__)
