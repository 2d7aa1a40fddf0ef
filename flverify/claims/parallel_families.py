"""Families of settings with bounded heterogeneity, and their limits computed again.

The first half lists settings under the hypotheses of Theorem 2 of the FOCUS paper. The
second recomputes what `parallel_clients` says of them from the outcomes of the law and
the plain loop, sharing nothing with the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

from flverify.claims.parallel_clients import Coordinate, Row, Setting, step_cap
from flverify.participation._law import Participation
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.explicit_law import ExplicitLaw
from flverify.participation.full import Full
from flverify.participation.non_empty import NonEmpty
from flverify.participation.replacement_sampling import ReplacementSampling
from flverify.participation.successive_sampling import SuccessiveSampling
from flverify.participation.uniform_cohort import UniformCohort
from flverify.reference import fedavg

Laws = tuple[Participation, ...]
Rows = tuple[Row, ...]

THIRDS, SEVENTHS = Fraction(1, 3), Fraction(1, 7)
RARELY, SELDOM, OFTEN = Fraction(1, 1000), Fraction(1, 10), Fraction(9, 10)
HALF, ALWAYS = Fraction(1, 2), Fraction(1)

UNIFORM: Laws = (  # m of N clients, Case 3a
    UniformCohort(2, 1),
    UniformCohort(3, 2),
    UniformCohort(12, 1),
)
BALANCED: Laws = (  # q_i = 1/N
    *UNIFORM,
    Full(2),
    Full(3),
    ExplicitLaw({(0,): THIRDS, (1, 2): 2 * THIRDS}, 3),
    NonEmpty(Bernoulli((RARELY,) * 3)),
)
BIASED: Laws = (
    Bernoulli((ALWAYS, HALF)),
    Bernoulli((RARELY, ALWAYS)),
    NonEmpty(Bernoulli((SELDOM, OFTEN))),
    SuccessiveSampling((1, 2, 3), 2),
    ReplacementSampling((1, 5, 3), 2),
)
ALONE: Laws = (Full(1), NonEmpty(Bernoulli((THIRDS,))))
WITH_EMPTY_ROUNDS: Laws = (Bernoulli((HALF, HALF)), Bernoulli((HALF,)))

SCALES = (Fraction(1), Fraction(1, 1000), Fraction(1000))
PARTS = (Fraction(1), Fraction(1, 100))  # of the largest step size allowed


@cache
def family(laws: Laws, local_steps: tuple[int, ...]) -> tuple[Setting, ...]:
    """List settings at the cap of the step size and at 1/100 of it, simple ones first.

    Examples
    --------
    >>> len(family((Full(1), Full(2)), (1, 2)))
    48
    """
    return tuple(
        Setting(h, b, law, tau, part * step_cap(max(map(max, h)), tau))
        for law, tau, part in product(laws, local_steps, PARTS)
        for h, b in _shapes(law.n_clients)
    )


@cache
def rescaled(
    laws: Laws, local_steps: tuple[int, ...]
) -> tuple[tuple[Setting, Setting], ...]:
    """List each setting of the family beside itself at every scale c of f -> c f."""
    pairs = product(family(laws, local_steps), SCALES)
    return tuple((plain, plain.scaled(scale)) for plain, scale in pairs)


def _shapes(n: int) -> Iterator[tuple[Rows, Rows]]:
    """Curvatures and minimisers of n clients, along one coordinate or two."""
    equal, zero = (Fraction(1),) * n, Fraction(0)
    signs = tuple(Fraction((-1) ** (i + 1)) for i in range(n))
    outlier = (Fraction(n), *[zero] * (n - 1))
    rising = tuple(Fraction(i + 1) for i in range(n))
    far = tuple(10 + 3 * s for s in signs)
    stiff = (Fraction(1), *[Fraction(10**4)] * (n - 1))
    mixed = tuple(Fraction(1 + 7 * i % 11) for i in range(n))
    spread = tuple((5 * i * i % 23 - 9) * SEVENTHS for i in range(n))
    yield (equal,), (signs,)
    yield (rising,), (far,)
    yield (stiff,), (signs,)
    yield (stiff[::-1],), (outlier,)
    yield (mixed,), (spread,)
    yield (equal, stiff), (outlier, signs)


Weights = Callable[[Setting], Row]


def averaging(setting: Setting) -> Row:
    """Return q_i = E[I_i/|S|]."""
    return setting.weights


def normalised(setting: Setting) -> Row:
    """Return q_i / sum_j q_j, which differs from q where rounds can be empty."""
    total = sum(setting.weights)
    return tuple(q / total for q in setting.weights)


@cache
def limit(setting: Setting, weights: Row) -> Fraction:
    """Return `setting.limit(weights)`, computed once."""
    return setting.limit(weights)


def limit_again(setting: Setting, weights: Row) -> Fraction:
    """Recompute the limit from the plain loop on every cohort of the law.

    Examples
    --------
    >>> setting = family((UniformCohort(2, 1),), (2,))[1]
    >>> limit_again(setting, setting.weights) == setting.limit()
    True
    """
    return max(
        sum(
            (_error_again(setting, c, weights, t) for c in setting.coordinates),
            Fraction(0),
        )
        for t in range(setting.local_steps)
    )


def _error_again(setting: Setting, c: Coordinate, weights: Row, t: int) -> Fraction:
    """Limit of E(xbar - x*)^2: a round is x -> a x + b with random (a, b)."""
    outcomes = setting.law.support().items()
    maps = [(p, *_affine(setting, c, s, setting.local_steps)) for s, p in outcomes]
    mean = _total(p * b for p, _, b in maps) / (1 - _total(p * a for p, a, _ in maps))
    noise = _total(p * b * (b + 2 * a * mean) for p, a, b in maps)
    square = noise / (1 - _total(p * a * a for p, a, _ in maps))
    local = [_affine(setting, c, (i,), t) for i in range(setting.n_clients)]
    slope = _total(w * a for w, (a, _) in zip(weights, local, strict=True))
    shift = _total(w * b for w, (_, b) in zip(weights, local, strict=True))
    shift -= c.minimiser
    return slope**2 * square + 2 * slope * shift * mean + shift**2


def _affine(
    setting: Setting, c: Coordinate, cohort: Collection[int], steps: int
) -> tuple[Fraction, Fraction]:
    """Read x -> a x + b off one round of the plain loop, from two points."""
    low, high = c.interval
    low, high = (low, high) if low < high else (low, low + 1)

    def gradient(client: int, point: list[Fraction]) -> list[Fraction]:
        return [c.derivative(client, point[0])]

    def end(start: Fraction) -> Fraction:
        models = fedavg.run(
            gradient,
            setting.n_clients,
            [start],
            [cohort],
            step_size=setting.step_size,
            local_steps=steps,
        )
        return Fraction(models[1][0])

    slope = (end(high) - end(low)) / (high - low)
    return slope, end(low) - slope * low


def heterogeneity_again(setting: Setting) -> Fraction:
    """Recompute sigma_G^2 over points inside and outside the intervals."""
    clients = range(setting.n_clients)

    def widest(c: Coordinate, i: int) -> Fraction:
        return max((c.derivative(i, x) - c.mean(x)) ** 2 for x in _points(c))

    return max(_total(widest(c, i) for c in setting.coordinates) for i in clients)


def mismatch_again(setting: Setting) -> Fraction:
    """Recompute delta_q^2 over such points, with q from the outcomes of the law."""
    q = [Fraction(0)] * setting.n_clients
    for cohort, chance in setting.law.support().items():
        for i in cohort:
            q[i] += chance / len(cohort)

    def widest(c: Coordinate) -> Fraction:
        sums = (
            _total(w * c.derivative(i, x) for i, w in enumerate(q)) - c.mean(x)
            for x in _points(c)
        )
        return max(gap * gap for gap in sums)

    return _total(widest(c) for c in setting.coordinates)


def _points(c: Coordinate) -> Sequence[Fraction]:
    low, high = c.interval
    return [low + (high - low) * Fraction(j, 8) for j in range(-16, 25)]


def _total(values: Iterator[Fraction]) -> Fraction:
    return sum(values, Fraction(0))
