"""Steps of the FOCUS paper's proofs, written again: what is given, what is shown.

A bound that is looser than in print, or a line before it that is stronger, leaves every
verdict as it is; here each is compared with a second transcription of the print.
"""

from __future__ import annotations

from functools import cache

import pytest
import sympy

from flverify.claims.registry import claims_in, proofs_folder
from flverify.claims.verdict import Verdict

PL, CONTRACTED = "focus_theorem1_pl", "focus_theorem1_pl_contraction"
CONVEX, BENT = "focus_theorem1_strongly_convex", "focus_theorem1_nonconvex"
CONSENSUS, PARTED = "focus_lemma4_consensus", "focus_lemma4_steps90_91"
DESCENT = "focus_lemma3_steps80_82"
NOISY, NOISY_BENT = "sgfocus_theorem4_collected", "sgfocus_theorem5_steps"
STALE = "(2*L**2*N + 8*eta**2*(tau - 1)**2*L**4*N)"  # of (87), its weights 1
AT_103 = "F_next <= F - eta*cross + eta**2*L*E + eta**2*N**2*L*G"
AT_104 = "-eta*cross <= eta/(2*N)*E - eta*N/2*G"  # (112) is the same
AT_113 = "eta*N/2*(1 - 2*eta*N*L)*G <= F - F_next + "

# file and claim: the part, what it is given, what it shows. With A_r = F(w_r) - F*
# (|w_r - x*|^2 if strongly convex), B_r and C_r = |1 w_r - x|^2, E = |N grad F - S|^2,
# G = |grad F|^2, D = F(w_r) - F*; x = eta beta N or eta mu N, y = eta L^2
STEPS = {
    (PL, "focus.thm1.pl.step105a"): (
        "",
        [AT_103, AT_104],
        "F_next <= F + (eta/(2*N) + eta**2*L)*E - (eta*N/2 - eta**2*N**2*L)*G",
    ),
    (PL, "focus.thm1.pl.step105c"): (
        "",
        ["2*beta*A <= G"],
        "F + eta/N*E - eta*N*G <= F + eta/N*E - eta*beta*N*A - eta*N/2*G",
    ),
    (PL, "focus.thm1.pl.step106"): (
        "",
        [
            "F_next <= F + eta/N*E - eta*beta*N*(F - F_least) - eta*N/2*G",
            "F_least <= F",
        ],
        "F_next - F_least <= (1 - eta*beta*N)*(F - F_least) + eta/N*E - eta*N/2*G",
    ),
    (PL, "focus.thm1.pl.step108"): (
        "coefficient",
        ["q <= 1", "eta*L*N <= 1/4", "eta*(tau - 1)*L*N <= 1/2"],
        f"eta/N*{STALE} <= 4*eta*L**2",
    ),
    (CONTRACTED, "focus.thm1.pl.step110a"): (
        "(i) norms without F are Frobenius norms too",
        [
            "A_next <= (1 - x)*A + 4*y*B - eta*N/2*G",
            "B <= (1 - q/3)*B_before + 16*eta**2*N**2/(3*q)*G",
            "eta*N <= 3*q/32",
            "q <= 1",
        ],
        "A_next + (1 - 4*y)*B <= (1 - x)*A + (1 - q/3)*B_before",
    ),
    (CONTRACTED, "focus.thm1.pl.step110b"): (
        "",
        ["q <= 1", "eta*beta*N*(4 - q) <= q/3"],
        "(1 - q/3)/(1 - eta*beta*N) <= 1 - q/4",
    ),
    (CONTRACTED, "focus.thm1.pl.step110c"): (
        "",
        ["q <= 1", "eta*L**2 <= q/16"],
        "1 - q/4 <= 1 - 4*eta*L**2",
    ),
    (CONVEX, "focus.thm1.sc.step102a"): (
        "",  # rate and weight: 1 - eta mu N/2 and eta L^2 N/mu
        [
            "A_next <= rate*A - drop*D + 8*weight*B",
            "B <= kept*B_before + rise*D",
            "rise <= drop",
            "weight > 0",
        ],
        "A_next + (1 - 8*weight)*B <= rate*A + kept*B_before",
    ),
    (BENT, "focus.thm1.nc.step113"): (
        "",
        [AT_103, AT_104],
        AT_113 + "(eta/(2*N) + eta**2*L)*E",
    ),
    (BENT, "focus.thm1.nc.step114"): (
        "(i) norms without F are Frobenius norms too/substitution",
        [AT_113 + "up*E", "E <= drift*C"],
        AT_113 + "up*drift*C",
    ),
    (BENT, "focus.thm1.nc.step115"): (
        "consensus",
        ["eta*L*N <= 1/4", "eta*L*(tau - 1) <= 1/2"],
        f"(eta/(2*N) + eta**2*L)*{STALE} <= 4*eta*L**2",
    ),
    (CONSENSUS, "focus.lemma4.step94a-b"): (  # n = tau - 1
        "line 2",
        ["q <= 1", "N >= 1"],
        "(1 - q/2)*B_old + 4*eta**2*N*L**2*(2 - q)/q*B + 4*eta**2*N**2*(2 - q)/q*G"
        " + 8*eta**2*n**2*L**2*(2 - q)/q*B <= (1 - q/2)*B_old + 8*eta**2*N*L**2/q*B"
        " + 8*eta**2*N**2/q*G + 16*eta**2*n**2*L**2/q*B",
    ),
    (CONSENSUS, "focus.lemma4.step96a"): (
        "inequality",
        ["q <= 1"],
        "1/(1 + q/2) <= 1 - q/3",
    ),
    (PARTED, "focus.lemma4.step90b"): (  # a, b, e: before, server, moves
        "(i) ||1 ybar||^2 of the N rows/factors",
        ["rho < 1", "N >= 1"],
        "a**2/rho + 2*b**2/(1 - rho) + 2*e**2/(1 - rho)"
        " <= a**2/rho + 2/(1 - rho)*b**2 + 2/(1 - rho)*e**2",
    ),
    (DESCENT, "focus.lemma3.step81b"): (
        "A3",  # gap = F(w_r) - F*, U = |w_r - x*|^2
        ["inner >= gap + mu/2*U"],
        "-2*eta*N*inner <= -2*eta*N*(gap + mu/2*U)",
    ),
    (DESCENT, "focus.lemma3.step81c"): (
        "",
        ["N >= 1"],
        "-2*eta*N*mu/2*U + eta*mu/2*U + 2*eta/mu*D2 <= -eta*mu*N/2*U + 2*eta/mu*D2",
    ),
    (NOISY, "sgfocus.thm4.step135"): (
        "",
        [
            "F_next <= F + eta/N*E - eta*beta*N*(F - F_least) - eta*N/2*G"
            " + eta**2*L*N/2*sigma2",
            "F_least <= F",
        ],
        "F_next - F_least <= (1 - eta*beta*N)*(F - F_least) + eta/N*E - eta*N/2*G"
        " + eta**2*L*N/2*sigma2",
    ),
    (NOISY, "sgfocus.thm4.stepA"): (
        "correction/gradients",
        [
            "eta*N <= q/16",
            "eta*beta*N*(4 - q) <= q/3",
            "eta*L**2 <= q/16",
            "q <= 1",
            "beta <= L",
        ],
        "8*eta**2*N**2/q*G <= eta*N/2*G",
    ),
    (NOISY, "sgfocus.thm4.stepB"): (
        "",
        ["x*(4 - q) <= q/3", "y <= q/16", "q <= 1"],
        "1 - q/3 <= (1 - x)*(1 - 4*y)",
    ),
    (NOISY_BENT, "sgfocus.thm5.step139a"): (
        "",
        [
            "F_next <= F - eta*inner + eta**2*L*E + eta**2*N**2*L*G"
            " + eta**2*L*N/2*sigma2",
            "-eta*inner <= eta/(2*N)*E - eta*N/2*G",
        ],
        AT_113 + "(eta/(2*N) + eta**2*L)*E + eta**2*L*N/2*sigma2",
    ),
    (NOISY_BENT, "sgfocus.thm5.step139c"): (
        "correction/gradient",
        ["eta*L*N <= 1/4", "eta*L*n <= 1/4"],
        "eta*N/4 <= eta*N/2*(1 - 2*eta*N*L)",
    ),
}


