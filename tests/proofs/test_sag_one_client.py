"""One-step certificates against the LMI builder and against rounds run one by one."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import sympy

from flverify.algorithms import Focus
from flverify.certify.ansatz import Ansatz, Level
from flverify.certify.classes import classes
from flverify.certify.coordinates import Coordinates
from flverify.certify.discover import discover
from flverify.certify.forms import read
from flverify.claims import sag_lyapunov
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.sag_lyapunov import Setting
from flverify.claims.verdict import Verdict
from flverify.participation import UniformCohort
from flverify.reference import focus

HALF = Fraction(1, 2)
PROVED = Verdict.PROVED


# -- the quadratic form against the builder's blocks ------------------------------


def builder(n_clients, m, g, mu):
    """The builder's inequality for m uniform clients at gamma = g, L = 1."""
    reading = read(Focus(g / n_clients), classes(UniformCohort(n_clients, m)))
    plain = replace(discover(reading), memories=())
    space = Coordinates(reading, plain, Fraction)
    return Ansatz(space, Level("slots", ({"model": Fraction(1)},)), mu, 1)


def unknowns(setting):
    """V of sag_lyapunov in the builder's unknowns."""
    g, n, s = setting.step, setting.rarity, setting.memory
    s = Fraction(int(s.p), int(s.q))
    squares = ((n - 1) ** 2 + n**2 / 2 + s * n) * g**2
    return {
        ("T", 0, 0): Fraction(1),
        ("T", 0, 1): -2 * (n - 1) * g,  # the coefficient of <x, a>, halved by a unit
        ("T", 1, 1): squares,
        ("S", 0, 0, 0): s * n * g**2,
        ("delta", 0): 3 * n * g,
        ("upper", 0, 0, "call:0"): 3 * n * g,
    }


def hessian(form, names):
    """Matrix of a quadratic form in some symbols, the others at 0."""
    half = sympy.hessian(form, names) / 2
    return np.array(
        [[Fraction(int(v.p), int(v.q)) for v in row] for row in half.tolist()]
    )


@pytest.mark.parametrize(("n_clients", "m"), [(2, 1), (5, 1), (7, 3), (100, 1), (4, 3)])
def test_decrease_equals_the_builder_s_blocks(n_clients, m):
    draw = random.Random(n_clients)
    g = Fraction(draw.randint(1, 9), 40)
    mu, strong = Fraction(draw.randint(1, 9), 10), Fraction(draw.randint(1, 9), 10)
    omega = Fraction(n_clients - m, m * (n_clients - 1))
    setting = Setting(g, Fraction(n_clients, m), omega, True, mu, "each", strong)
    names = [sag_lyapunov.x, sag_lyapunov.a, sag_lyapunov.c]
    form = sympy.expand(sympy.nsimplify(sag_lyapunov.decrease(setting), rational=True))
    values = unknowns(setting)
    ansatz = builder(n_clients, m, g, mu)
    cross = ansatz.blocks_at({("T", 0, 1): Fraction(1)}, Fraction(0))
    unit = cross["positivity/mean"][0, 1] * 2  # how the builder scales off-diagonals
    values["T", 0, 1] /= unit
    rho = 1 - strong * g * mu
    blocks = ansatz.blocks_at(values, rho)
    assert (blocks["decrease/mean"] == hessian(form, names)).all()
    own = [[form.coeff(v) for v in sag_lyapunov.OWN]][0]
    e, d, ed = (Fraction(int(v.p), int(v.q)) for v in own)
    assert blocks["decrease/class 0"].tolist() == [[d, ed / 2], [ed / 2, e]]
    wrong = sag_lyapunov.decrease(replace(setting, rarity=setting.rarity + 1))
    assert (blocks["decrease/mean"] != hessian(sympy.expand(wrong), names)).any()
    total = ansatz.totals_at(values, rho)["decrease/class 0/call:0"]
    assert abs(total) == abs(Fraction(str(form.coeff(sag_lyapunov.F))))


# -- rounds of bent functions, outcome by outcome ---------------------------------


