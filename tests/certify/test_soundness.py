"""No certificate says what is false: against exact rates, and against real functions.

A certified rate holds for all smooth strongly convex functions, so it is not below the
rate of any quadratics; for one local step and moderate step sizes it is next to it.
And V is not only a matrix: on real functions, with the plain loops, it decreases.
"""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from inspect import signature
from itertools import combinations
from math import comb, exp, log, prod, tanh
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from flverify.algorithms import (
    FedAvg,
    FedDyn,
    FedProx,
    FedVarp,
    Focus,
    GradientDescent,
    Mifa,
    ProxSkip,
    Scaffold,
)
from flverify.certify.check import load
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import certify
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.stability import stability_boundary
from flverify.engines.moments import moments
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics
from tests.certify.ansaetze import at_level

# ------------------------------------------------------------- the lower side

SETTINGS = 300
SLICE = (0, 2, 3, 4, 7)  # of the random settings with N <= 4
ALL, FROM_TEN = (2, 1000), (10, 1000)  # condition numbers L/mu, drawn log-uniformly
CLOSE = Fraction(1, 1000)


@dataclass(frozen=True)
class Setting:
    """One random setting with L = 1 and mu = 1/kappa."""

    kind: type
    local_steps: int
    law: Any
    mu: Fraction
    reach: float  # step size over the largest stable one

    @property
    def usual(self):
        """One local step, and a step size in the lower half of the stable range."""
        return self.local_steps == 1 and self.reach <= 0.5


@dataclass(frozen=True)
class Outcome:
    """What is certified, and the worst quadratics."""

    setting: Setting
    algorithm: Any
    certified: Fraction | None
    worst: Any


def some_law(draw, n):
    a, b = (Fraction(draw.randint(1, 19), 20) for _ in "ab")
    # of two classes the quadratics cost all pairs of numbers, so they are kept small
    few, k = max(2, min(n, 10)), draw.randint(1, 9)
    k = min(k, few - 1)
    laws = [
        Full(n),
        Bernoulli([a] * n),
        Bernoulli([a] * k + [b] * (few - k)),
        UniformCohort(n, draw.randint(1, n)),
        AllOrNothing(n, a),
    ]
    return draw.choice(laws)


def some_setting(number, most=50, kappas=ALL):
    draw = Random(f"soundness {number}")
    least, largest = kappas
    return Setting(
        kind=draw.choice([Focus, Scaffold]),
        local_steps=draw.choice([1, 1, 2, 3, 4]),
        law=some_law(draw, round(most ** draw.random())),
        mu=Fraction(1, round(least * (largest / least) ** draw.random())),
        reach=draw.uniform(*draw.choice([(0.02, 0.5), (0.5, 1.2)])),
    )


def algorithm(setting):
    unit = setting.kind(1, setting.local_steps)
    boundary = stability_boundary(unit, setting.law, setting.mu, 1)
    step = Fraction(setting.reach * boundary.step_size).limit_denominator(10**6)
    return setting.kind(step, setting.local_steps)


def outcome(setting):
    played = algorithm(setting)
    worst = worst_quadratic(played, setting.law, setting.mu, 1)
    # without telling it the bound: it must not get below by itself
    found = certify(played, setting.law, setting.mu, 1)
    return Outcome(setting, played, found.rate, worst)


def require_sound(result):
    """Nothing below the worst quadratics is certified, asked for or not."""
    setting, bound = result.setting, result.worst.lower_bound
    if result.certified is not None:
        assert result.certified >= bound, setting
    below = min(bound, Fraction(1)) * (1 - Fraction(1, 10**7))
    refused = certify(result.algorithm, setting.law, setting.mu, 1, rate=below)
    assert refused.status != "certified", setting
    if setting.law.n_clients <= 3 and result.certified is not None:
        assert result.certified >= moment_rate(result)[0], setting


