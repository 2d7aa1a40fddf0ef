"""numba kernels of the extra `fast`: gather, combine and scatter around BLAS.

They compute what `_clients` and `_affine` compute in numpy, in one pass over memory
per client. Imported only when asked for, since compiling takes a second or two.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from flverify._core.exact import Array

import_module("scipy.linalg")  # loads the BLAS that numba calls, so it can be pinned
F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile without the interpreter's lock; products and sums may fuse."""
    compiled = njit(cache=True, nogil=True, fastmath={"contract"})(function)
    return cast("F", compiled)


@kernel
def participants(mask: Array, index: Array) -> int:
    """Write the rows in which a client takes part; return how many."""
    n = 0
    for row in range(len(mask)):  # no branch: a coin flip would be mispredicted
        index[n] = row
        n += mask[row]
    return n


@kernel
def gather(source: Array, index: Array, n: int, out: Array) -> None:
    """Copy rows."""
    for j in range(n):
        row = index[j]
        for k in range(source.shape[1]):
            out[j, k] = source[row, k]


@kernel
def scatter(
    sent: Array, index: Array, n: int, shift: Array, weights: Array, out: Array
) -> None:
    """Add weight (sent + shift) to every row of a client."""
    for j in range(n):
        row = index[j]
        weight = weights[row]
        for k in range(out.shape[1]):
            out[row, k] += weight * (sent[j, k] + shift[k])


@kernel
def add_maps(
    mask: Array,
    weights: Array,
    x: Array,
    matrices: Array,
    shifts: Array,
    out: Array,
    gathered: Array,
    sent: Array,
) -> None:
    """Add sum over S of weight (x M_i + shift_i) to out."""
    index = np.empty(len(x), dtype=np.int64)
    for client in range(len(matrices)):
        total = participants(mask[client], index)
        parts = -(-total // len(sent))
        for p in range(parts):
            part = index[total * p // parts : total * (p + 1) // parts]
            n = len(part)
            gather(x, part, n, gathered)
            np.dot(gathered[:n], matrices[client], sent[:n])
            scatter(sent, part, n, shifts[client], weights, out)


@kernel
def form(
    index: Array,
    n: int,
    step_of_row: Array,
    coefficients: Array,
    pulled: Array,
    own: Array,
    t: int,
    out: Array,
) -> None:
    """Form output t of one client, row by row, from its pulled vectors and own slots.

    coefficients (steps, outputs, 1 + P + C, d), pulled (P, rows, d), own (C, rows, d).
    Indexed in full: a view per row would cost as much as the row.
    """
    pulls, dim = len(pulled), out.shape[1]
    for j in range(n):
        row = index[j]
        s = step_of_row[row]
        for k in range(dim):
            out[j, k] = coefficients[s, t, 0, k]
        for q in range(pulls):
            for k in range(dim):
                out[j, k] += coefficients[s, t, 1 + q, k] * pulled[q, j, k]
        for c in range(len(own)):
            for k in range(dim):
                out[j, k] += coefficients[s, t, 1 + pulls + c, k] * own[c, row, k]


@kernel
def form_of_two(
    index: Array,
    n: int,
    step_of_row: Array,
    coefficients: Array,
    pulled: Array,
    own: Array,
    t: int,
    out: Array,
) -> None:
    """Do the same in one pass, for one pulled vector and one own slot."""
    for j in range(n):
        row = index[j]
        s = step_of_row[row]
        for k in range(out.shape[1]):
            here = coefficients[s, t, 1, k] * pulled[0, j, k]
            stored = coefficients[s, t, 2, k] * own[0, row, k]
            out[j, k] = coefficients[s, t, 0, k] + here + stored


@kernel
def spread(source: Array, index: Array, n: int, out: Array) -> None:
    """Copy rows back."""
    for j in range(n):
        row = index[j]
        for k in range(source.shape[1]):
            out[row, k] = source[j, k]


@kernel
def combine(
    index: Array,
    n: int,
    step_of_row: Array,
    coefficients: Array,
    pulled: Array,
    own: Array,
    target: Array,
    formed: Array,
) -> None:
    """Form every output of one client, then renew its slots."""
    messages = len(formed) - len(target)
    for t in range(len(formed)):
        if len(pulled) == 1 and len(own) == 1:
            form_of_two(index, n, step_of_row, coefficients, pulled, own, t, formed[t])
        else:
            form(index, n, step_of_row, coefficients, pulled, own, t, formed[t])
    for u in range(len(target)):
        spread(formed[messages + u], index, n, own[target[u]])


@kernel
def run_errand(
    mask: Array,
    weights: Array,
    message_of_sum: Array,
    server: Array,
    own: Array,
    target: Array,
    vectors: Array,
    back: Array,
    coefficients: Array,
    step_of_row: Array,
    sums: Array,
    pulled: Array,
    formed: Array,
    spare: Array,
) -> None:
    """Let every client act once: pull, combine, keep the new slots, send.

    mask (N, rows), weights (sums, rows), server (P, rows, d), own (N, C, rows, d),
    target: own slot of each output after the messages, coefficients (steps, N,
    outputs, 1 + P + C, d), sums (sums, rows, d), formed (outputs, rows, d).
    """
    index = np.empty(mask.shape[1], dtype=np.int64)
    still = np.zeros(vectors.shape[1])
    for client in range(len(mask)):
        total = participants(mask[client], index)
        parts = -(-total // len(spare))
        for p in range(parts):
            part = index[total * p // parts : total * (p + 1) // parts]
            n = len(part)
            for q in range(len(server)):
                gather(server[q], part, n, spare)
                np.dot(spare[:n], vectors[client], pulled[q, :n])
            table, slots = coefficients[:, client], own[client]
            combine(part, n, step_of_row, table, pulled, slots, target, formed)
            for m in range(len(formed) - len(target)):
                np.dot(formed[m, :n], back[client], spare[:n])
                for s in range(len(sums)):
                    if message_of_sum[s] == m:
                        scatter(spare, part, n, still, weights[s], sums[s])