@dataclass(frozen=True)
class Clients:
    """f_i = low_i x^2/2 + bend_i huber(x - b_i), less its tangent at x* = 0."""

    low: tuple
    bend: tuple
    at: tuple

    def slope(self, i, x):
        return self.low[i] * x + self.bend[i] * (
            clip(x - self.at[i]) - clip(-self.at[i])
        )

    def value(self, x):
        parts = [
            low * x**2 / 2 + bend * (huber(x - b) - huber(-b) - clip(-b) * x)
            for low, bend, b in zip(self.low, self.bend, self.at, strict=True)
        ]
        return sum(parts) / len(parts)


def clip(x):
    return max(Fraction(-1), min(Fraction(1), x))


def huber(x):
    return x**2 / 2 if abs(x) <= 1 else abs(x) - HALF


def potential(clients, gamma, n, omega, x, stored):
    a = sum(stored) / len(stored)
    squares = sum(v**2 for v in stored) / len(stored)
    return (
        (x - (n - 1) * gamma * a) ** 2
        + 3 * n * gamma * clients.value(x)
        + (n * gamma * a) ** 2 / 2
        + Fraction(18, 5) * omega * (n + Fraction(1, 4)) * gamma**2 * squares
    )


def uniform(n_clients, m):
    listed = [set(s) for s in combinations(range(n_clients), m)]
    return [(s, Fraction(1, len(listed))) for s in listed]


def independent(n_clients, p):
    return [
        (set(s), p**k * (1 - p) ** (n_clients - k))
        for k in range(n_clients + 1)
        for s in combinations(range(n_clients), k)
    ]


def after(clients, law, gamma, n, omega, x, stored):
    """E V after a round of the box."""
    size, total = len(stored), Fraction(0)
    state = {"model": [x], "tracker": [sum(stored)], "stored": [[v] for v in stored]}
    for cohort, chance in law:
        new = focus.play(
            state,
            lambda i, at: [clients.slope(i, at[0])],
            size,
            cohort,
            step_size=gamma / size,
        )
        point, kept = new["model"][0], [v[0] for v in new["stored"]]
        total += chance * potential(clients, gamma, n, omega, point, kept)
    return total


def states(draw, clients):
    size = len(clients.low)
    for _ in range(6):
        x = Fraction(draw.randint(-40, 40), 8)
        near = Fraction(draw.choice([0, 1, 8]), 4)
        yield (
            x,
            [
                clients.slope(i, x * draw.choice([0, 1, 1, -1]))
                + near * draw.randint(-3, 3)
                for i in range(size)
            ],
        )


def random_clients(draw, size, least):
    low = tuple(Fraction(draw.choice(least)) for _ in range(size))
    bend = tuple(Fraction(1) - v if draw.random() < 0.8 else Fraction(0) for v in low)
    at = tuple(Fraction(draw.randint(-16, 16), 4) for _ in range(size))
    return Clients(low, bend, at)


LAWS = {
    "1 of 1": (uniform(1, 1), Fraction(1), HALF),
    "1 of 2": (uniform(2, 1), HALF, Fraction(1)),
    "1 of 4": (uniform(4, 1), Fraction(1, 4), Fraction(1)),
    "2 of 4": (uniform(4, 2), HALF, Fraction(1)),
    "2 of 3": (uniform(3, 2), Fraction(2, 3), Fraction(3, 4)),
    "3/4 of 2": (independent(2, Fraction(3, 4)), Fraction(3, 4), HALF),
    "1/2 of 4": (independent(4, HALF), HALF, HALF),
}


def violations(strong, largest):
    """Rounds in which E V exceeds 1 - min{strong gamma mu, p/5} times V; rounds run."""
    draw, found, count = random.Random(5), 0, 0
    for law, p, omega in LAWS.values():
        size = max(max(s, default=0) for s, _ in law) + 1
        for least in (["1/20"], ["1/2"], ["9/10"]):
            clients = random_clients(draw, size, least)
            for share in ("1", "1/7"):
                gamma = largest * Fraction(share)
                rho = 1 - min(strong * gamma * Fraction(least[0]), p / 5)
                for x, stored in states(draw, clients):
                    now = potential(clients, gamma, 1 / p, omega, x, stored)
                    new = after(clients, law, gamma, 1 / p, omega, x, stored)
                    found += new > rho * now
                    count += 1
    return found, count