def moment_rate(result):
    """Enclosure of the instance's rate by the engine of moments."""
    curvatures = result.worst.instance.curvatures
    problem = Quadratics([[[h]] for h in curvatures], [[0]] * len(curvatures))
    found = moments(problem, result.algorithm, result.setting.law)
    return found.mean_square_rate_interval


def gaps(results):
    """Certified rate minus lower bound, 1 where there is no certificate."""
    return [
        Fraction(1) if r.certified is None else r.certified - r.worst.lower_bound
        for r in results
        if r.setting.usual
    ]


def test_a_few_settings_are_sound():
    results = [outcome(some_setting(k, most=4)) for k in SLICE]
    for result in results:
        require_sound(result)
    assert len(gaps(results)) >= 2
    assert max(gaps(results)) <= CLOSE


@cache
def all_outcomes():
    return [outcome(some_setting(k)) for k in range(SETTINGS)]


@pytest.mark.slow
@pytest.mark.xfail(reason="55 of these 61; 547 of the 574 below", strict=True)
def test_nineteen_in_twenty_are_close_to_the_worst_quadratic():
    assert share_close(all_outcomes()) >= 0.95


@pytest.mark.slow
def test_three_hundred_settings_are_sound():
    results = all_outcomes()
    for result in results:
        require_sound(result)
    # for small kappa, where L can govern the rate although the step size is moderate, V
    # is too poor, or other functions are worse than quadratics: found were 55 of 61
    assert share_close(results) >= 0.85
    assert share_close([r for r in results if r.setting.mu <= Fraction(1, 20)]) >= 0.95


