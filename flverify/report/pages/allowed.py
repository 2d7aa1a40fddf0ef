"""Which LaTeX may be set as mathematics: listed commands, everything closed.

Only commands listed here are let through, so that no statement can reach a file or
change a document; whatever is not understood is shown as its source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


COMMANDS = _words(
    # letters
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa "
    "lambda mu nu xi pi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta "
    "Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell nabla partial infty emptyset "
    "hbar Re Im "
    # relations and arrows
    "le leq ge geq ne neq equiv approx sim simeq cong propto ll gg prec preceq succ "
    "succeq in notin ni subset subseteq supset supseteq mid parallel perp to gets "
    "mapsto rightarrow leftarrow Rightarrow Leftarrow Leftrightarrow implies iff "
    "longrightarrow Longrightarrow forall exists neg lnot land lor not "
    # operations and functions
    "sum prod int bigcup bigcap bigoplus cup cap setminus times cdot otimes oplus "
    "odot ast star circ pm mp wedge vee min max inf sup lim limsup liminf log ln exp "
    "sin cos tan det dim ker gcd Pr arg bmod pmod operatorname "
    # shapes
    "frac tfrac dfrac binom sqrt bar hat tilde vec dot ddot check overline underline "
    "widehat widetilde underbrace overbrace underset overset stackrel substack "
    "begin end left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr "
    "langle rangle lfloor rfloor lceil rceil lvert rvert lVert rVert vert Vert "
    # alphabets and text
    "mathbb mathbf mathcal mathfrak mathrm mathsf mathit mathtt boldsymbol text "
    "textstyle displaystyle rm "
    # spaces and dots
    "quad qquad dots ldots cdots vdots ddots prime"
)
ENVIRONMENTS = _words("cases matrix pmatrix bmatrix vmatrix aligned array")

_PLAIN = re.compile(r"[\x20-\x7e\n]*")
_FORBIDDEN = re.compile(r"[$%#~\"]|```|\^\^")
_ENVIRONMENT = re.compile(r"\\(begin|end)\{(\w*)\}")


def allowed(latex: str) -> bool:
    """Whether all commands and characters are known and all pairs are closed."""
    if not latex.strip() or not _PLAIN.fullmatch(latex) or _FORBIDDEN.search(latex):
        return False
    commands = re.findall(r"\\([a-zA-Z]+)", latex.replace(r"\\", " "))
    if not COMMANDS.issuperset(commands):
        return False
    if commands.count("left") != commands.count("right"):
        return False
    environments = _ENVIRONMENT.findall(latex)
    if not ENVIRONMENTS.issuperset(name for _, name in environments):
        return False
    if not environments and re.search(r"\\\\|&", latex):
        return False
    return _closed(latex) and _paired(environments)


def _closed(latex: str) -> bool:
    depth = 0
    for mark in re.findall(r"\\.|[{}]", latex, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0:
            return False
    return depth == 0


def _paired(environments: Sequence[tuple[str, str]]) -> bool:
    waiting: list[str] = []
    for kind, name in environments:
        if kind == "begin":
            waiting.append(name)
        elif not waiting or waiting.pop() != name:
            return False
    return not waiting
