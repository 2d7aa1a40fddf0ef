"""Problems of a user's own: what they say of themselves must agree, before it is used.

The package's problems are held to this, and to more, by its tests.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, InputError, ShapeError
from flverify._core.exact import Array, is_exact, objects
from flverify._core.places import is_own
from flverify._core.shown import shown
from flverify.engines.own_rounds import failing
from flverify.problems._problem import Problem

MOST_CLIENTS = 1000  # whose gradients are added up
LEFT = 1e-5  # of the size of the gradients, at a minimiser that was computed
NEAR = 1e-3  # a computed minimiser at 0 is less: its own size says no scale
# how far off the minimiser gradients are looked at, in units of 1, then of the
# minimiser: kinks are at rounder numbers, and where a barrier ends the domain, the
# nearer ones are inside
DISTANCES = (0.8112, 0.0507, 0.0032)
WIDTH = 1e-4  # half of a difference of values, over the distance
SAME = 1e-9  # of a gradient: what two calls may differ by, where sums are in any order
SHORT = (np.float16, np.float32)  # kinds of gradients of which less is known
DESCENT = 12  # steps, each half as long as it is to the minimiser; of many clients one
APART = 1e-3  # of a slope: what a difference of values may differ from it by


def require_consistent(problem: Problem) -> None:
    """Check a problem of another module than those of the package.

    Raises
    ------
    InputError
        If its sizes, its gradients, its values and its minimiser do not agree.

    Examples
    --------
    >>> from flverify.problems import Quadratics
    >>> require_consistent(Quadratics([[[1]]], [[2]]))
    """
    name = type(problem).__name__
    if not is_own(problem) or not hasattr(problem, "minimiser"):
        return
    for size in ("n_clients", "dim"):
        whole(getattr(problem, size, None), f"{size} of {name}")
    with failing(f"minimiser of {name}"):
        best = np.asarray(problem.minimiser(), dtype=np.float64)
    if best.shape != (problem.dim,):
        raise ShapeError(
            f"minimiser() of {name} must have the shape ({problem.dim},); got "
            f"{best.shape}; mend it."
        )
    if not np.isfinite(best).all():
        raise DomainError(
            f"minimiser() of {name} must be finite numbers; got "
            f"{shown(best.tolist())}; mend it."
        )
    if problem.n_clients <= MOST_CLIENTS:
        away = _inside(problem, best)
        _require_minimiser(problem, best, away, name)
        _require_values(problem, best, away, name)
        _require_quadratic(problem, best, away, name)
        _require_least(problem, best, away, name)


def require_start(problem: Problem, start: Array) -> None:
    """Check that an own problem has gradients where a run starts.

    Raises
    ------
    InputError
        If one of them is no finite number there.

    Examples
    --------
    >>> from flverify.problems import Quadratics
    >>> require_start(Quadratics([[[1]], [[2]]], [[0], [2]]), np.zeros(1))
    """
    name = type(problem).__name__
    if not is_own(problem) or problem.n_clients > MOST_CLIENTS:
        return
    at = np.asarray(start, dtype=np.float64)[None]
    with failing(f"gradient of {name}"), np.errstate(all="ignore"):
        found = [problem.client_gradients(i, at)[0] for i in range(problem.n_clients)]
    if not np.isfinite(np.array(found, dtype=np.float64)).all():
        raise DomainError(
            f"the gradients of {name} must be finite numbers where runs start; got "
            f"{shown(np.array(found).tolist())} at {at[0].tolist()}; start elsewhere."
        )


def _inside(problem: Any, best: Array) -> float:
    """Return the first distance at which all gradients and values are numbers."""
    units = [1.0, size] if (size := float(np.abs(best).max())) else [1.0]
    for away in (unit * one for unit in units for one in DISTANCES):
        try:
            if _are_numbers(problem, best, away):
                return away
        except Exception:  # noqa: BLE001, S112 - own code, whose domain may end before
            continue
    return DISTANCES[0]


def _are_numbers(problem: Any, best: Array, away: float) -> bool:
    places = np.stack([best + away, best + away * _way(problem)])
    with np.errstate(all="ignore"):
        for client in range(problem.n_clients):
            found = problem.client_gradients(client, places).astype(float)
            with suppress(NotImplementedError):
                ahead = places[1] + away * WIDTH * _aside(problem)
                found = np.append(found, problem.value(client, ahead))
            if not np.isfinite(found).all():
                return False
    return True


def _way(problem: Any) -> Array:
    way = np.sqrt(np.arange(2.0, problem.dim + 2))
    return np.asarray(way / np.linalg.norm(way))


def _aside(problem: Any) -> Array:
    """Return another direction, in every two coordinates."""
    way = 1 / _way(problem)
    way[1::2] *= -1
    return np.asarray(way / np.linalg.norm(way))


def _require_minimiser(problem: Any, best: Array, away: float, name: str) -> None:
    """Compare the mean gradient with those of clients, and with their slopes."""
    size = max(float(np.abs(best).max()), NEAR)
    steps = away * np.array([1.0, min(1.0, size)])
    around = np.stack([best, *(best + step for step in steps)])
    clients = range(problem.n_clients)
    with failing(f"gradient of {name}"):
        given = np.stack([problem.client_gradients(i, around) for i in clients])
        again = problem.client_gradients(0, around)
    found = given.astype(float)
    least = SAME * np.nanmax(np.abs(found[0]), initial=0.0)
    if not np.allclose(again.astype(float), found[0], SAME, least, equal_nan=True):
        raise DomainError(
            f"gradient of {name} must be a pure function of the client and the point; "
            "two calls with the same ones differ; draw and count nothing in it."
        )
    if not np.isfinite(found[:, 0]).all():
        raise DomainError(
            f"the gradients of {name} must be finite numbers at its minimiser(); got "
            f"{shown(given[:, 0].tolist())} at {best.tolist()}; mend one of them."
        )
    left = np.abs(found[:, 0].mean(axis=0)).max()
    slopes = np.abs(found[:, 1:] - found[:, :1]).max(axis=(0, 2)) / steps
    if left > LEFT * max(np.abs(found[:, 0]).max(), size * slopes.max()):
        raise DomainError(
            f"the gradients of {name} must have the mean 0 at its minimiser(); got one "
            f"of size {left:.3g} at {best.tolist()}; mend one of them."
        )


def _require_values(problem: Any, best: Array, away: float, name: str) -> None:
    """Compare differences of values with gradients, at one place off the minimiser.

    Not along the way there, where H x looks like a gradient if H is not symmetric, too.
    """
    way, width = _aside(problem), away * WIDTH
    here = best + away * _way(problem)
    for client in range(problem.n_clients):
        gradient = problem.client_gradients(client, here[None])[0].astype(float)
        high = _value(problem, client, here + width * way, name)
        low = _value(problem, client, here - width * way, name)
        found, told = (high - low) / (2 * width), float(gradient @ way)
        rounding = 8 * np.finfo(float).eps * max(abs(high), abs(low)) / width
        if abs(found - told) > APART * np.abs([found, *gradient]).max() + rounding:
            raise DomainError(
                f"gradient({client}, x) of {name} must be the gradient of "
                f"value({client}, x); at x = {here.tolist()} the slope of the value is "
                f"{found:.6g}, that of the gradient {told:.6g}; mend one of them."
            )


def _require_quadratic(problem: Any, best: Array, away: float, name: str) -> None:
    """Compare gradients with hessians and linear: moments read these alone."""
    if not hasattr(problem, "hessians"):
        return
    for what in ("hessians", "linear"):
        _require_numbers(problem, what, f"{what} of {name}")
    places = np.stack([best, best + away * _way(problem), best - away * _way(problem)])
    with suppress(AttributeError, IndexError, TypeError, ValueError):
        curved = np.asarray(problem.hessians, dtype=np.float64)
        linear = np.asarray(problem.linear, dtype=np.float64)
        due = np.einsum("nij,pj->npi", curved, places) - linear[:, None]
        sizes = np.einsum("nij,pj->npi", np.abs(curved), np.abs(places))
        sizes += np.abs(linear)[:, None]
        with failing(f"gradient of {name}"):
            clients = range(problem.n_clients)
            found = np.array([problem.client_gradients(i, places) for i in clients])
        close = LEFT if found.dtype in SHORT else SAME
        if (np.abs(found.astype(float) - due) <= close * sizes).all() and (
            not problem.exact or _agrees_exactly(problem)
        ):
            return
    raise DomainError(
        f"hessians and linear of {name} must be those of its gradients, H x - b, since "
        "a problem with hessians is taken for a quadratic one; they are not; mend or "
        "rename them."
    )


def _require_numbers(problem: Any, what: str, name: str) -> None:
    """Check that data are arrays that engines read, and rational if they are exact."""
    data = getattr(problem, what, None)
    if data is None or callable(data):  # which are no data, as is said elsewhere
        return
    if not isinstance(data, np.ndarray) or data.dtype not in (np.float64, object):
        got = data.dtype if isinstance(data, np.ndarray) else type(data).__name__
        raise InputError(
            f"{name} must be a numpy array of float64, or of Fractions with the dtype "
            f"object; got {got}; write np.array(..., dtype=float)."
        )
    floats = [v for v in data.flat if isinstance(v, float)]
    if problem.exact and floats:
        raise DomainError(
            f"{name} must be rationals, since its exact is True; got "
            f"{float(floats[0])}; give Fractions, or let exact be False."
        )


def _agrees_exactly(problem: Any) -> bool:
    """Compare gradients with hessians and linear at a rational point, if they can be.

    An exact problem is answered for in rationals, so that what is nearly right is not.
    """
    place = objects(Fraction(k + 3, k + 7) for k in range(problem.dim))
    clients = range(problem.n_clients)
    try:
        found = [problem.client_gradients(i, place[None])[0] for i in clients]
    except Exception:  # noqa: BLE001 - own code, which may take floats alone
        return True
    pairs = zip(found, problem.hessians, problem.linear, strict=True)
    return all(
        bool(np.all(gradient == hessian @ place - linear))
        for gradient, hessian, linear in pairs
        if all(map(is_exact, gradient.tolist()))
    )


def _require_least(problem: Any, best: Array, away: float, name: str) -> None:
    """Check that the minimiser is no maximum, nor a saddle: steps leave one downhill.

    A minimiser that was computed may be less than others by what was left to do.
    """
    (least, size), place = _mean_value(problem, best, name), best + away * _way(problem)
    beside = _mean_value(problem, place, name)[0]
    for _ in range(min(DESCENT, MOST_CLIENTS // problem.n_clients)):
        value, other = _mean_value(problem, place, name)
        rounding = 8 * np.finfo(float).eps * (size + other)
        if value < least - max(APART * abs(beside - least), rounding):
            raise DomainError(
                f"minimiser() of {name} must be where the mean of the values is least; "
                f"it is {least:.6g} at {best.tolist()} and {value:.6g} at "
                f"{place.tolist()}; mend one of them."
            )
        slope = _mean_gradient(problem, place, name)
        steep = float(np.linalg.norm(slope))
        if not 0 < steep < math.inf:
            return
        place = place - slope * (float(np.linalg.norm(place - best)) / (2 * steep))


def _mean_gradient(problem: Any, place: Array, name: str) -> Array:
    """Return the mean of the gradients; infinite beyond their domain."""
    try:
        with failing(f"gradient of {name}"), np.errstate(all="ignore"):
            clients = range(problem.n_clients)
            found = [problem.client_gradients(i, place[None])[0] for i in clients]
    except InputError:
        return np.full(len(place), np.inf)
    return np.asarray(np.mean(np.array(found, dtype=np.float64), axis=0))


def _mean_value(problem: Any, place: Array, name: str) -> tuple[float, float]:
    """Return the mean of the values and of their sizes; nan beyond their domain."""
    try:
        with np.errstate(all="ignore"):
            values = [_value(problem, i, place, name) for i in range(problem.n_clients)]
    except InputError:
        return math.nan, math.nan
    return float(np.mean(values)), float(np.mean(np.abs(values)))


def _value(problem: Any, client: int, point: Array, name: str) -> float:
    """Return a value; nan, which nothing is compared with, if there is none yet."""
    with failing(f"value of {name}"):
        try:
            return float(np.asarray(problem.value(client, point), float).item())
        except NotImplementedError:
            return float("nan")
