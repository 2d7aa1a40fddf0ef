"""The mended chains of FOCUS's Theorem 1, and the links that they are made of.

Rounds are also played here, apart, on gradients that are broken lines: what the chains
say of two rounds, or of the mean over some, holds in rationals at the largest steps.
"""

from fractions import Fraction
from itertools import product
from math import isqrt

import pytest
import sympy

from flverify._core.errors import InputError
from flverify.claims import focus_lemma3_proof, focus_lemma4, focus_lemma4_proof, judge
from flverify.claims import focus_theorem1_chain as chain
from flverify.claims import focus_theorem1_chain_searches as searches
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma4 import MENDED, MOVES, Bound
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict

F = Fraction
PROVED, REFUTED = Verdict.PROVED, Verdict.REFUTED
N = 2


@pytest.mark.parametrize(
    "wrong",
    [
        Bound({**MENDED.caps, MOVES: "126/1000"}, "1/3", "16/3", 3),
        Bound({**MENDED.caps, "q^(3/2)/(L N)": "126/1000"}, "1/3", "16/3", 3),
        Bound({MOVES: "1/8"}, "1/3", "16/3", 3),
        Bound(MENDED.caps, "34/100", "16/3", 3),
        Bound(MENDED.caps, "1/3", "4", 3),
        Bound(MENDED.caps, "1/3", "16/3", 2),
    ],
    ids=str,
)
def test_a_stronger_lemma_4_is_not_proved(wrong):
    assert focus_lemma4_proof.proof(MENDED).verdict == PROVED
    assert not focus_lemma4_proof.proof(wrong).passes()


def test_the_mended_lemma_4_keeps_the_printed_numbers():
    printed = focus_lemma4.PRINTED
    assert [*MENDED.caps.values()] == [*printed.caps.values()]
    assert (MENDED.contraction, MENDED.gradient) == ("1/3", printed.gradient)
    assert (MENDED.power, printed.power) == (3, 2)
    assert focus_lemma4_proof.proof(MENDED).verdict == PROVED


def test_the_lemmas_are_those_that_their_claims_mend():
    claim = load_file(proofs_folder() / "focus_lemma4_consensus.py").lemma4
    printed = {k: claim.constants[k] for k in vars(focus_lemma4.PRINTED)}
    assert printed == vars(focus_lemma4.PRINTED)
    assert {**printed, **claim.twin} == {**vars(MENDED), "case_3a": "1/N"}
    claim = load_file(proofs_folder() / "focus_lemma3_descent.py").lemma3
    assert claim.constants == vars(focus_lemma3_proof.PRINTED)
    assert chain.LEMMAS_3["mended"].least_moves == 1


@pytest.mark.slow  # the audit proves them as parts of claims
def test_the_links_of_each_chain_are_proved():
    t = sympy.Rational(1, 4)
    for found in (
        chain.lemma_3(),
        chain.lemma_4(),
        chain.distances_shrink(),
        chain.value_recursion(t),
        chain.gradient_recursion(),
        chain.errors_summed(MENDED),
    ):
        assert judge.all_of(found).verdict == PROVED


@pytest.mark.slow
def test_no_link_of_a_chain_hides_another():
    with pytest.raises(InputError, match="links must have names of their own"):
        chain.proved(chain.lemma_4(), chain.lemma_4())


def test_more_of_the_decrease_than_there_is_cannot_be_spent(monkeypatch):
    monkeypatch.setattr(chain, "QUARTER", sympy.Rational(11, 10))
    chain.value_line.cache_clear()
    assert not judge.all_of(chain.value_line()).passes()
    chain.value_line.cache_clear()


