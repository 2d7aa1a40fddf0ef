"""SG-FOCUS on scalar quadratics: second moments of a run.

f_i(x) = h_i x^2/2 with noise of variance sigma^2 on every gradient, independent over
calls and clients. In errors, with w the server model that is pulled (x_{r tau+1} of
Appendix E), z_i the client's row of x_{r tau} and n_i the noise of its stored gradient,

    z_i' = z_i + I_i (g_i (w - z_i) + k_i n_i + e_i),    n_i' = n_i + I_i (m_i - n_i),
    w' = w - eta sum_i (h_i z_i' + n_i'),

g_i = (1 - eta h_i)^(tau-1), k_i = eta sum_{t<tau-1} (1 - eta h_i)^t, e_i and m_i fresh.
The tracker starts as the sum of the stored gradients, which start without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.claims.focus_moments import Clients, Start
from flverify.participation._law import Participation


@dataclass(frozen=True)
class NoisyClients(Clients):
    """Clients f_i = h_i x^2/2 whose gradients have noise of a given variance.

    Examples
    --------
    >>> from flverify.participation import Full
    >>> one = NoisyClients((Fraction(1),), Full(1), 2, variance=Fraction(1))
    >>> found = curves(one, Fraction(1, 2), [(Fraction(0), (Fraction(0),))], 1, True)
    >>> [str(v) for v in found.server[0]], str(found.drift[0][0])
    (['0', '5/16'], '1/4')
    """

    variance: Fraction = Fraction(0)

    def where(self) -> dict[str, Any]:
        """Return the instance for a report."""
        return {**super().where(), "sigma^2": self.variance}


def noisy(clients: Clients, variance: Fraction) -> NoisyClients:
    """Return the same clients with noise."""
    law: Participation = clients.law
    return NoisyClients(
        clients.curvatures, law, clients.local_steps, clients.copies, variance
    )


@dataclass(frozen=True)
class Curves:
    """Second moments of a run, round by round on the last axis.

    At the beginning of rounds r = 0, ..., rounds, with w_r = xbar_{r tau+1}:

    server : E|w_r - x*|^2;  behind : B_r = E||1 w_r - x_{r tau}||_F^2.

    Within rounds r = 0, ..., rounds - 1, with x = x_{(r+1) tau}, S = 1' grad f(x) and
    n = 1' grad f(x; xi) - S:

    drift : E|1' grad f(1 w_r) - S|^2;  aim : E<w_r - x*, S>;
    stale : E<w_r - x*, n>;  smooth : E|S|^2;  push : E|S + n|^2;
    moved : E||sum_k D_k y_k||_F^2 over the local moves of the round.
    """

    server: Array
    behind: Array
    drift: Array
    aim: Array
    stale: Array
    smooth: Array
    push: Array
    moved: Array

    def row(self, k: int) -> Curves:
        """Moments from the k-th start."""
        return Curves(*(getattr(self, name)[k] for name in FIELDS))


FIELDS = (
    "server", "behind", "drift", "aim", "stale", "smooth", "push", "moved"
)  # fmt: skip
WITHIN = FIELDS[2:]


@dataclass(frozen=True)
class _Gains:
    """What a participant's round does to its row, in one arithmetic."""

    h: Array
    keep: Array  # g_i
    old: Array  # k_i
    fresh: Array  # variance of e_i
    inclusion: Array
    pairs: Array
    step: Any
    variance: Any


def _gains(clients: NoisyClients, step: Fraction, exact: bool) -> _Gains:
    kind: Any = object if exact else np.float64
    convert: Callable[[Any], Any] = Fraction if exact else float
    h = np.array([convert(v) for v in clients.curvatures], dtype=kind)
    eta, variance = convert(step), convert(clients.variance)
    g = 1 - eta * h
    keep, old, fresh = g**0, 0 * g, 0 * g
    for _ in range(clients.local_steps - 1):
        keep, old, fresh = keep * g, old * g + eta, fresh * g * g + eta**2 * variance
    p = np.array([convert(v) for v in clients.law.inclusion()], dtype=kind)
    pairs = clients.law.joint_inclusion()
    both = np.array([[convert(v) for v in row] for row in pairs], dtype=kind)
    return _Gains(h, keep, old, fresh, p, both, eta, variance)