def read(text):
    """Return the smaller side and the larger one, without fractions of numbers."""
    kind = next(k for k in (" <= ", " >= ", " < ", " > ") if k in text)
    known = {name: sympy.Symbol(name) for name in ("E", "N", "S", "Q", "beta")}
    sides = [sympy.sympify(side, locals=known) for side in text.split(kind)]
    parts = [sympy.fraction(sympy.cancel(side)) for side in sides]
    least = sympy.ilcm(*(bottom.as_coeff_Mul()[0] for _, bottom in parts))
    both = [sympy.cancel(least * top / bottom) for top, bottom in parts]
    return tuple(both if "<" in kind else reversed(both))


@cache
def claims(path):
    return claims_in([path])


def part(path, step):
    """Verdict of the part, the lines that it is given and the one that it shows."""
    found = claims(path)[step[1]].check()
    for key in filter(None, STEPS[step][0].split("/")):
        mended = found.correction and {"correction": found.correction.finding}
        found = {**found.readings, **found.parts, **(mended or {})}[key]
    given = {*map(read, found.evidence.get("given", []))}
    return found.verdict, given, read(found.evidence["shown"])


def printed(step):
    _, given, shown = STEPS[step]
    return {*map(read, given)}, read(shown)


def file_of(step):
    return proofs_folder() / f"{step[0]}.py"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_a_step_is_given_and_shows_what_is_printed(step):
    assert part(file_of(step), step) == (Verdict.PROVED, *printed(step))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("step", "right", "wrong"),
    [
        ("focus.thm1.pl.step110a", "right = (1 - X) * A", "right = (2 - X) * A"),
        ("focus.thm1.pl.step110a", "(1 - q / 3) * B_before", "(2 - q / 3) * B_before"),
        ("focus.thm1.pl.step110a", "/ (3 * q) * G", "/ (3 / q) * G"),  # a given line
        ("focus.thm1.nc.step114", "return eta * N / 2 *", "return eta * N * 2 *"),
        ("focus.lemma4.step94a-b", "[q <= 1, N >= 1]", "[q <= 1, N <= 1]"),
        ("focus.lemma4.step90b", "2 * b**2 / (1 - rho)", "2 * b**2 / 1"),
        ("sgfocus.thm4.stepA", '"cap": "1/16"}))', '"cap": "1/17"}))'),
    ],
)
def test_a_change_that_no_verdict_shows_is_noticed(tmp_path, step, right, wrong):
    (step,) = (key for key in STEPS if key[1] == step)
    code = file_of(step).read_text(encoding="utf-8")
    assert code.count(right) == 1
    planted = tmp_path / "planted.py"
    planted.write_text(code.replace(right, wrong), encoding="utf-8")
    verdict, *lines = part(planted, step)
    assert verdict == Verdict.PROVED
    assert tuple(lines) != printed(step)