@pytest.mark.slow
def test_nineteen_in_twenty_of_three_thousand_are_close():
    # the same draws, the 300 above among them: a share so near 95 % needs many of them
    drawn = [some_setting(k) for k in range(10 * SETTINGS)]
    results = [outcome(s) for s in drawn if s.usual]
    assert share_close(results) >= 0.95
    # what docs/certificates.md says of the others
    far = [r for r, gap in zip(results, gaps(results), strict=True) if gap > CLOSE]
    assert (len(results), len(far)) == (574, 27)
    assert min(r.setting.mu for r in far) > Fraction(1, 20)
    apart = sorted(gap for gap in gaps(results) if gap > CLOSE)
    assert 0.0015 <= apart[0] <= apart[len(far) // 2] < 0.01
    assert apart[-1] <= 0.047


@pytest.mark.slow
def test_without_small_condition_numbers_most_are_close():
    # no substitute for the test above that fails: it only says where the gaps are not
    drawn = [some_setting(k, kappas=FROM_TEN) for k in range(SETTINGS)]
    assert share_close([outcome(s) for s in drawn if s.usual]) >= 0.95


def share_close(results):
    close = [gap <= CLOSE for gap in gaps(results)]
    assert len(close) >= SETTINGS / 10
    return sum(close) / len(close)


@pytest.mark.slow
def test_both_lower_sides_agree():
    setting = Setting(Focus, 2, Bernoulli(["1/2", "1/3"]), Fraction(1, 10), 0.3)
    result = outcome(setting)
    low, high = moment_rate(result)
    assert low <= high
    assert float(low) == pytest.approx(float(result.worst.lower_bound), abs=1e-9)


def test_a_certificate_below_would_be_noticed():
    setting = Setting(Focus, 1, Bernoulli(["1/2"] * 2), Fraction(1, 10), 0.3)
    true = outcome(setting)
    low = true.worst.lower_bound - Fraction(1, 10**9)
    false = Outcome(setting, true.algorithm, low, true.worst)
    with pytest.raises(AssertionError):
        require_sound(false)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("reach", ["101/100", "3/2", "3"])
@pytest.mark.parametrize("kind", [Focus, Scaffold])
def test_beyond_the_boundary_nothing_is_certified(kind, reach):
    for law in (Bernoulli(["1/2"] * 2), UniformCohort(3, 1), AllOrNothing(2, "2/3")):
        boundary = stability_boundary(kind(1), law, Fraction(1, 10), 1)
        step = Fraction(boundary.step_size) * Fraction(reach)
        found = certify(kind(step.limit_denominator(10**9)), law, "1/10", 1)
        assert found.certificate is None


# ------------------------------------------------------------- real functions

DATA = Path(__file__).parent / "data"
STORED = ("fedavg_neighbourhood", "focus_classes", "focus_started", "scaffold_lifted")
TWO = Bernoulli(["1/2", "1/2", "1/5"])
WARM = {"initial_gradients": "start", "initial_tracker": "sum"}
FOUND = {
    "slots": (certify, Focus("1/5"), Bernoulli(["1/2"] * 2)),
    "lifted": (at_level("lifted"), Focus("1/9"), UniformCohort(4, 1)),
    "previous point": (at_level("previous point"), Focus("1/4"), UniformCohort(4, 1)),
    "last step": (at_level("last step"), Focus("11/30"), UniformCohort(3, 1)),
    "previous gradients": (certify, Focus("3/10"), UniformCohort(4, 2)),
    "previous gradients, classes": (certify, Scaffold("1/2"), TWO),
    "last gradients": (
        at_level("previous gradients", calls=(1,)),
        Focus("1/6", 2),
        UniformCohort(3, 2),
    ),
    "warm": (certify, Focus("1/3", 1, **WARM), UniformCohort(3, 1)),
    "classes": (certify, Focus("1/9", 2), Bernoulli(["1/2", "1/2", "1/5"])),
    "option I": (certify, Scaffold("1/9", 2, option="I"), Bernoulli(["1/2"] * 3)),
    "feddyn": (certify, FedDyn("1/2", 1, 2), UniformCohort(4, 2)),
    "proxskip": (certify, ProxSkip("1/3", probability="1/5"), AllOrNothing(3, "1/5")),
    "descent": (certify, GradientDescent("2/5"), Full(3)),
    "contraction": (contraction, FedAvg("1/10", 2), UniformCohort(4, 1)),
    "fedvarp": (certify, FedVarp("1/10"), UniformCohort(4, 2)),
    "mifa": (contraction, Mifa("1/10", 2), Bernoulli(["1/2"] * 4)),
    "fedprox": (contraction, FedProx("1/10", "1/2", 2), UniformCohort(4, 2)),
    "distance": (distance, FedAvg("1/10", 3), Bernoulli(["1/2"] * 3)),
}


@cache
def certificate(name):
    if name in STORED:
        return load(DATA / f"{name}.json")
    search, algorithm, law = FOUND[name]
    return search(algorithm, law, "1/10", 1).certificate


@dataclass(frozen=True)
class Function:
    """mu x^2/2 + (L - mu) w^2 log cosh((x - b)/w) + a x: curvature from mu to L."""

    mu: float
    top: float
    width: float
    shift: float
    tilt: float

    @classmethod
    def some(cls, draw, mu, smooth):
        top = draw.choice([0, smooth - mu, draw.uniform(0, smooth - mu)])
        return cls(
            mu, top, 10 ** draw.uniform(-1, 2), draw.gauss(0, 1), draw.gauss(0, 1)
        )

    def value(self, x):
        z = abs(x - self.shift) / self.width
        soft = self.width**2 * (z + log((1 + exp(-2 * z)) / 2))
        return self.mu * x * x / 2 + self.top * soft + self.tilt * x

    def slope(self, x):
        steep = self.top * self.width * tanh((x - self.shift) / self.width)
        return self.mu * x + steep + self.tilt


def root(slope):
    """Zero of an increasing function."""
    low, high = -1e4, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low


def inclusions(law):
    """Class and chance of every client; the chance is 1 where it plays no role."""
    groups = law.get("classes") or [{"clients": law["n_clients"], "inclusion": "1"}]
    return [
        (r, float(Fraction(group["inclusion"])))
        for r, group in enumerate(groups)
        for _ in range(group["clients"])
    ]


def cohorts(law):
    """Every cohort with its probability."""
    chances = [p for _, p in inclusions(law)]
    n = len(chances)
    if law["kind"] == "all_or_nothing":
        p = float(Fraction(law["probability"]))
        return [(tuple(range(n)), p), ((), 1 - p)]
    if law["kind"] == "bernoulli":
        sets = [s for m in range(n + 1) for s in combinations(range(n), m)]
        parts = [[p if i in s else 1 - p for i, p in enumerate(chances)] for s in sets]
        return list(zip(sets, map(prod, parts), strict=True))
    m = law.get("cohort_size", n)
    return [(s, 1 / comb(n, m)) for s in combinations(range(n), m)]


def floats(table):
    return np.array([[float(Fraction(x)) for x in row] for row in table])


class World:
    """Real clients in one dimension, the plain loop, and the V of a certificate.

    A state is what the loop keeps, and the points that the ghosts stand for.
    """

    def __init__(self, c, draw):
        self.c, self.draw = c, draw
        self.of_class = [r for r, _ in inclusions(c["law"])]
        self.clients = range(len(self.of_class))
        bounds = [float(Fraction(v)) for v in c["function_class"].values()]
        self.functions = [Function.some(draw, *sorted(bounds)) for _ in self.clients]
        self.star = root(lambda x: sum(f.slope(x) for f in self.functions))
        self.at_star = [f.slope(self.star) for f in self.functions]
        home = f"flverify.reference.{c['algorithm']['name']}"
        self.loop = importlib.import_module(home)
        self.memories = [
            (m["slot"], m["calls"], [float(Fraction(w)) for w in m["weights"]])
            for m in c["memories"]
        ]
        self.ghosts = range(sum(len(calls) for _, calls, _ in self.memories))
        self.server = [s for s, v in self.begun(0.0).items() if not _many(v)]
        self.kept = [s for s in self.server if s not in c["eliminated"]]
        lifted = [slot for slot, *_ in self.memories]
        many = [s for s in c["equilibrium"] if s not in self.server]
        order = [s for s in self.begun(0.0) if s in many and s not in lifted]
        parts = [(f"ghost:{j}.point", f"ghost:{j}.gradient") for j in self.ghosts]
        self.coordinates = [*order, *(name for pair in parts for name in pair)]

    # -- the loop ---------------------------------------------------------------

    def settings(self, loop):
        numbers = ("step_size", "server_step_size", "probability", "proximal_weight")
        return {
            key: float(Fraction(value)) if key in numbers else value
            for key, value in self.c["algorithm"]["settings"].items()
            if key in signature(loop).parameters
        }

    def slope(self, i, point):
        return [self.functions[i].slope(point[0])]

    def begun(self, x0):
        loop = self.loop.start
        return loop(self.slope, len(self.clients), [x0], **self.settings(loop))

    def started(self, x0):
        """The state before the first round; ghosts hold what the slots hold."""
        state, ghosts = self.begun(x0), {}
        for slot, calls, _ in self.memories:
            if slot is None:  # V's own memory begins with x*
                for i in self.clients:
                    ghosts.setdefault(i, []).extend([self.star] * len(calls))
                continue
            cold = all(v == [0] for v in state[slot])
            for i in self.clients:
                here = root(self.functions[i].slope) if cold else x0
                ghosts.setdefault(i, []).extend([here] * len(calls))
        return state, ghosts

    def played(self, before, cohort):
        """The state after a round with this cohort."""
        state, ghosts = before
        after, _ = self._asked(state, cohort)
        new = {i: [] for i in self.clients}
        for i in self.clients if ghosts else ():
            # where a client takes its gradients, or would take them if it were there
            _, met = self._asked(state, [i])
            for slot, k, old in self._held(ghosts[i]):
                renewed = i in cohort or slot is None  # V's own memory always is
                new[i].append(met[i][k] if renewed else old)
        return after, new

    def _asked(self, state, cohort):
        """The state that the loop leaves, and where every client took gradients."""
        asked = {i: [] for i in self.clients}

        def slope(i, point):
            if point[0] not in asked[i]:
                asked[i].append(point[0])
            return self.slope(i, point)

        play, n = self.loop.play, len(self.clients)
        return play(state, slope, n, list(cohort), **self.settings(play)), asked

    def _held(self, points):
        """Slot, call and old point of every ghost of a client."""
        calls = [(slot, k) for slot, calls, _ in self.memories for k in calls]
        return [(*one, x) for one, x in zip(calls, points, strict=True)]

    def some_state(self):
        """A random state that the eliminated relations allow."""
        draw, size = self.draw.gauss, 10 ** self.draw.uniform(-2, 2)
        ghosts = {
            i: [self.star + size * draw(0, 1) for _ in self.ghosts]
            for i in self.clients
        }
        away = {slot: size * draw(0, 1) for slot in self.kept}
        for name in self.coordinates:
            away[name] = [size * draw(0, 1) for _ in self.clients]
        away |= self._ghost_deviations(ghosts)
        for slot, parts in self.c["eliminated"].items():
            wanted = self.combined(parts, away)
            if slot in self.server:
                away[slot] = wanted
            else:
                off = wanted - _mean(away[slot])
                away[slot] = [v + off for v in away[slot]]
        return self._slots(away), ghosts

    def _slots(self, away):
        state = {}
        for slot, (alpha, _) in self._rests():
            if slot in self.server:
                state[slot] = [away[slot] + alpha * self.star]
            else:
                pairs = zip(away[slot], self.resting(slot), strict=True)
                state[slot] = [[v + rest] for v, rest in pairs]
        return state

    def _rests(self):
        table = self.c["equilibrium"]
        return [(s, [float(Fraction(v)) for v in pair]) for s, pair in table.items()]

    def resting(self, slot):
        alpha, beta = dict(self._rests())[slot]
        return [alpha * self.star + beta * g for g in self.at_star]

    # -- V ------------------------------------------------------------------------

    def _ghost_deviations(self, ghosts):
        out, first = {}, 0
        for j in self.ghosts:
            points = [ghosts[i][j] for i in self.clients]
            slopes = [self.functions[i].slope(x) for i, x in enumerate(points)]
            pairs = zip(slopes, self.at_star, strict=True)
            out[f"ghost:{j}.point"] = [x - self.star for x in points]
            out[f"ghost:{j}.gradient"] = [g - star for g, star in pairs]
        for slot, calls, weights in self.memories:
            rows = [out[f"ghost:{first + k}.gradient"] for k in range(len(calls))]
            if slot is None:
                first += len(calls)
                continue
            out[slot] = list(np.array(weights) @ np.array(rows))
            first += len(calls)
        return out

    def deviations(self, state):
        """Every coordinate, and every slot, from the equilibrium."""
        slots, ghosts = state
        away = {}
        for slot, (alpha, _) in self._rests():
            if slot in self.server:
                away[slot] = slots[slot][0] - alpha * self.star
            else:
                pairs = zip(slots[slot], self.resting(slot), strict=True)
                away[slot] = [v[0] - rest for v, rest in pairs]
        return away | self._ghost_deviations(ghosts)

    def combined(self, parts, away):
        """A combination of server slots and means over all clients."""
        return sum(
            float(Fraction(v)) * (away[n] if n in self.server else _mean(away[n]))
            for n, v in parts.items()
        )

    def height(self, i, x):
        """f_i(x) above its tangent at x*."""
        f = self.functions[i]
        return f.value(x) - f.value(self.star) - self.at_star[i] * (x - self.star)

    def lyapunov(self, state):
        """V of a state, from the numbers in the certificate."""
        away, n = self.deviations(state), len(self.clients)
        table = np.array([away[name] for name in self.coordinates])
        table = table.reshape(len(self.coordinates), n)
        u, total = [away[slot] for slot in self.kept], 0.0
        averaged = [k for k, name in enumerate(self.coordinates)
                    if name not in self.c["eliminated"]]  # fmt: skip
        for r, block in enumerate(self.c["V"]["classes"]):
            members = [i for i in self.clients if self.of_class[i] == r]
            middle = table[:, members].mean(axis=1)
            u += list(middle[averaged])
            for i in members if block else ():
                gap = table[:, i] - middle
                total += gap @ floats(block) @ gap / n
        total += np.array(u) @ floats(self.c["V"]["mean"]) @ np.array(u)
        for i in self.clients:
            weights = floats([self.c["ghost_values"][self.of_class[i]]])[0]
            for j, weight in enumerate(weights):
                total += weight * self.height(i, state[1][i][j]) / n
            for value in self.c["values"]:
                w = self.star + self.combined(value["point"], away)
                total += float(Fraction(value["delta"])) * self.height(i, w) / n
        return total


def _many(value):
    return isinstance(value[0], list)


def _mean(values):
    return sum(values) / len(values)


def excesses(c, number, seed):
    """How much, at random, V, its lower bound and its start go beyond their bounds.

    Relative to the sizes involved; none is positive where a certificate holds.
    """
    draw, out = Random(seed), {"decrease": [], "positivity": [], "start": []}
    beside = c["neighbourhood"] or {"weight": "0", "constant": "0"}
    s, constant = (float(Fraction(beside[k])) for k in ("weight", "constant"))
    rho = float(Fraction(c["rho"]))
    C1, C2 = (float(Fraction(c["start"][k])) for k in ("C1", "C2"))
    for _ in range(number):
        world = World(c, draw)
        spread = sum(g * g for g in world.at_star) / len(world.clients)
        x0 = world.star + draw.gauss(0, 1) * 10 ** draw.uniform(-2, 2)
        first = world.started(x0)
        bound = C1 * (x0 - world.star) ** 2 + C2 * spread
        out["start"].append(world.lyapunov(first) / bound - 1)
        for state in (first, world.some_state()):
            V, x = world.lyapunov(state), state[0]["model"][0] - world.star
            after = sum(
                p * world.lyapunov(world.played(state, cohort))
                for cohort, p in cohorts(c["law"])
            )
            allowed = rho * V - s * x * x + constant * spread
            size = V + x * x + constant * spread
            out["decrease"].append((after - allowed) / size)
            out["positivity"].append(((x * x if not s else 0) - V) / size)
    return out


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [*STORED, *FOUND])
def test_the_certified_function_decreases_on_real_ones(name):
    for stage, found in excesses(certificate(name), 15, seed=name).items():
        assert max(found) <= 1e-7, stage


