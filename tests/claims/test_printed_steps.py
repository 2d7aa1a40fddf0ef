"""Steps of the proofs, written again from the print: what is given, what is shown.

A bound that is looser than in print, or a line before it that is stronger, leaves every
verdict as it is; here each is compared with a second transcription.
"""

from __future__ import annotations

from functools import cache

import pytest
import sympy

from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict

PL, CONTRACTED = "focus_theorem1_pl", "focus_theorem1_pl_contraction"
CONVEX, BENT = "focus_theorem1_strongly_convex", "focus_theorem1_nonconvex"
STALE = "(2*L**2*N + 8*eta**2*(tau - 1)**2*L**4*N)"  # of (87), its weights 1
AT_103 = "F_next <= F - eta*cross + eta**2*L*E + eta**2*N**2*L*G"
AT_104 = "-eta*cross <= eta/(2*N)*E - eta*N/2*G"  # (112) is the same
AT_113 = "eta*N/2*(1 - 2*eta*N*L)*G <= F - F_next + "

# file and claim: the part, what it is given, what it shows. With A_r = F(w_r) - F*
# (|w_r - x*|^2 if strongly convex), B_r and C_r = |1 w_r - x|^2, E = |N grad F - S|^2,
# G = |grad F|^2, D = F(w_r) - F*; x = eta beta N or eta mu N, y = eta L^2
STEPS = {
    (PL, "pl.step105a"): (
        "",
        [AT_103, AT_104],
        "F_next <= F + (eta/(2*N) + eta**2*L)*E - (eta*N/2 - eta**2*N**2*L)*G",
    ),
    (PL, "pl.step105c"): (
        "",
        ["2*beta*A <= G"],
        "F + eta/N*E - eta*N*G <= F + eta/N*E - eta*beta*N*A - eta*N/2*G",
    ),
    (PL, "pl.step106"): (
        "",
        [
            "F_next <= F + eta/N*E - eta*beta*N*(F - F_least) - eta*N/2*G",
            "F_least <= F",
        ],
        "F_next - F_least <= (1 - eta*beta*N)*(F - F_least) + eta/N*E - eta*N/2*G",
    ),
    (PL, "pl.step108"): (
        "coefficient",
        ["q <= 1", "eta*L*N <= 1/4", "eta*(tau - 1)*L*N <= 1/2"],
        f"eta/N*{STALE} <= 4*eta*L**2",
    ),
    (CONTRACTED, "pl.step110a"): (
        "(i) norms without F are Frobenius norms too",
        [
            "A_next <= (1 - x)*A + 4*y*B - eta*N/2*G",
            "B <= (1 - q/3)*B_before + 16*eta**2*N**2/(3*q)*G",
            "eta*N <= 3*q/32",
            "q <= 1",
        ],
        "A_next + (1 - 4*y)*B <= (1 - x)*A + (1 - q/3)*B_before",
    ),
    (CONTRACTED, "pl.step110b"): (
        "",
        ["q <= 1", "eta*beta*N*(4 - q) <= q/3"],
        "(1 - q/3)/(1 - eta*beta*N) <= 1 - q/4",
    ),
    (CONTRACTED, "pl.step110c"): (
        "",
        ["q <= 1", "eta*L**2 <= q/16"],
        "1 - q/4 <= 1 - 4*eta*L**2",
    ),
    (CONVEX, "sc.step102a"): (  # weight and rate: eta L^2 N/mu and 1 - eta mu N/2
        "",
        [
            "A_next <= rate*A - drop*D + 8*weight*B",
            "B <= kept*B_before + rise*D",
            "rise <= drop",
            "weight > 0",
        ],
        "A_next + (1 - 8*weight)*B <= rate*A + kept*B_before",
    ),
    (BENT, "nc.step113"): (
        "",
        [AT_103, AT_104],
        AT_113 + "(eta/(2*N) + eta**2*L)*E",
    ),
    (BENT, "nc.step114"): (
        "(i) norms without F are Frobenius norms too/substitution",
        [AT_113 + "up*E", "E <= drift*C"],
        AT_113 + "up*drift*C",
    ),
    (BENT, "nc.step115"): (
        "consensus",
        ["eta*L*N <= 1/4", "eta*L*(tau - 1) <= 1/2"],
        f"(eta/(2*N) + eta**2*L)*{STALE} <= 4*eta*L**2",
    ),
}


def read(text):
    """Difference of the two sides, at least 0, or above it."""
    kind = next(k for k in (" <= ", " >= ", " > ") if k in text)
    sides = text.split(kind)
    known = {name: sympy.Symbol(name) for name in ("E", "N", "S", "Q", "beta")}
    left, right = (sympy.sympify(side, locals=known) for side in sides)
    return sympy.cancel(right - left if kind == " <= " else left - right)


@cache
def part(file, name, path):
    """What a part of a claim is given and shows, as texts."""
    claims = vars(load_file(proofs_folder() / f"{file}.py")).values()
    (claim,) = (v for v in claims if getattr(v, "id", "") == f"focus.thm1.{name}")
    found = claim.check()
    for key in filter(None, path.split("/")):
        found = {**found.readings, **found.parts}[key]
    return found.evidence.get("given", []), found.evidence["shown"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_a_step_is_given_and_shows_what_is_printed(step):
    path, given, shown = STEPS[step]
    had, reached = part(*step, path)
    assert {*map(read, had)} == {*map(read, given)}
    assert read(reached) == read(shown)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("right = (1 - X) * A", "right = (2 - X) * A"),  # a looser bound
        ("(1 - q / 3) * B_before", "(2 - q / 3) * B_before"),
        ("/ (3 * q) * G", "/ (3 / q) * G"),  # a line before that is stronger
    ],
)
def test_a_change_that_no_verdict_shows_is_noticed(tmp_path, right, wrong):
    code = (proofs_folder() / f"{CONTRACTED}.py").read_text(encoding="utf-8")
    assert code.count(right) == 1
    planted = tmp_path / "planted.py"
    planted.write_text(code.replace(right, wrong), encoding="utf-8")
    path, given, shown = STEPS[CONTRACTED, "pl.step110a"]
    found = load_file(planted).added.check().readings[path]
    assert found.verdict == Verdict.PROVED
    had = found.evidence["given"]
    kept = {*map(read, had)} == {*map(read, given)}
    assert not (kept and read(found.evidence["shown"]) == read(shown))
