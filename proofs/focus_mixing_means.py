"""FOCUS, equations (5), (36) and (37): mean mixing matrices under Assumption 1.

The mean of R(S), and with it that of C(S), is built from the inclusion probabilities
p_i, not from the averaging weights q_i of Assumption 1: the two agree only when at
most one client takes part. Read as p_i, the q_i of (5) is right for R(S) and wrong for
A(S), beside which it is printed. The means of A(S) and of the W(S) of (35) are as
printed if A(S) is the matrix of Figure 1 and somebody always takes part.

Conventions: nodes as printed, the server is 0 and the clients are 1 to N. A proof
compares the transcribed formulas cohort by cohort, for all cohorts at once, with
1{i in S} and 1{i in S}/|S| in place of p_i and q_i; both sides being affine in these,
they then agree on average for every law. A search runs over the package's expected
matrices for laws of all cases, with listed outcomes as the recheck.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from flverify import mixing
from flverify._core.sources import Source
from flverify.claims import cohorts, judge, laws
from flverify.claims.any_cohort import Inside, OneCohort
from flverify.claims.claim import claim
from flverify.claims.judge import Case
from flverify.claims.laws import Setting
from flverify.claims.mixing_cases import (
    LAWS,
    NONE,
    PAIR,
    SOME,
    TRIPLE,
    WEIGHTS,
    agree_on_average,
    cohort_pairs,
    entry_cases,
    listed_mean,
    mean_cases,
    some_laws,
    table_of,
)
from flverify.claims.printed_mixing import average, printed_mean, pull, push, virtual
from flverify.claims.verdict import Finding


@claim(
    "focus.eq5.Rbar",
    source=Source("focus", "eq. (5), left"),
    statement=r"\bar R=\mathbb{E}R(S_r)=\begin{bmatrix}1&0&\cdots&0\\"
    r"q_1&1-q_1&\cdots&0\\\vdots&\vdots&\ddots&\vdots\\q_N&0&\cdots&1-q_N"
    r"\end{bmatrix}",
    proposition="For every law of S with p_i in (0, 1] the mean of R(S) is the printed "
    "matrix. The q_i of (5) stands in both of its matrices: with q_i = p_i that of "
    "A(S) is not its mean under every law, which focus.eq5.Abar judges.",
    constants={"weight": "q_i", "chance": "p_i"},
    twin={"chance": "q_i"},
    no_control="whether q_i is the averaging weight of Assumption 1 or the probability "
    "to participate decides; the twin, q_i for p_i, fails under every reading",
    reading_twins={"q_i = p_i": {"chance": "q_i"}},
)
def mean_pull(c: Any) -> Finding:
    """Compare E R(S) with the printed matrix, for each meaning of q_i."""
    case_3a = mean_cases("pull", pull, "1/m", uniform_laws())
    return judge.readings(
        {
            "q_i = E[I_i/|S|]": mean_of_pull(c.weight),
            "q_i = 1/m of Case 3a": judge.instances(case_3a, "==", "Case 3a, N = 2, 3"),
            "q_i = p_i": mean_of_pull(c.chance),
        }
    ).corrected(r"\bar R[i,0]=p_i,\quad \bar R[i,i]=1-p_i", mean_of_pull("p_i"))


def uniform_laws() -> Iterator[Setting]:
    """Laws of Case 3a for two and three clients."""
    for n in (2, 3):
        yield from (s for s in laws.fixed_size(n) if len({*s.shares}) == 1)


def mean_of_pull(weight: str) -> Finding:
    """Judge E R(S) with one weight in the printed matrix."""
    mean = printed_mean("pull", WEIGHTS[weight])
    proof = agree_on_average(pull, mean, (SOME, NONE), "every N and every law of S")
    cases = mean_cases("pull", pull, weight, some_laws())
    return judge.proof_or_search(proof, judge.instances(cases, "==", LAWS))


@claim(
    "focus.eq5.Abar",
    source=Source("focus", "eq. (5), right"),
    statement=r"\bar A=\mathbb{E}A(S_r)=\begin{bmatrix}0&q_1&\cdots&q_N\\"
    r"0&1&\cdots&0\\\vdots&\vdots&\ddots&\vdots\\0&0&\cdots&1\end{bmatrix}",
    proposition="For every law of S with p_i in (0, 1] the mean of A(S) is the printed "
    "matrix, with q_i = E[I_i / sum_j I_j].",
    constants={"weight": "q_i"},
    twin={"weight": "p_i"},
    no_control="depends on which A(S) is meant and on the empty round",
)
def mean_average(c: Any) -> Finding:
    """Compare E A(S) with the printed matrix, reading by reading."""
    drawn = {
        "(ii) A(S) of Figure 1, S never empty": "never",
        "(iii) A(S) of Figure 1, server row 0 for S empty": "zero",
        "(iv) A(S) of Figure 1, server keeps its model for S empty": "keep",
    }
    return judge.readings(
        {
            "(i) A(S) as printed in (4)": mean_of_average(c.weight, "i", "never"),
            **{name: mean_of_average(c.weight, "j", e) for name, e in drawn.items()},
        }
    )


def mean_of_average(weight: str, participant: str, empty: str) -> Finding:
    """Judge E A(S) for one matrix and one treatment of the empty round."""
    never = empty == "never"
    treatment = "zero" if never else empty
    entry = average(participant, treatment)
    mean = printed_mean("aggregation", WEIGHTS[weight])
    kinds = (SOME,) if never else (SOME, NONE)
    scope = f"every N and every law of {'nonempty S' if never else 'S'}"
    proof = agree_on_average(entry, mean, kinds, scope)
    reading = {"i": "printed", "j": "figure1"}[participant]
    cases = mean_cases(
        "aggregation",
        entry,
        weight,
        some_laws(empty=not never),
        reading=reading,
        empty=treatment,
    )
    return judge.proof_or_search(proof, judge.instances(cases, "==", LAWS))


@claim(
    "focus.eq5.Cbar",
    source=Source("focus", "Section 3.1, sentence after eq. (5)"),
    statement=r"\bar C=\mathbb{E}[C(S_r)]=\bar R^{\mathsf T}",
    proposition="For every law of S with p_i in (0, 1] the mean of C(S) is the "
    "transpose of Rbar.",
    constants={"weight": "q_i", "transposed": True},
    twin={"weight": "p_i"},
    no_control="depends on whether Rbar is E R(S) or the matrix printed in (5)",
    reading_twins={"(i) Rbar is E R(S)": {"transposed": False}},
)
def mean_push(c: Any) -> Finding:
    """Compare E C(S) with both meanings of Rbar."""

    def turned(i: int, j: int, inside: Inside, size: Any) -> Any:
        return pull(*((j, i) if c.transposed else (i, j)), inside, size)

    every = "every N and every law of S"
    printed = printed_mean("push", WEIGHTS[c.weight])
    cases = mean_cases("push", push, c.weight, some_laws())
    return judge.readings(
        {
            "(i) Rbar is E R(S)": judge.proof_or_search(
                agree_on_average(push, turned, (SOME, NONE), every),
                judge.instances(turns(transposed=c.transposed), "==", LAWS),
            ),
            "(ii) Rbar is the matrix printed in (5)": judge.proof_or_search(
                agree_on_average(push, printed, (SOME, NONE), every),
                judge.instances(cases, "==", LAWS),
            ),
        }
    )


def turns(*, transposed: bool) -> Iterator[Case]:
    """Every entry of E C(S) against E R(S), transposed or not."""
    axes = (1, 0) if transposed else (0, 1)
    for setting in some_laws():
        yield from entry_cases(
            setting.where,
            mixing.expected_matrix("push", setting.law),
            mixing.expected_matrix("pull", setting.law).transpose(axes),
            listed_mean(push, setting),
            listed_mean(pull, setting).transpose(axes),
        )


@claim(
    "focus.eq36.examples",
    source=Source("focus", "Appendix C.1, eq. (36)"),
    statement=r"W_{\{1,3\}}=\mathbb{1}\,[0,1/2,0,1/2,0],\quad "
    r"W_{\{2,3,4\}}=\mathbb{1}\,[0,0,1/3,1/3,1/3]\quad(N=4);\qquad "
    r"W_{S_r}\text{ has identical rows for any possible subset }S_r",
    proposition="The matrix W(S) of (35), after which every node holds the average of "
    "the participants, is the printed one for both cohorts, and for every nonempty S "
    "its rows are identical and sum to 1.",
    constants={
        "pair": (0, Fraction(1, 2), 0, Fraction(1, 2), 0),
        "triple": (0, 0, Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)),
    },
    twin={"triple": (0, 0, Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))},
    exact=("pair", "triple"),
)
def virtual_examples(c: Any) -> Finding:
    """Compare the examples, and the rows of every cohort."""
    pairs = []
    for name, members, row in (
        ("{1, 3}", PAIR, c.pair),
        ("{2, 3, 4}", TRIPLE, c.triple),
    ):
        rows = np.array([row] * 5, dtype=object)
        averaged = mixing.aggregation_matrix(
            cohorts.zero_based(members), 4, reading="figure1"
        )
        then_pulled = mixing.pull_matrix(range(4), 4) @ averaged
        pairs += [
            (f"W of {name}", OneCohort(members, 4).matrix(virtual()), rows),
            (f"the average of {name}, pulled by all", then_pulled, rows),
        ]
    every = SOME.matrix(virtual())
    same = np.array([every[0]] * 5, dtype=object)
    pairs += [
        ("the rows of any cohort", every, same),
        ("their sums", SOME.row_sums(every), [1] * 5),
    ]
    return judge.identity(pairs, "both examples; every N and every nonempty S")


@claim(
    "focus.eq37.Wbar",
    source=Source("focus", "Appendix C.1, eq. (37) and the sentence after"),
    statement=r"\bar W=\mathbb{E}_{S_r}W(S_r)=\begin{bmatrix}0&q_1&\cdots&q_N\\"
    r"\vdots&\vdots&&\vdots\\0&q_1&\cdots&q_N\end{bmatrix},\quad "
    r"q^{\mathsf T}\mathbb{E}W_{S_r}=q^{\mathsf T}\text{ since }\textstyle\sum_i q_i=1",
    proposition="For every law of S with p_i in (0, 1], every row of E W(S) is "
    "(0, q_1, ..., q_N), and this row is a left eigenvector of E W(S) for 1.",
    constants={"weight": "q_i"},
    twin={"weight": "p_i"},
    no_control="depends on which q_i is meant and on the empty round",
)
def mean_virtual(c: Any) -> Finding:
    """Judge (37) for every meaning of q_i and of an empty round."""

    def drawn() -> Iterator[Setting]:
        for n in (2, 3):
            yield from (s for s in laws.fixed_size(n) if s.shares)

    return judge.readings(
        {
            "(i) q_i = E[I_i/sum I_j], S never empty": mean_of_virtual(
                c.weight, "zero", some_laws(empty=False), never=True
            ),
            "(i), rows 0 for S empty": mean_of_virtual(c.weight, "zero", some_laws()),
            "(i), every node takes the server's model for S empty": mean_of_virtual(
                c.weight, "keep", some_laws()
            ),
            "(ii) q_i the sampling weight of Case 3": judge.instances(
                virtual_cases("sampling", "zero", drawn()), "==", "Case 3, N = 2, 3"
            ),
            "(iii) q_i = 1/m, as Case 3a prints": judge.instances(
                virtual_cases("1/m", "zero", drawn()), "==", "Case 3, N = 2, 3"
            ),
        }
    )


def mean_of_virtual(
    weight: str, empty: str, settings: Iterable[Setting], *, never: bool = False
) -> Finding:
    """Judge (37) with one treatment of the empty round.

    The row is a left eigenvector for 1 if the weights of every cohort sum to 1.
    """
    entry, mean = virtual(empty), printed_mean("virtual", WEIGHTS[weight])
    kinds = (SOME,) if never else (SOME, NONE)
    pairs = cohort_pairs(entry, mean, kinds)
    for kind in kinds:
        sums = kind.row_sums(kind.matrix(mean))
        pairs.append(("sum of the weights of a cohort", sums, [1] * 5))
    scope = f"every N and every law of {'nonempty S' if never else 'S'}"
    search = judge.instances(virtual_cases(weight, empty, settings), "==", LAWS)
    return judge.proof_or_search(judge.identity(pairs, scope), search)


def virtual_cases(
    weight: str, empty: str, settings: Iterable[Setting]
) -> Iterator[Case]:
    """Every entry of E W(S), then of q' E W(S), against the print."""
    for setting in settings:
        yield from mean_cases("virtual", virtual(empty), weight, [setting], empty=empty)
        row = np.append(Fraction(0), table_of(weight, setting, listed=False))
        again = np.append(Fraction(0), table_of(weight, setting, listed=True))
        left = row @ mixing.expected_matrix("virtual", setting.law, empty=empty)
        second = again @ listed_mean(virtual(empty), setting)
        for j, (value, checked) in enumerate(zip(left, second, strict=True)):
            at = {**setting.where, "entry of q' E W(S)": str(j)}
            recheck = cohorts.sides(checked, again[j])
            yield Case(at, value, row[j], recheck)