def test_searches_notice_what_is_too_strong():
    theorem = load_file(proofs_folder() / "focus_theorem1_strongly_convex.py")
    assert searches.distances(theorem.COLLECTED, "4").verdict == REFUTED
    pl = load_file(proofs_folder() / "focus_theorem1_pl_contraction.py").MENDED["caps"]
    assert searches.values(pl, "4", "3/128").verdict == REFUTED
    nc = load_file(proofs_folder() / "focus_theorem1_nonconvex_sums.py").MENDED["caps"]
    assert searches.slopes(nc, "1/10", "96").verdict == REFUTED


# rounds in rationals --------------------------------------------------------------


class Line:
    """A loss whose gradient has one slope up to a break and another after it, L = 1."""

    def __init__(self, before, after, at, constant):
        self.slopes, self.at, self.constant = (F(before), F(after)), F(at), F(constant)

    def gradient(self, x):
        slope = self.slopes[x > self.at]
        return self.constant + slope * (x - self.at)

    def value(self, x):
        gap = x - self.at
        return self.constant * gap + self.slopes[gap > 0] * gap**2 / 2


CONVEX = Line("1/10", 1, "1/3", "-1/2"), Line(1, "1/10", -1, "1/2")  # mu = 1/10
BENT = Line(1, "-1/2", 0, "1/4"), Line(1, 1, 0, "-1/3")  # slopes of F are 1 and 1/4

LAWS = {  # chance of each cohort, and p_min
    "full": ({(1, 1): F(1)}, F(1)),
    "one": ({(1, 0): F(1, 2), (0, 1): F(1, 2)}, F(1, 2)),
    "rare": ({(1, 1): F(1, 10), (0, 0): F(9, 10)}, F(1, 10)),
}
STATES = [(F(w, 2), (F(a), F(b))) for w, a, b in product((-3, 0, 5), (-2, 1), (-1, 2))]
STATES += [(F(w), (F(w), F(w))) for w in (-2, 3)]  # all models equal
CASES = [*product(LAWS, (1, 2, 6))]


def rounds(clients, law, tau, step, state):
    """Yield the chance and the state after each cohort, move by move."""
    w, rows = state
    for cohort, chance in law.items():
        ends = []
        for f, here, z in zip(clients, cohort, rows, strict=True):
            x = w if here else z
            for _ in range((tau - 1) * here):
                x -= step * (f.gradient(x) - f.gradient(z))
            ends.append(x)
        total = sum(f.gradient(x) for f, x in zip(clients, ends, strict=True))
        yield chance, (w - step * total, tuple(ends))


def mean(clients, law, tau, step, state, value):
    """E of value(state) after a round."""
    ends = rounds(clients, law, tau, step, state)
    return sum(chance * value(after) for chance, after in ends)


def behind(state):
    w, rows = state
    return sum((w - z) ** 2 for z in rows)


def below(clients):
    """A point close to the minimiser of F, by bisection."""
    low, high = F(-4), F(4)
    for _ in range(50):
        middle = (low + high) / 2
        falls = sum(f.gradient(middle) for f in clients) < 0
        low, high = (middle, high) if falls else (low, middle)
    return low


def largest(q, tau, *others):
    """The caps of the mended Lemma 4 and others, at L = 1; a root is rounded down."""
    root = F(isqrt(int(q**3 * 10**16)), 10**8)
    return min(root / (8 * N), root / (8 * max(tau - 1, F(1, 100))), *others)


def shrinks(clients, law, tau, step, rate, error, weight):
    """Whether V_2 <= rate V_1 from every state, V = error + weight B_before."""

    def first(state):
        after = mean(clients, law, tau, step, state, lambda s: error(s[0]))
        return after + weight * behind(state)

    def second(state):
        return mean(clients, law, tau, step, state, first)

    return all(second(s) <= rate * first(s) + F(1, 10**9) for s in STATES)


@pytest.mark.parametrize(("name", "tau"), CASES)
def test_distances_shrink_on_broken_lines(name, tau):
    (law, q), mu, star = LAWS[name], F(1, 10), below(CONVEX)
    step = largest(q, tau, q / (3 * N * (8 / mu + mu / 2)), q / (6 * N**2))
    weight, rate = 1 - 8 * step * N / mu, 1 - step * mu * N / 2
    assert shrinks(CONVEX, law, tau, step, rate, lambda w: (w - star) ** 2, weight)