@pytest.mark.slow
@pytest.mark.parametrize("name", [*STORED, *FOUND])
def test_the_certified_function_decreases_on_many_real_ones(name):
    for stage, found in excesses(certificate(name), 400, seed=f"many {name}").items():
        assert max(found) <= 1e-7, stage


@pytest.mark.one_in(9)
@pytest.mark.parametrize(
    ("name", "path", "factor"),
    [
        ("slots", ("rho",), "9/10"),
        ("previous point", ("rho",), "9/10"),
        ("scaffold_lifted", ("rho",), "9/10"),
        ("previous gradients", ("rho",), "2/3"),
        ("previous gradients, classes", ("rho",), "9/10"),
        ("distance", ("neighbourhood", "constant"), "1/100"),
        ("contraction", ("neighbourhood", "constant"), "1/10000"),
        ("classes", ("start", "C2"), "1/100"),
        ("proxskip", ("start", "C1"), "1/2"),
        ("option I", ("V", "mean", 0, 0), "1/2"),
    ],
)
def test_a_false_certificate_would_be_noticed(name, path, factor):
    c = copy.deepcopy(certificate(name))
    at = c
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = str(Fraction(at[path[-1]]) * Fraction(factor))
    found = excesses(c, 40, seed=name)
    assert max(max(values) for values in found.values()) > 1e-7
