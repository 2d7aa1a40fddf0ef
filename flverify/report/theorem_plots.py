"""What the plots of theorems share: rows, looks, printed constants, noisy FOCUS.

In all of them a printed bound is dotted and black, a certified one dashed and grey, an
exact number a hollow mark and a sample a line with a band, both in the colour of the
algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from flverify._core.exact import Array
from flverify.claims import ledger
from flverify.claims.parallel_clients import Setting
from flverify.claims.registry import claims_in, proofs_folder
from flverify.participation._law import Participation
from flverify.report.curves import thinned
from flverify.report.rows import RowTable
from flverify.report.style import Look

PRINTED: dict[str, Any] = {"color": "0.0", "linestyle": (0, (1.0, 1.2))}
CERTIFIED: dict[str, Any] = {"color": "0.45", "linestyle": (0, (4.0, 1.5))}
LYAPUNOV: dict[str, Any] = {"linestyle": (0, (5.0, 1.2, 1.0, 1.2)), "linewidth": 0.9}
NOTICEABLE = 1e-6  # relative excess that counts
BAND = ("0.1", "0.9")  # quantiles over the runs that bound a band


@dataclass(frozen=True)
class Point:
    """One point of a curve of one panel.

    Parameters
    ----------
    panel : str
    kind : str
        "printed", "certified", "exact", "sampled", or "lyapunov" for the exact
        function that the theorem bounds, where it is not the error.
    x, value, lower, upper : float
        Place, number, and the ends of its band (equal to it where there is none).
    """

    panel: str
    kind: str
    x: float
    value: float
    lower: float
    upper: float


def points(
    panel: str, kind: str, xs: Sequence[float], *columns: Array
) -> Iterator[Point]:
    """Yield a curve; `columns` are its values, or values, lower and upper ends.

    Examples
    --------
    >>> [point.upper for point in points("a", "exact", [0, 1], np.array([1.0, 0.5]))]
    [1.0, 0.5]
    """
    three = columns if len(columns) == 3 else columns * 3
    for x, *values in zip(xs, *three, strict=True):
        yield Point(panel, kind, float(x), *(float(v) for v in values))


def against_rounds(
    panel: str, kind: str, most: int, *columns: Array
) -> Iterator[Point]:
    """Yield about `most` rounds of a curve that is known in every round."""
    kept = thinned(len(columns[0]) - 1, most)
    yield from points(panel, kind, kept, *(c[list(kept)] for c in columns))


@cache
def constants(file: str, claim: str) -> Mapping[str, Any]:
    """Return the printed constants of a claim of proofs/.

    Examples
    --------
    >>> constants("fedavg_theorem2", "focus.thm2")["drift"]
    80
    """
    path = proofs_folder() / f"{file}.py"
    found: Mapping[str, Any] = claims_in([path])[claim].constants
    return found


def verdict(claim: str) -> str:
    """Return what the ledger says of a claim.

    Examples
    --------
    >>> verdict("focus.eq4.R")
    'PROVED'
    """
    known = ledger.read(proofs_folder() / "ledger.toml")
    return str(known.get(claim, {"verdict": "not judged"})["verdict"])


# Drawing -------------------------------------------------------------------------


def draw_panel(ax: Axes, table: RowTable[Point], look: Look) -> None:
    """Draw the kinds of curves that a panel has."""
    own = LYAPUNOV | {"color": look.colour}
    known = {"printed": PRINTED, "certified": CERTIFIED, "lyapunov": own}
    for kind, style in known.items():
        rows = table.where(kind=kind)
        ax.plot(rows.column("x"), rows.column("value"), **style)
    sampled, exact = table.where(kind="sampled"), table.where(kind="exact")
    xs = sampled.column("x")
    band: dict[str, Any] = {"color": look.colour, "alpha": 0.2, "linewidth": 0}
    ax.fill_between(xs, sampled.column("lower"), sampled.column("upper"), **band)
    ax.plot(xs, sampled.column("value"), color=look.colour)
    ax.plot(exact.column("x"), exact.column("value"), **look.points, zorder=3)


def kinds() -> list[Line2D | Patch]:
    """Return the handles of a legend of kinds."""
    grey: dict[str, Any] = {"color": "0.35"}
    hollow: dict[str, Any] = {"marker": "o", "markerfacecolor": "white"}
    return [
        Line2D([], [], label="printed bound", **PRINTED),
        Line2D([], [], label="certified for the class", **CERTIFIED),
        Line2D([], [], label="exact error", linestyle="none", **hollow, **grey),
        Line2D([], [], label="exact Lyapunov function", **LYAPUNOV, **grey),
        Line2D([], [], label="sampled mean", **grey),
        Patch(label="middle 80 % of the runs", alpha=0.3, linewidth=0, **grey),
    ]


def slope(xs: Iterable[float], values: Iterable[float]) -> float:
    """Return the slope of the last two points in logarithms.

    Examples
    --------
    >>> round(slope([1.0, 2.0, 4.0], [5.0, 3.0, 12.0]), 12)
    2.0
    """
    a, b = (np.log(np.array([*v][-2:], dtype=float)) for v in (xs, values))
    return float((b[1] - b[0]) / (a[1] - a[0]))


def compared(table: RowTable[Point], name: str) -> str:
    """Say where exact curves of a panel exceed the printed bound, if they do.

    Examples
    --------
    >>> bound = points("a", "printed", [0, 2], np.array([1.0, 0.01]))
    >>> exact = points("a", "exact", [0, 1, 2], np.array([1.0, 0.2, 0.001]))
    >>> compared(RowTable((*bound, *exact)), "(a)")
    'In (a) the exact error exceeds the printed bound from x = 1 to 1, 2 times at most.'
    """
    told = []
    for kind, said in (("exact", "error"), ("lyapunov", "Lyapunov function")):
        xs, ratios = _ratios(table, kind)
        over = xs[ratios > 1 + NOTICEABLE]
        if len(over):
            told.append(
                f"In {name} the exact {said} exceeds the printed bound from x = "
                f"{over[0]:.4g} to {over[-1]:.4g}, {ratios.max():.3g} times at most."
            )
        elif kind == "exact":
            times = f"{1 / ratios[-1]:.3g} times"
            told.append(f"In {name} the error ends {times} below the printed bound.")
    return " ".join(told)


def _ratios(table: RowTable[Point], kind: str) -> tuple[Array, Array]:
    """Return places and ratios to the printed bound of a curve that is above 0."""
    bound = table.where(kind="printed")
    rows = [row for row in table.where(kind=kind) if row.value > 0]
    xs = np.array([row.x for row in rows])
    logs = np.interp(xs, bound.column("x"), np.log(bound.column("value")))
    return xs, np.array([row.value for row in rows]) / np.exp(logs)


def upwards(value: float, digits: int = 3) -> float:
    """Round a bound up to few digits, which solvers on other machines share.

    Examples
    --------
    >>> upwards(0.0123401), upwards(2.5), upwards(0.0)
    (0.0124, 2.5, 0.0)
    """
    if value == 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.12g}")


# Theorem 2 -----------------------------------------------------------------------


def theorem2_terms(setting: Setting) -> tuple[float, float, float]:
    """Return the three terms of Theorem 2 of the FOCUS paper as printed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from flverify.participation import UniformCohort
    >>> one = Setting(((1, 1),), ((-1, 1),), UniformCohort(2, 1), 1, Fraction(1, 4))
    >>> theorem2_terms(one)
    (0.0, 0.0, 4.0)
    """
    c = constants("fedavg_theorem2", "focus.thm2")
    mu, big = setting.strong_convexity, setting.smoothness
    eta, tau, kappa = setting.step_size, setting.local_steps, big / mu
    delta = setting.mismatch
    if delta is None:
        return (float("inf"),) * 3
    both = delta + setting.heterogeneity
    drift = c["drift"] * eta**2 * kappa**2 * big ** c["drift_L"] * (tau - 1) ** 2
    bias = c["bias"] * kappa / (big * mu) ** c["bias_Lmu"] * delta
    noise = c["variance"] * eta * tau**2 / mu
    return float(drift * both), float(bias), float(noise * both)


# FOCUS with noisy gradients ------------------------------------------------------


@dataclass(frozen=True)
class NoisyFocus:
    """FOCUS, or SG-FOCUS, on f_i = h_i x^2/2 from equal models x_0 = 1.

    Every gradient has fresh noise of variance sigma^2; the tracker starts as the sum of
    the stored gradients, which start without noise.

    Parameters
    ----------
    curvatures : tuple of N floats, weight f/x^2
    law : Participation
        Its outcomes are listed by `moments`.
    local_steps : int
    step_size : float, weight x^2/f
    variance : float >= 0, weight f^2/x^2
        sigma^2.
    """

    curvatures: tuple[float, ...]
    law: Participation
    local_steps: int
    step_size: float
    variance: float = 0.0

    def moments(self, rounds: int) -> Array:
        """E(x_r - x*)^2 for r = 0, ..., rounds, cohort by cohort.

        The state is (x, z_1, ..., n_1, ...), z_i where client i's stored gradient was
        taken and n_i its noise; the clients' round and the server's are linear in it.

        Examples
        --------
        >>> from flverify.participation import Full
        >>> NoisyFocus((1.0,), Full(1), 1, 0.5, 1.0).moments(2).tolist()
        [1.0, 0.5, 0.375]
        """
        return np.array([after[0, 0] for _, after in self._seconds(rounds)])

    def consensus(self, rounds: int) -> tuple[Array, Array]:
        """E sum_i (x_r - z_i)^2 and E sum_i (x_{r-1} - z_i)^2 after r rounds.

        Examples
        --------
        >>> from flverify.participation import Full
        >>> one = NoisyFocus((1.0,), Full(1), 1, 0.5)
        >>> [values.tolist() for values in one.consensus(1)]
        [[0.0, 0.25], [0.0, 0.0]]
        """
        seconds = [*self._seconds(rounds)]
        columns = zip(*seconds, strict=True)
        lagged, behind = (np.array([self._apart(m) for m in c]) for c in columns)
        return behind, lagged

    def _apart(self, second: Array) -> float:
        z = slice(1, 1 + len(self.curvatures))
        whole = len(self.curvatures) * second[0, 0] - 2 * second[0, z].sum()
        return float(whole + second[z, z].trace())

    def _seconds(self, rounds: int) -> Iterator[tuple[Array, Array]]:
        """Second moments between clients and server, and after the server's step."""
        n = len(self.curvatures)
        state = np.array([1.0] * (n + 1) + [0.0] * n)
        second = np.outer(state, state)
        yield second, second
        outcomes = [(s, float(p)) for s, p in self.law.support().items() if p]
        chances = np.array([p for _, p in outcomes])
        maps, noises = map(
            np.array, zip(*(self._round(s) for s, _ in outcomes), strict=True)
        )
        push = np.eye(2 * n + 1)
        push[0, 1:] = -self.step_size * np.array([*self.curvatures, *[1.0] * n])
        for _ in range(rounds):
            moved = maps @ second @ maps.transpose(0, 2, 1) + noises
            pulled = np.tensordot(chances, moved, 1)
            second = push @ pulled @ push.T
            second = (second + second.T) / 2  # rounding must not grow
            yield pulled, second

    def _round(self, cohort: Iterable[int]) -> tuple[Array, Array]:
        """Return the clients' map of the state, and the noise it adds."""
        n, eta = len(self.curvatures), self.step_size
        pull, fresh = np.eye(2 * n + 1), np.zeros(2 * n + 1)
        for i in cohort:
            kept = 1 - eta * self.curvatures[i]
            gains = eta * kept ** np.arange(self.local_steps - 1)
            whole = kept ** (self.local_steps - 1)
            z, noise = 1 + i, 1 + n + i
            pull[z, [0, z, noise]] = whole, 1 - whole, gains.sum()
            pull[noise, noise] = 0.0
            fresh[z], fresh[noise] = (gains**2).sum() * self.variance, self.variance
        return pull, np.diag(fresh)

    def sampled(self, rounds: int, runs: int, seed: int) -> Array:
        """(x_r - x*)^2 of sampled runs of Algorithm 2, (runs, rounds + 1).

        Gaussian noise; all runs advance together.
        """
        mask = self.law.sample(seed, runs, rounds)
        draw = np.random.default_rng(seed)
        h, eta = np.array(self.curvatures), self.step_size
        model, stored = np.ones(runs), np.ones((runs, 1)) * h
        tracker, out = stored.sum(axis=1), [np.ones(runs)]
        scale = np.sqrt(self.variance)
        for r in range(rounds):
            x, change, old = model[:, None] * np.ones(len(h)), 0.0 * stored, stored
            for _ in range(self.local_steps):
                new = h * x + scale * draw.standard_normal(x.shape)
                change, old = change + new - old, new
                x = x - eta * change
            here = mask[:, r, :]
            tracker = tracker + np.where(here, change, 0.0).sum(axis=1)
            stored = np.where(here, old, stored)
            model = model - eta * tracker
            out.append(model**2)
        return np.stack(out, axis=1)
