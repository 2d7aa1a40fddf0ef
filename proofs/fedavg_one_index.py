"""The index k = r tau + t of (6)-(7), and (8) at full participation (FOCUS paper).

Section 4.1 maps local step t of round r to iteration k = r tau + t. A pull happens at
k = r tau + 1, before the first local step; so the iteration that makes x_{t,i} out of
x_{t-1,i} is k = r tau + t, and its result is the row of y_k^+, for t = 1, ..., tau. For
t = 0, ..., tau - 1 as in (2b) the row of y_k is x_{t,i} at k = r tau + 1 + t.

Conventions: A(S) of Figure 1; D_k on for those who pulled; both are what
`focus.eq6_7.fedavg_one_index` finds to be needed. W(S) is that of (35)-(36).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.any_cohort import ABSENT, OneCohort
from flverify.claims.claim import claim
from flverify.claims.cohorts import sides
from flverify.claims.fedavg_index import named
from flverify.claims.mixing_cases import SOME
from flverify.claims.printed_mixing import virtual
from flverify.claims.verdict import Finding
from flverify.mixing import virtual_matrix

ROWS = {
    "(i) the row of x_k, t = 0, ..., tau - 1": ("x", 0),
    "(ii) the row of y_k, after the pull, t = 0, ..., tau - 1": ("y", 0),
    "(iii) the row of y_k^+, after the local update, t = 1, ..., tau": ("y+", 1),
    "(iv) the row of x_k, t = 1, ..., tau": ("x", 1),
}


@claim(
    "focus.eq6_7.mapping",
    source=Source("focus", "Section 4.1, the index of (6)-(7)"),
    statement=r"S_r \text{ can be determined by the iteration }k,\;r\tau\le k<(r+1)"
    r"\tau;\quad k=r\tau+t",
    proposition="At k = r tau + t the row of a participant i in (6)-(7), A being that "
    "of Figure 1 and D_k on for those who pulled, is the local model x_{t,i} of round "
    "r of (2b), for all cohorts, f_i and step sizes.",
    constants={"offset": 0},
    twin={"offset": 1},
    no_control="which row is meant and where t starts is not printed; the twin, "
    "k = r tau + t + 1, fails under the reading that holds",
)
def mapped(c: SimpleNamespace) -> Finding:
    """Compare rows of the recursion with local models, on formal gradients."""
    found = {name: named(row, c.offset, first) for name, (row, first) in ROWS.items()}
    return judge.readings(found).corrected(
        r"y_{k,i}=x_{t,i}^{(r)},\;y_{k,i}^+=x_{t+1,i}^{(r)}\text{ at }k=r\tau+1+t,\;"
        r"t=0,\dots,\tau-1,\;i\in S_r",
        judge.all_of({"y_k": named("y", 1, 0), "y_k^+": named("y+", 0, 1)}),
    )


WHOLE = "(i) the (N+1) x (N+1) matrix"
CLIENTS = "(ii) its client block"


@claim(
    "focus.eq8.full",
    source=Source("focus", "Section 4.1, sentence after eq. (8)"),
    statement=r"W_k\text{ cannot be a doubly stochastic matrix unless it is a full "
    r"client participation case}",
    proposition="With full participation W(S), of (35)-(36), is doubly stochastic, if "
    "the sentence is taken to say so.",
    constants={"absent": 0},
    twin={"absent": 1},
    no_control="which matrix is meant is not printed; the twin, in which one client "
    "stays away, fails under both readings",
)
def at_full_participation(c: SimpleNamespace) -> Finding:
    """Add up rows and columns for every N; test listed matrices of the package."""
    return judge.readings({WHOLE: _doubly(c.absent, 0), CLIENTS: _doubly(c.absent, 1)})


def _doubly(absent: int, dropped: int) -> Finding:
    """Judge row and column sums, the first `dropped` lines left out."""
    matrix = SOME.matrix(virtual())
    rows, columns = (
        [total.subs(ABSENT, absent) for total in SOME.row_sums(one)]
        for one in (matrix, matrix.T)
    )
    kept = range(dropped, 5 if absent else 3)  # the server, participants, absent ones
    server = matrix[0] if dropped else [0] * 5  # the row of the server is left out
    pairs = [("sum of a row", rows[i], 1) for i in kept]
    pairs += [
        ("sum of a column", sympy.expand(columns[j] - server[j]), 1) for j in kept
    ]
    search = judge.instances(_listed(absent, dropped), "==", "N <= 5")
    return judge.proof_or_search(judge.identity(pairs, "every N"), search)


def _listed(absent: int, dropped: int) -> Iterator[judge.Case]:
    """Yield the sums of rows and columns of W(S), S = {1, ..., N - absent}."""
    for n in range(1 + absent, 6):
        found = virtual_matrix(range(n - absent), n)[dropped:, dropped:]
        again = OneCohort(frozenset(range(1, n - absent + 1)), n).matrix(virtual())
        for kind, axis in (("column", 0), ("row", 1)):
            sums = zip(
                found.sum(axis=axis).tolist(),
                again[dropped:, dropped:].sum(axis=axis).tolist(),
                strict=True,
            )
            for place, (value, second) in enumerate(sums, start=dropped):
                where = {"N": n, "who come": n - absent, f"sum of {kind}": place}
                yield judge.Case(where, value, 1, sides(Fraction(second), 1))