def curves(
    clients: NoisyClients,
    step: Fraction,
    starts: Sequence[Start],
    rounds: int,
    exact: bool = False,
) -> Curves:
    """Return the moments by their recursion, from p_i and p_ij; one row per start."""
    gains = _gains(clients, step, exact)
    n = len(clients.curvatures)
    convert: Callable[[Any], Any] = Fraction if exact else float
    rows = [[convert(v) for v in (w, *z)] + [convert(0)] * n for w, z in starts]
    state = np.array(rows, dtype=object if exact else np.float64)
    second = state[:, :, None] * state[:, None, :]
    out: dict[str, list[Array]] = {name: [] for name in FIELDS}
    for r in range(rounds + 1):
        out["server"].append(second[:, 0, 0])
        out["behind"].append(_spread(second, n))
        if r == rounds:
            break
        out["moved"].append(_moved(second, gains))
        second = _pulled(second, gains)
        for name, values in _within(second, gains).items():
            out[name].append(values)
        second = _pushed(second, gains)
    stacked = {name: np.stack(parts, axis=-1) for name, parts in out.items()}
    return Curves(**stacked)


def _change(second: Array, gains: _Gains) -> Array:
    """E (what each z_i, then each n_i gains from taking part) times state."""
    n = len(gains.h)
    w, z, noise = second[:, :1], second[:, 1 : n + 1], second[:, n + 1 :]
    keep, old = gains.keep[:, None], gains.old[:, None]
    return np.concatenate([keep * (w - z) + old * noise, -noise], axis=1)


def _pulled(second: Array, gains: _Gains) -> Array:
    """E of the outer product after the clients' round, rows w, z_1, .., n_1, ..."""
    n = len(gains.h)
    change = _change(second, gains)  # (.., 2n, 1 + 2n)
    twice = _change(change.transpose(0, 2, 1), gains)  # (.., 2n, 2n)
    p = np.concatenate([gains.inclusion, gains.inclusion])
    out = second.copy()
    out[:, 1:, :] += p[:, None] * change
    out[:, :, 1:] += p * change.transpose(0, 2, 1)
    out[:, 1:, 1:] += np.tile(gains.pairs, (2, 2)) * twice
    places = np.arange(1, n + 1)
    out[:, places, places] += gains.inclusion * gains.fresh
    out[:, places + n, places + n] += gains.inclusion * gains.variance
    return out


def _pushed(second: Array, gains: _Gains) -> Array:
    """E of the outer product after w' = w - eta sum_i (h_i z_i + n_i)."""
    row = second[:, 0, :] - gains.step * _summed(second, gains)
    out = second.copy()
    out[:, 0, 1:] = out[:, 1:, 0] = row[:, 1:]
    out[:, 0, 0] = row[:, 0] - gains.step * _summed(row[:, :, None], gains)[:, 0]
    return out


def _summed(second: Array, gains: _Gains) -> Array:
    n = len(gains.h)
    smooth = (gains.h[:, None] * second[:, 1 : n + 1]).sum(axis=1)
    return np.asarray(smooth + second[:, n + 1 :].sum(axis=1))


def _within(second: Array, gains: _Gains) -> dict[str, Array]:
    """Moments between pull and push."""
    n, h = len(gains.h), gains.h
    z = slice(1, n + 1)
    aim = (h * second[:, 0, z]).sum(axis=1)
    stale = second[:, 0, n + 1 :].sum(axis=1)
    smooth = (h[:, None] * h * second[:, z, z]).sum(axis=(1, 2))
    whole = h.sum()
    drift = whole * whole * second[:, 0, 0] - 2 * whole * aim + smooth
    sums = _summed(second, gains)
    push = _summed(sums[:, :, None], gains)[:, 0]
    return {"drift": drift, "aim": aim, "stale": stale, "smooth": smooth, "push": push}


def _moved(second: Array, gains: _Gains) -> Array:
    """E sum over participants of |w - z_i'|^2/eta^2, from before the round."""
    n = len(gains.h)
    lose = 1 - gains.keep
    places = np.arange(1, n + 1)
    w, wz = second[:, :1, 0], second[:, 0, places]
    z = second[:, places, places]
    wn, zn = second[:, 0, places + n], second[:, places, places + n]
    nn = second[:, places + n, places + n]
    square = lose**2 * (w - 2 * wz + z) - 2 * lose * gains.old * (wn - zn)
    square = square + gains.old**2 * nn + gains.fresh
    return np.asarray((gains.inclusion * square).sum(axis=1) / gains.step**2)


def _spread(second: Array, n: int) -> Array:
    """E sum_i (w - z_i)^2."""
    diagonal = np.einsum("sii->si", second)[:, : n + 1]
    cross = second[:, 0, 1 : n + 1].sum(axis=1)
    return np.asarray(n * diagonal[:, 0] - 2 * cross + diagonal[:, 1:].sum(axis=1))
