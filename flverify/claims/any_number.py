"""Sums over any number of clients or nodes, term by term or by one term more.

A coordinate x of the model and a symbol for all others stand for every dimension: what
is differentiated along x does not see how many others there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import sympy

from flverify.claims import judge
from flverify.claims.mixing_cases import NONE, SOME
from flverify.claims.printed_mixing import push
from flverify.claims.verdict import Finding

Loss: TypeAlias = Callable[[Sequence[Any]], Any]
CLIENTS = "every N, every d, every differentiable f_i"
NODES = "every number of nodes"
N = sympy.Symbol("N", positive=True)
x, others = sympy.symbols("x others", real=True)
TOTAL, MORE = sympy.symbols("S f", cls=sympy.Function)  # of N clients, of one more
HERE = (x, others)


def with_symbols(pairs: Iterable[judge.Pair]) -> Iterator[judge.Pair]:
    """Write symbols for functions and their derivatives, so that sides have values."""
    for label, left, right in pairs:
        sides = [s if isinstance(s, list) else [s] for s in (left, right)]
        entries = [sympy.sympify(v) for side in sides for v in side]
        for kind in (sympy.Derivative, sympy.core.function.AppliedUndef):
            atoms = sorted({a for v in entries for a in v.atoms(kind)}, key=str)
            name = kind.__name__[0]
            put = {a: sympy.Symbol(f"{name}{i}") for i, a in enumerate(atoms)}
            entries = [v.xreplace(put) for v in entries]
        yield label, entries[: len(sides[0])], entries[len(sides[0]) :]


def rows_add_up(f_0: int, factor: int) -> Finding:
    """Judge 1' grad f(1 x) = `factor` N grad F(x), by one client and by one more.

    The server's f_0 is `f_0` times the sum of coordinates.

    Examples
    --------
    >>> rows_add_up(0, 1).verdict.name, rows_add_up(1, 1).verdict.name
    ('PROVED', 'REFUTED')
    """
    total, more = TOTAL(*HERE), MORE(*HERE)
    server = sympy.diff(f_0 * (x + others), x)
    held = factor * N * sympy.diff(total / N, x)  # rows of N clients, and the server's
    added = factor * (N + 1) * sympy.diff((total + more) / (N + 1), x)
    first = ("N = 1", server + sympy.diff(more, x), factor * sympy.diff(more, x))
    step = ("one client more", held + sympy.diff(more, x), added)
    return _by_one_more(first, step, "sum of rows")


def means_of_gradients(factor: int) -> Finding:
    """Judge grad F against gradients of samples, F being `factor` times the mean loss.

    A term is a chance, its client's, times a sample's loss.

    Examples
    --------
    >>> means_of_gradients(1).verdict.name, means_of_gradients(2).verdict.name
    ('PROVED', 'REFUTED')
    """
    chance, total, loss = sympy.Symbol("v"), TOTAL(*HERE), MORE(*HERE)
    slope = chance * sympy.diff(loss, x)
    held = factor * sympy.diff(total, x)  # the weighted sum of gradients so far
    added = factor * sympy.diff(total + chance * loss, x)
    first = ("one sample", factor * sympy.diff(chance * loss / N, x), slope / N)
    step = ("one sample more", (held + slope) / N, added / N)
    return judge.all_of(
        {
            "gradient": _by_one_more(first, step, "the mean of sample gradients"),
            "(28)": rows_add_up(0, factor),
            "(9)": judge.identity(
                with_symbols([("F", factor * total / N, total / N)]), CLIENTS
            ),
        },
        scope=f"{CLIENTS}, any number of samples per client, any probabilities",
        argument="each is a sum over clients and their samples",
    )


def _by_one_more(first: judge.Pair, step: judge.Pair, what: str) -> Finding:
    return judge.induction(
        judge.identity(with_symbols([first]), CLIENTS),
        judge.identity(with_symbols([step]), CLIENTS),
        CLIENTS,
        f"{what} of N clients, of whom S is the sum of losses; f is of one more",
    )


def unmoved_by_the_server(f_0: int) -> Finding:
    """Judge a stacked gradient's server row, F with f_0, and the server in (33).

    Examples
    --------
    >>> unmoved_by_the_server(0).verdict.name, unmoved_by_the_server(1).verdict.name
    ('PROVED', 'REFUTED')
    """
    eta, total = sympy.Symbol("eta"), TOTAL(*HERE)
    value = f_0 * (x + others)
    row = sympy.diff(value, x)
    pairs = [
        ("server row", row, 0),
        ("F with f_0", (value + total) / N, total / N),
        ("server in (33)", x - eta * row, x),
    ]
    return judge.identity(with_symbols(pairs), CLIENTS)


def sums_kept(row_sum: int, column_sum: int) -> Finding:
    """Judge what a matrix of such sums does to consensus, to 0 and to a sum of y.

    `entry` is one entry of a row or a column; all others complete its sum.

    Examples
    --------
    >>> sums_kept(1, 1).verdict.name, sums_kept(2, 1).verdict.name
    ('PROVED', 'REFUTED')
    """
    entry, z, y, now, ahead = sympy.symbols("entry z y now ahead")
    change = y + ahead - now
    pairs = [
        ("a row, at consensus", entry * z + (row_sum - entry) * z, z),
        ("a term of a row, y = 0", entry * (0 + now - now), 0),
        (
            "a column: what a node adds to the sum",
            entry * change + (column_sum - entry) * change - y,
            ahead - now,
        ),
    ]
    return judge.identity(pairs, NODES)


def tracked(column_sum: int, y_0: int, factor: int = 1) -> Finding:
    """Judge that the sum of y stays `factor` times that of the gradients.

    For any matrix of such column sums, and for C(S) times `column_sum`.

    Examples
    --------
    >>> tracked(1, 1).verdict.name, tracked(2, 1).verdict.name
    ('PROVED', 'REFUTED')
    """
    entry, change, start = sympy.symbols("entry change start")
    total, ahead = sympy.symbols("total ahead")
    pairs: list[judge.Pair] = [
        ("y_0, a node", y_0 * start, factor * start),
        (
            "a column: what a node adds to the sum",
            entry * change + (column_sum - entry) * change,
            change,
        ),
        # the sum of y_k is `total`, that of the gradients at x_k
        ("sums over nodes", total + ahead - total, factor * ahead),
    ]
    for name, every in (("S not empty", SOME), ("S empty", NONE)):
        sums: list[Any] = [column_sum * v for v in every.row_sums(every.matrix(push).T)]
        pairs.append((f"{name}: columns of C(S)", sums, [1] * len(sums)))
    return judge.identity(pairs, NODES)


def stack_pairs(n: int, dim: int, f_0: int) -> list[judge.Pair]:
    """Compare a stack of N + 1 gradients in d coordinates with (1), (28) and (33)."""
    point = sympy.symbols(f"x1:{dim + 1}")
    rows = [sympy.symbols(f"x{i}_1:{dim + 1}") for i in range(n + 1)]
    clients = [_loss(f"f{i}") for i in range(1, n + 1)]
    every: list[Loss] = [lambda at: f_0 * sum(at), *clients]
    gradient = [_gradient(f, row) for f, row in zip(every, rows, strict=True)]
    together = [_gradient(f, point) for f in every]
    mean = sum(f(point) for f in clients) / n
    moved = [
        x - sympy.Symbol("eta") * g for x, g in zip(rows[0], gradient[0], strict=True)
    ]
    label = f"N = {n}, d = {dim}"
    return [
        (f"{label}: server row", gradient[0], [0] * dim),
        (f"{label}: shape", [len(gradient), len(gradient[0])], [n + 1, dim]),
        (f"{label}: F with f_0", sum(f(point) for f in every) / n, mean),
        (
            f"{label}: (28)",
            [sum(column) for column in zip(*together, strict=True)],
            [n * sympy.diff(mean, x) for x in point],
        ),
        (f"{label}: server in (33)", moved, list(rows[0])),
    ]


def _loss(name: str) -> Loss:
    function: Any = sympy.Function(name)
    return lambda at: function(*at)


def _gradient(function: Callable[[Any], Any], at: Sequence[Any]) -> list[Any]:
    value = sympy.sympify(function(at))
    return [sympy.diff(value, x) for x in at]