@pytest.mark.parametrize(("name", "tau"), CASES)
def test_values_shrink_on_bent_lines(name, tau):
    (law, q), least = LAWS[name], below(BENT)
    step = largest(q, tau, q / (23 * N))
    weight, rate = 3 * q / (128 * step * N**2) - 4 * step, 1 - step * N / 16

    def error(w):
        return sum(f.value(w) - f.value(least) for f in BENT) / N

    assert weight > 0
    assert shrinks(BENT, law, tau, step, rate, error, weight)
    assert not shrinks(BENT, law, tau, step, 1 - 4 * step * N, error, weight)


@pytest.mark.parametrize(("name", "tau"), CASES)
def test_the_mean_slope_is_bounded_on_bent_lines(name, tau):
    (law, q), least = LAWS[name], below(BENT)
    step = largest(q, tau, q / (23 * N))

    def squares(left, state):
        here = (sum(f.gradient(state[0]) for f in BENT) / N) ** 2
        if left == 1:
            return here
        return here + mean(
            BENT, law, tau, step, state, lambda after: squares(left - 1, after)
        )

    for w, rows in STATES:
        gap = sum(f.value(w) - f.value(least) for f in BENT) / N
        right = 8 * gap / (step * N) + 96 * behind((w, rows)) / (q * N)
        assert all(squares(count, (w, rows)) <= right for count in (1, 2, 4))


def run_of_equal_models(clients, step, rounds):
    """E w^2 and E sum (w - z_i)^2 of one uniform client x^2/2 a round, tau = 2.

    Clients have one curvature, so that a round moves one client by 1 - eta towards w;
    states are kept with the z_i in order, which forgets nothing but their names.
    """
    one = Fraction(1)
    states = {(one, (one,) * clients): one}
    out = [(one, Fraction(0))]
    for _ in range(rounds):
        after = {}
        for (w, z), chance in states.items():
            for i in range(clients):
                rows = [*z]
                rows[i] = w - step * (w - z[i])
                state = w - step * sum(rows), tuple(sorted(rows))
                after[state] = after.get(state, 0) + chance / clients
        states = after
        square = sum(p * w * w for (w, _), p in states.items())
        behind = sum(p * sum((w - v) ** 2 for v in z) for (w, z), p in states.items())
        out.append((square, behind))
    return out


@pytest.mark.parametrize(
    ("clients", "step", "q", "rounds"),
    [(5, Fraction(1, 200), Fraction(1, 5), 6), (2, Fraction(1, 18), Fraction(1), 2)],
)
def test_lemma_4_fails_along_a_run_of_equal_models(clients, step, q, rounds):
    (_, before), (square, behind) = run_of_equal_models(clients, step, rounds)[-2:]
    assert (8 * step) ** 2 * clients <= q**3  # the caps of Lemma 4 and of (23)
    assert 9 * step * clients <= 1
    pushed = Fraction(16, 3) * step**2 * clients**2 / q * square
    assert behind > (1 - q / 3) * before + pushed
    assert behind <= (1 - q / 3) * before + clients * pushed


@pytest.mark.slow
def test_what_applies_lemma_4_does_not_fail_for_its_conditions_alone():
    bound = focus_lemma4.PRINTED
    fails = searches.lemma_4_along(bound, Q_READINGS[0])
    assert fails.verdict == REFUTED
    mended = Bound(bound.caps, bound.contraction, bound.gradient, 3)
    holds = searches.lemma_4_along(mended, Q_READINGS[0], "1/N")
    assert holds.verdict == Verdict.SUPPORTED
    both = searches.beside_itself(judge.readings({"q": holds}), bound.caps)
    assert both.verdict == Verdict.INCONCLUSIVE
