"""Step-size implications of the field: true ones, and false ones with a point.

True: hypotheses, conclusion, and why by hand. False: hypotheses, conclusion, and a
rational point where all hypotheses hold and the conclusion does not; most differ from
a true one by a constant, an exponent or a missing hypothesis, some are printed so.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from sympy import Abs, And, Eq, Ge, Max, Min, Rational, Symbol, sqrt, symbols

eta, L, mu, beta, q, eps = symbols("eta L mu beta q epsilon", positive=True)
s, sigma = symbols("s sigma", nonnegative=True)
gain = Symbol("eta_g", positive=True)
D, G = symbols("D G", positive=True)
rho = Symbol("rho", positive=True)
x = Symbol("x", positive=True)
a, b, c = symbols("a b c", real=True)
N, tau, T = symbols("N tau T", integer=True, positive=True)


class Item(NamedTuple):
    name: str
    hypotheses: list[Any]
    conclusion: Any
    because: str = ""
    point: dict[str, Fraction] | None = None


def at(**values: str) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in values.items()}


def same(left: Any, right: Any) -> Any:
    return Eq(left, right, evaluate=False)  # or sympy settles it on the spot


moves = tau - 1
root = q ** Rational(3, 2)
conditioned = [mu <= L]
local = [tau >= 2]
unit = [q <= 1]
delta = 4 * x * s / (1 - 8 * x * L**2)
young = a**2 * eps
drift = eta**2 * moves**2
caps_l4 = [eta <= root / (8 * L * sqrt(N)), eta <= root / (8 * L * moves)]
lemma_4 = 8 * eta**2 * N * L**2 / q + 16 * drift * L**2 / q
lemma_6 = 12 * eta**2 * N * L**2 / q + 16 * drift * L**2 / q
stiff = 8 * L**2 / mu + mu / 2
printed_caps = [
    eta <= 3 * mu / (27 * N * L**2),
    eta <= 1 / (3 * L * moves),
    eta <= root / (8 * L * sqrt(N)),
]
tracked = (eta / (2 * N) + eta**2 * L) * (2 * L**2 * N + 8 * drift * L**4 * N)

TRUE = [
    Item(
        "descent", [eta <= 1 / L], eta - L * eta**2 / 2 >= eta / 2, "1 - eta L/2 >= 1/2"
    ),
    Item("descent strict", [eta < 2 / L], eta - L * eta**2 / 2 > 0, "eta L < 2"),
    Item(
        "contraction",
        [*conditioned, eta <= 1 / L],
        (1 - eta * mu) ** 2 <= 1 - eta * mu,
        "0 <= 1 - eta mu <= 1",
    ),
    Item(
        "largest modulus",
        [*conditioned, eta <= 2 / (L + mu)],
        Max(Abs(1 - eta * mu), Abs(1 - eta * L)) <= 1 - eta * mu,
        "eta (L + mu) <= 2 and mu <= L",
    ),
    Item(
        "condition number",
        conditioned,
        ((L - mu) / (L + mu)) ** 2 <= 1 - mu / L,
        "with kappa = 1 + d: d (1 + d) <= (2 + d)^2",
    ),
    Item(
        "FedAvg lemma 1, drift",
        [*conditioned, eta <= 1 / (3 * L)],
        eta * (4 * L**2 / mu + 3 * eta * L**2) <= 5 * eta * L**2 / mu,
        "3 eta <= 1/mu",
    ),
    Item(
        "FedAvg lemma 1, bias",
        [*conditioned, eta <= 1 / (3 * L)],
        4 * eta / mu + 3 * eta**2 <= 5 * eta / mu,
        "3 eta <= 1/mu",
    ),
    Item(
        "FedAvg lemma 1, gap",
        [eta <= 1 / (3 * L)],
        6 * eta**2 * L - 2 * eta <= 0,
        "3 eta L <= 1",
    ),
    Item(
        "FedAvg lemma 1, caps",
        conditioned,
        same(Min(1 / (3 * L), 1 / (3 * mu)), 1 / (3 * L)),
        "mu <= L",
    ),
    Item(
        "FedAvg lemma 2",
        [*local, eta <= 1 / (4 * moves * L)],
        4 * drift * s / (1 - 8 * drift * L**2) <= 8 * drift * s,
        "8/16 <= 1/2",
    ),
    Item(
        "FedAvg lemma 2, half",
        [*local, eta <= 1 / (4 * moves * L)],
        1 - 8 * drift * L**2 >= Rational(1, 2),
        "8/16 <= 1/2",
    ),
    Item(
        "FedAvg lemma 2, fixed point",
        [8 * x * L**2 < 1],
        same(4 * x * (2 * L**2 * delta + s), delta),
        "delta (1 - 8 x L^2) = 4 x s",
    ),
    Item(
        "FedAvg limit, first term",
        [tau >= 2],
        same(
            40 * eta**3 * L**2 * moves**2 * s / mu / (eta * mu / 2),
            80 * drift * (L / mu) ** 2 * s,
        ),
        "40 / (1/2) = 80",
    ),
    Item(
        "FedAvg theorem caps",
        [*local, eta <= Min(1 / (3 * L), 1 / (4 * moves * L))],
        And(eta * L <= Rational(1, 3), 16 * drift * L**2 <= 1),
        "each cap in turn",
    ),
    Item(
        "FOCUS (85) to (86)",
        [*local, eta <= 1 / (2 * L * sqrt(moves))],
        1 - 2 * eta**2 * L**2 * moves >= Rational(1, 2),
        "2/4 = 1/2",
    ),
    Item(
        "FOCUS lemma 3, caps",
        [*local, eta <= 1 / (3 * L * moves)],
        eta <= 1 / (2 * L * sqrt(moves)),
        "3 m >= 2 sqrt(m) for m >= 1",
    ),
    Item(
        "FOCUS (88)",
        [*local, eta <= 1 / (3 * L * moves)],
        2 + 8 * drift * L**2 <= 3,
        "8/9 <= 1",
    ),
    Item(
        "FOCUS lemma 3, end",
        [eta <= 1 / (3 * mu)],
        2 * eta * (1 / mu + eta) * 3 * L**2 * N <= 8 * eta * L**2 * N / mu,
        "6 (1 + 1/3) = 8",
    ),
    Item(
        "FOCUS lemma 3, end by the main cap",
        [*conditioned, eta <= mu / (9 * N * L**2)],
        2 * eta * (1 / mu + eta) * 3 * L**2 * N <= 8 * eta * L**2 * N / mu,
        "mu/L^2 <= 1/mu and N >= 1",
    ),
    Item(
        "FOCUS lemma 4, rho",
        [q < 1],
        same((1 - q) / (1 - q / 2), 1 - q / (2 - q)),
        "one fraction",
    ),
    Item(
        "FOCUS lemma 4, 1/(1-rho)",
        [q < 1, same(rho, 1 - q / (2 - q))],
        same(1 / (1 - rho), (2 - q) / q),
        "1 - rho = q/(2 - q)",
    ),
    Item(
        "FOCUS (96)",
        unit,
        (1 - q / 2) / (1 - q**2 / 4) <= 1 - q / 3,
        "1 <= (1 + q/2)(1 - q/3) = 1 + q/6 - q^2/6",
    ),
    Item(
        "FOCUS lemma 4, constant",
        unit,
        8 / (1 - q**2 / 4) <= Rational(32, 3),
        "1 - q^2/4 >= 3/4",
    ),
    Item(
        "SG-FOCUS lemma 6, constant",
        unit,
        12 / (1 - q**2 / 4) <= 16,
        "1 - q^2/4 >= 3/4",
    ),
    Item(
        "FOCUS (95) repaired",
        [
            *local,
            *unit,
            eta <= root / (8 * L * sqrt(N)),
            eta <= root / (12 * L * moves),
        ],
        lemma_4 <= q**2 / 4,
        "1/8 + 1/9 <= 1/4",
    ),
    Item(
        "FOCUS (121)",
        [eta <= q / (16 * L * sqrt(2 * N))],
        1 - 256 * eta**2 * L**2 * N / q**2 >= Rational(1, 2),
        "256/512 = 1/2",
    ),
    Item(
        "FOCUS (121), product",
        [],
        same(16 * L**2 / N * 16 * eta**2 * N**2 / q**2, 256 * eta**2 * L**2 * N / q**2),
        "16 * 16 = 256",
    ),
    Item(
        "FOCUS (110), gradient",
        [eta <= 3 * q / (32 * N)],
        16 * eta**2 * N**2 / (3 * q) <= eta * N / 2,
        "16 * 3 / (3 * 32) = 1/2",
    ),
    Item(
        "FOCUS (110), rate",
        [*unit, eta <= q / (3 * beta * N * (4 - q))],
        (1 - q / 3) / (1 - eta * beta * N) <= 1 - q / 4,
        "1 - eta beta N >= 4 (3 - q) / (3 (4 - q))",
    ),
    Item(
        "FOCUS PL caps",
        [*unit, eta <= q / (12 * beta * N)],
        eta <= q / (3 * beta * N * (4 - q)),
        "3 (4 - q) <= 12",
    ),
    Item(
        "FOCUS (110), weight",
        [eta <= q / (16 * L**2)],
        1 - q / 4 <= 1 - 4 * eta * L**2,
        "4/16 = 1/4",
    ),
    Item(
        "FOCUS (108)",
        [*local, eta <= 1 / (2 * L * moves)],
        eta / N * (2 * L**2 * N + 8 * drift * L**4 * N) <= 4 * eta * L**2,
        "2 + 8/4 = 4",
    ),
    Item(
        "FOCUS (105), noise",
        [eta <= 1 / (4 * L * N)],
        eta / (2 * N) + eta**2 * L <= eta / N,
        "eta L <= 1/(4 N)",
    ),
    Item(
        "FOCUS (113)",
        [eta <= 1 / (4 * L * N)],
        eta * N / 2 * (1 - 2 * eta * N * L) >= eta * N / 4,
        "1 - 2/4 = 1/2",
    ),
    Item(
        "FOCUS (115)",
        [*local, eta <= Min(1 / (4 * L * N), 1 / (2 * L * moves))],
        tracked <= 4 * eta * L**2,
        "(1/2 + 1/4) * 4 = 3",
    ),
    Item(
        "FOCUS gap repaired",
        [*unit, eta <= 3 * q / (22 * N * L)],
        2 * eta * N * (1 - 2 * eta * N * L) >= 32 * eta**2 * N**2 * L / (3 * q),
        "16 + 6 q <= 22",
    ),
    Item(
        "FOCUS (102) repaired",
        [eta <= q / (3 * N * stiff)],
        1 - q / 3 <= (1 - eta * mu * N / 2) * (1 - 8 * eta * L**2 * N / mu),
        "(1 - a)(1 - b) >= 1 - a - b",
    ),
    Item(
        "FOCUS rate",
        [*conditioned, *printed_caps[:1]],
        And(1 - eta * mu * N / 2 > 0, 1 - eta * mu * N / 2 < 1),
        "eta mu N <= 1/9",
    ),
    Item(
        "FOCUS Lyapunov weight",
        printed_caps[:1],
        1 - 8 * eta * L**2 * N / mu >= Rational(1, 9),
        "8/9",
    ),
    Item(
        "FOCUS participation cap",
        [*unit, eta <= root / (8 * L * sqrt(N))],
        eta <= q / (8 * L),
        "q^(3/2) <= q and N >= 1",
    ),
    Item(
        "SG-FOCUS (127)",
        [*local, eta <= 1 / (2 * L * sqrt(2 * moves))],
        1 - 4 * eta**2 * L**2 * moves >= Rational(1, 2),
        "4/8 = 1/2",
    ),
    Item(
        "SG-FOCUS (133)",
        [
            *local,
            eta <= root / (4 * L * sqrt(6 * N)),
            eta <= root / (8 * sqrt(2) * L * moves),
        ],
        lemma_6 <= q**2 / 4,
        "12/96 + 16/128 = 1/4",
    ),
    Item(
        "SG-FOCUS lemma 5, noise",
        [*local, eta <= Min(1 / mu, mu / (128 * moves**2 * L**2 * N))],
        sigma * (1 + 64 * (1 / mu + eta) * eta * moves**2 * L**2 * N) <= 2 * sigma,
        "64 * 2/128 = 1",
    ),
    Item(
        "SG-FOCUS lemma 5, caps",
        [*conditioned, *local],
        mu / (128 * moves**2 * L**2 * N) <= 1 / mu,
        "mu^2 <= L^2",
    ),
    Item("Young", [], 2 * a * b <= young + b**2 / eps, "(eps a - b)^2 >= 0"),
    Item(
        "Jensen, two terms", [], (a + b) ** 2 <= 2 * a**2 + 2 * b**2, "(a - b)^2 >= 0"
    ),
    Item(
        "Jensen, three terms",
        [],
        (a + b + c) ** 2 <= 3 * (a**2 + b**2 + c**2),
        "three squares of differences",
    ),
    Item(
        "Jensen, weights",
        [rho < 1],
        (a + b) ** 2 <= a**2 / rho + b**2 / (1 - rho),
        "((1 - rho) a - rho b)^2 >= 0",
    ),
    Item(
        "means",
        [a >= 0, b >= 0],
        sqrt(a * b) <= (a + b) / 2,
        "(sqrt a - sqrt b)^2 >= 0",
    ),
    Item(
        "tuned step",
        [same(eta, D / (G * sqrt(T)))],
        same(D**2 / (2 * eta * T) + eta * G**2 / 2, D * G / sqrt(T)),
        "both halves agree",
    ),
    Item(
        "three local steps, above",
        [eta * mu <= 1],
        (1 - eta * mu) ** 3 <= 1 - eta * mu,
        "powers of a number in [0, 1] fall",
    ),
    Item(
        "three local steps, below",
        [eta * mu <= 1],
        (1 - eta * mu) ** 3 >= 1 - 3 * eta * mu,
        "Bernoulli",
    ),
    Item("seen in three rounds", unit, 1 - (1 - q) ** 3 >= q, "1 - q >= (1 - q)^3"),
    Item(
        "SCAFFOLD caps",
        [gain >= 1, eta <= 1 / (81 * L * tau * gain)],
        81 * tau * eta * L <= 1,
        "1/gain <= 1",
    ),
    Item("whole numbers", [], N**2 >= 2 * N - 1, "(N - 1)^2 >= 0"),
]

FALSE = [
    Item(
        "descent, cap 2",
        [eta <= 2 / L],
        eta - L * eta**2 / 2 >= eta / 2,
        point=at(eta="2", L="1"),
    ),
    Item(
        "descent strict at the edge",
        [eta <= 2 / L],
        eta - L * eta**2 / 2 > 0,
        point=at(eta="2", L="1"),
    ),
    Item(
        "contraction, no mu <= L",
        [eta <= 1 / L],
        (1 - eta * mu) ** 2 <= 1 - eta * mu,
        point=at(eta="1", L="1", mu="3"),
    ),
    Item(
        "largest modulus, cap 2/L",
        [*conditioned, eta <= 2 / L],
        Max(Abs(1 - eta * mu), Abs(1 - eta * L)) <= 1 - eta * mu,
        point=at(eta="2", L="1", mu="1"),
    ),
    Item(
        "condition number, 4",
        conditioned,
        ((L - mu) / (L + mu)) ** 2 <= 1 - 4 * mu / L,
        point=at(L="1", mu="1"),
    ),
    Item(
        "FedAvg lemma 1, cap 1/2",
        [*conditioned, eta <= 1 / (2 * L)],
        eta * (4 * L**2 / mu + 3 * eta * L**2) <= 5 * eta * L**2 / mu,
        point=at(eta="1/2", L="1", mu="1"),
    ),
    Item(
        "FedAvg lemma 1, no mu <= L",
        [eta <= 1 / (3 * L)],
        4 * eta / mu + 3 * eta**2 <= 5 * eta / mu,
        point=at(eta="1/3", L="1", mu="4"),
    ),
    Item(
        "FedAvg lemma 1, strict",
        [eta <= 1 / (3 * L)],
        6 * eta**2 * L - 2 * eta < 0,
        point=at(eta="1/3", L="1"),
    ),
    Item(
        "FedAvg lemma 1, caps, no mu <= L",
        [],
        same(Min(1 / (3 * L), 1 / (3 * mu)), 1 / (3 * L)),
        point=at(L="1", mu="2"),
    ),
    Item(
        "FedAvg lemma 2, cap 1/2",
        [*local, eta <= 1 / (2 * moves * L)],
        1 - 8 * drift * L**2 >= Rational(1, 2),
        point=at(eta="1/2", L="1", tau="2"),
    ),
    Item(
        "FedAvg lemma 2, constant 7",
        [*local, eta <= 1 / (4 * moves * L)],
        4 * drift * s / (1 - 8 * drift * L**2) <= 7 * drift * s,
        point=at(eta="1/4", L="1", tau="2", s="1"),
    ),
    Item(
        "FedAvg lemma 2, wrong fixed point",
        [8 * x * L**2 < 1],
        same(4 * x * (L**2 * delta + s), delta),
        point=at(x="1/16", L="1", s="1"),
    ),
    Item(
        "FedAvg limit, 40",
        [tau >= 2],
        same(
            40 * eta**3 * L**2 * moves**2 * s / mu / (eta * mu / 2),
            40 * drift * (L / mu) ** 2 * s,
        ),
        point=at(eta="1", L="1", mu="1", tau="2", s="1"),
    ),
    Item(
        "FedAvg limit, exponent of eta",
        [],
        same(8 * eta**2 * tau**2 * s / (eta * mu / 2), 16 * eta**2 * tau**2 * s / mu),
        point=at(eta="2", mu="1", tau="1", s="1"),
    ),
    Item(
        "FOCUS (85), cap without 1/2",
        [*local, eta <= 1 / (L * sqrt(moves))],
        1 - 2 * eta**2 * L**2 * moves >= Rational(1, 2),
        point=at(eta="1", L="1", tau="2"),
    ),
    Item(
        "FOCUS lemma 3, caps, 4",
        [*local, eta <= 1 / (3 * L * moves)],
        eta <= 1 / (4 * L * sqrt(moves)),
        point=at(eta="1/3", L="1", tau="2"),
    ),
    Item(
        "FOCUS (88), cap 1/2",
        [*local, eta <= 1 / (2 * L * moves)],
        2 + 8 * drift * L**2 <= 3,
        point=at(eta="1/2", L="1", tau="2"),
    ),
    Item(
        "FOCUS lemma 3, end, cap 1/2",
        [eta <= 1 / (2 * mu)],
        2 * eta * (1 / mu + eta) * 3 * L**2 * N <= 8 * eta * L**2 * N / mu,
        point=at(eta="1/2", mu="1", L="1", N="1"),
    ),
    Item(
        "FOCUS (96), 1/2",
        unit,
        (1 - q / 2) / (1 - q**2 / 4) <= 1 - q / 2,
        point=at(q="1"),
    ),
    Item(
        "FOCUS (96), q below 2",
        [q < 2],
        (1 - q / 2) / (1 - q**2 / 4) <= 1 - q / 3,
        point=at(q="3/2"),
    ),
    Item(
        "FOCUS lemma 4, constant as printed",
        unit,
        8 / (1 - q**2 / 4) <= Rational(16, 3),
        point=at(q="1"),
    ),
    Item(
        "SG-FOCUS lemma 6, constant as printed",
        unit,
        12 / (1 - q**2 / 4) <= 8,
        point=at(q="1"),
    ),
    Item(
        "FOCUS (95) as printed",
        [*local, *unit, *caps_l4],
        lemma_4 <= q**2 / 4,
        point=at(q="1", L="1", N="1", tau="2", eta="1/8"),
    ),
    Item(
        "FOCUS (121) without 2",
        [eta <= q / (16 * L * sqrt(N))],
        1 - 256 * eta**2 * L**2 * N / q**2 >= Rational(1, 2),
        point=at(q="1", L="1", N="1", eta="1/16"),
    ),
    Item(
        "FOCUS (121) strict",
        [eta <= q / (16 * L * sqrt(2 * N))],
        1 - 256 * eta**2 * L**2 * N / q**2 > Rational(1, 2),
        point=at(q="1", L="1", N="2", eta="1/32"),
    ),
    Item(
        "FOCUS (110), gradient, cap 3/16",
        [eta <= 3 * q / (16 * N)],
        16 * eta**2 * N**2 / (3 * q) <= eta * N / 2,
        point=at(q="1", N="1", eta="3/16"),
    ),
    Item(
        "FOCUS (110), rate, cap q/3",
        [*unit, eta <= q / (3 * beta * N)],
        (1 - q / 3) / (1 - eta * beta * N) <= 1 - q / 4,
        point=at(q="1", beta="1", N="1", eta="1/3"),
    ),
    Item(
        "FOCUS PL caps, wrong sign",
        [*unit, eta <= q / (12 * beta * N)],
        eta <= q / (3 * beta * N * (4 + q)),
        point=at(q="1", beta="1", N="1", eta="1/12"),
    ),
    Item(
        "FOCUS (110), weight, dimension",
        [eta <= q / (16 * L)],
        1 - q / 4 <= 1 - 4 * eta * L**2,
        point=at(q="1", L="2", eta="1/32"),
    ),
    Item(
        "FOCUS (108), cap 1",
        [*local, eta <= 1 / (L * moves)],
        eta / N * (2 * L**2 * N + 8 * drift * L**4 * N) <= 4 * eta * L**2,
        point=at(L="1", N="1", tau="2", eta="1"),
    ),
    Item(
        "FOCUS (105) as printed",
        [eta <= 1 / (4 * L * N)],
        Ge(eta * N / 2 - eta**2 * N**2 * L, eta * N, evaluate=False),
        point=at(L="1", N="1", eta="1/4"),
    ),
    Item(
        "FOCUS (113), cap 1/2",
        [eta <= 1 / (2 * L * N)],
        eta * N / 2 * (1 - 2 * eta * N * L) >= eta * N / 4,
        point=at(L="1", N="1", eta="1/2"),
    ),
    Item(
        "FOCUS gap under the printed caps",
        [*conditioned, *local, *unit, *printed_caps],
        2 * eta * N * (1 - 2 * eta * N * L) >= 32 * eta**2 * N**2 * L / (3 * q),
        point=at(L="1", mu="1", N="576", q="1/9", eta="1/5184", tau="2"),
    ),
    Item(
        "FOCUS (102) as printed",
        [*unit, eta <= 2 * q / (3 * N * stiff)],
        1 - q / 3 <= (1 - eta * mu * N / 2) * (1 - 8 * eta * L**2 * N / mu),
        point=at(L="1", mu="1", N="1", q="1", eta="4/51"),
    ),
    Item(
        "FOCUS Lyapunov weight, 16",
        [*conditioned, *printed_caps[:1]],
        1 - 16 * eta * L**2 * N / mu >= 0,
        point=at(L="1", mu="1", N="1", eta="1/9"),
    ),
    Item(
        "FOCUS Lyapunov weight of the main text",
        [*conditioned, *local, *printed_caps[:2]],
        1 - 8 * eta * tau * L * N >= 0,
        point=at(L="1", mu="1", N="2", tau="3", eta="1/18"),
    ),
    Item(
        "FOCUS participation cap, q^2",
        [*unit, eta <= root / (8 * L * sqrt(N))],
        eta <= q**2 / (8 * L),
        point=at(L="1", N="1", q="1/4", eta="1/64"),
    ),
    Item(
        "SG-FOCUS limit as printed",
        [],
        same(
            (2 + 8 * N**2 / q) * eta**2 * sigma / (eta * mu * N / 2),
            4 * (q + N**2) * eta * sigma / (mu * N * q),
        ),
        point=at(N="1", q="1", eta="1", mu="1", sigma="1"),
    ),
    Item(
        "SG-FOCUS (133) without sqrt 2",
        [*local, eta <= root / (4 * L * sqrt(6 * N)), eta <= root / (8 * L * moves)],
        lemma_6 <= q**2 / 4,
        point=at(q="1", L="1", N="6", tau="4", eta="1/24"),
    ),
    Item(
        "Young, half",
        [],
        2 * a * b <= young + b**2 / (2 * eps),
        point=at(a="1", b="1", epsilon="1"),
    ),
    Item(
        "Jensen, three terms, 2",
        [],
        (a + b + c) ** 2 <= 2 * (a**2 + b**2 + c**2),
        point=at(a="1", b="1", c="1"),
    ),
    Item(
        "Jensen, weights, too small",
        [],
        (a + b) ** 2 <= (1 + eps) * a**2 + b**2 / eps,
        point=at(a="1", b="1", epsilon="1"),
    ),
    Item(
        "means reversed",
        [a >= 0, b >= 0],
        sqrt(a * b) >= (a + b) / 2,
        point=at(a="1", b="4"),
    ),
    Item(
        "three local steps, 2",
        [eta * mu <= 1],
        (1 - eta * mu) ** 3 >= 1 - 2 * eta * mu,
        point=at(eta="1/10", mu="1"),
    ),
    Item(
        "three local steps, long",
        [],
        (1 - eta * mu) ** 3 >= 1 - 3 * eta * mu,
        point=at(eta="4", mu="1"),
    ),
    Item(
        "SCAFFOLD caps, small gain",
        [eta <= 1 / (81 * L * tau * gain)],
        81 * tau * eta * L <= 1,
        point=at(eta_g="1/2", L="1", tau="1", eta="2/81"),
    ),
    Item("whole numbers, shifted", [], N**2 >= 3 * N - 1, point=at(N="1")),
]