def test_rounds_of_bent_functions_stay_below_the_rate():
    found, count = violations(1, Fraction(1, 4))
    assert (found, count) == (0, 252)


def test_a_faster_rate_or_a_longer_step_is_seen_to_fail():
    assert violations(3, Fraction(1, 4))[0] > 0
    assert violations(1, Fraction(2))[0] > 0


@pytest.mark.parametrize("p", [HALF, Fraction(1, 5)])
def test_rare_clients_of_which_some_are_flat(p):
    # F alone is strongly convex; omega = (1 - p)/(p N) >= 1 asks for shorter steps
    draw = random.Random(7)
    for size in (1, 2, 3):
        omega = max(Fraction(1), (1 - p) / (p * size))
        gamma, law = 1 / (8 * omega), independent(size, p)
        for _ in range(8):
            clients = random_clients(draw, size, ["0", "1/10", "1"])
            mu = sum(clients.low) / size
            for x, stored in states(draw, clients):
                now = potential(clients, gamma, 1 / p, omega, x, stored)
                new = after(clients, law, gamma, 1 / p, omega, x, stored)
                assert new <= (1 - min(gamma * mu / 2, p / 5)) * now
                assert new <= now - Fraction(3, 2) * gamma * clients.value(x)
                assert x**2 <= 3 * now


@pytest.fixture(scope="module")
def claims():
    return load_file(proofs_folder() / "sag_one_client.py")


def test_a_round_is_shown_for_any_number_of_clients(claims):
    found = claims.any_round()
    assert (found.verdict, found.scope) == (PROVED, "every N, cohort and state")
    assert set(found.parts) == {"listed", "one client more"}


def test_functions_may_be_as_strongly_convex_as_they_are_smooth():
    # at m = 1, where interpolation divides by 0, F = |x|^2/2 and c = x
    found = {name: pair for name, *pair in sag_lyapunov.used_inequalities()}
    x, m = sag_lyapunov.x, sympy.Symbol("m", positive=True)
    at = {m: 1, sag_lyapunov.c: x, sag_lyapunov.F: x**2 / 2}
    assert [side.subs(at) for side in found["strongly monotone"]] == [0, 0]


@pytest.mark.slow
def test_the_mean_of_rounds_is_part_of_the_claim_on_convex_functions(claims):
    assert claims.convex.check().parts["mean of rounds"].verdict == PROVED
    assert "3 n gamma (F(x) - F*)" in claims.convex.check().argument


def test_the_mean_of_rounds_stays_below_its_bound_and_not_below_a_fifth_of_it():
    # one client x^2/2 that always comes: gradient descent, F(x_r) = (1 - gamma)^(2 r)/2
    gamma, rounds = Fraction(1, 8), 20
    alone = Clients((Fraction(1),), (Fraction(0),), (Fraction(0),))
    start = potential(alone, gamma, 1, 1, Fraction(1), [Fraction(0)])
    mean = sum((1 - gamma) ** (2 * r) / 2 for r in range(rounds)) / rounds
    bound = 2 * start / (3 * gamma * rounds)
    assert bound / 5 < mean <= bound


def test_the_terms_depend_on_every_part():
    setting = sag_lyapunov.formal(True, "each")
    listed = sag_lyapunov.terms(setting)
    left = sag_lyapunov.decrease(setting)
    point = dict.fromkeys(sorted(left.free_symbols, key=str), 0)
    draw = random.Random(1)
    point = {s: sympy.Rational(draw.randint(1, 30), 7) for s in point}
    values = [(weight * quantity).subs(point) for _, weight, quantity in listed]
    total = left.subs(point)
    assert sum(values) == total
    assert all(sum(values) - v != total for v in values if v)
