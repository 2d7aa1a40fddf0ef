"""The text of a page: a heading, what is claimed, the loop, the proof and V."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from inspect import getsource, signature
from textwrap import fill
from types import ModuleType
from typing import Any

from flverify.certify.check._loops import LOOPS
from flverify.certify.check.plain._sums import TooManyError, demand

from . import _arithmetic, _of_values, _proof

WIDTH, DIGITS = 88, 4300  # of a number; Python reads no longer ones
SHOWN = ("rho", "beta", "s", "c", "v", "C0", "C1", "C2")
CLAIM = ("n_clients", "law", "mu", "L", "of", *SHOWN)

HEADING = '''"""A proof that needs nothing but Python 3.10 or newer.

{statement}

Run it: it ends with "proved", or stops before that. To be convinced, read the claim
below, the loop, and the proof. What is at the end needs no trust, if it is nothing but
numbers F(...) and names in quotes: V is any quadratic form in what the server and the
clients hold and in values of the f_i, and nothing false is proved by a wrong one.

The loop treats all entries of a vector alike. So it is played on lists of one entry, a
sum of unknown vectors, for every cohort; each new gradient is a new unknown vector.
Inequalities that hold for all such f_i, times weights, are taken from what must not be
negative; what is left has to be a quadratic form in the unknown vectors that has a
positive semidefinite matrix. The gradients g*_i of f_i at x* are any vectors that add
up to zero; others are measured from them, and values of f_i from the tangent at x*.
"""

from __future__ import annotations
'''

CLAIMED = """
F = Fraction

# Who takes part is drawn anew in every round: "bernoulli" (everybody alone, each with
# a chance), "uniform_cohort" (all cohorts of one size alike) or "all_or_nothing". M
# stands for mean|g*_i|^2, V_0 for V at the start and V+ for V after a round.{meant}"""


ROUNDS = """
# Proved is:
#     E V+ <= rho V - s {what} + c M in every round,
#     {least},
#     V_0 <= {begun}."""
NEAR, GAP = "C1 |x_0 - x*|^2 + C2 M", "C0 (f(x_0) - f(x*)) + C1 |x_0 - x*|^2 + C2 M"
AWAY = ROUNDS.format(
    what="|x - x*|^2",
    least="V >= |x - x*|^2 if s is 0, and V >= 0 if it is not",
    begun=NEAR,
)
MINIMISER = """
# The mean of the f_i is f, and x* a minimiser of f."""
AVERAGED = """
# So the average of E {what} over the first K rounds is at
# most (c/s) M + ({begun})/(s K)."""


def _averaged(what: str) -> str:
    told = ROUNDS.format(what=what, least="V >= 0", begun=GAP)
    return MINIMISER + told + AVERAGED.format(what=what, begun=GAP)


MEANT = {
    "rate": AWAY
    + f"""
# As s = c = 0, for every r: E|x_r - x*|^2 <= rho^r ({NEAR}).""",
    "steady": AWAY
    + f"""
# As s = 0, for every r:
# E|x_r - x*|^2 <= rho^r ({NEAR}) + c/(1 - rho) M.""",
    "neighbourhood": AWAY + AVERAGED.format(what="|x_r - x*|^2", begun=NEAR),
    "gap": _averaged("(f(x) - f(x*))"),
    "gradient": _averaged("|grad f(x)|^2"),
    "condition": MINIMISER
    + ROUNDS.format(
        what="(|grad f(x)|^2 - 2 beta (f(x) - f(x*)))",
        least="V >= v (f(x) - f(x*))",
        begun=GAP,
    )
    + f"""
# So, where the factor of s is not negative at any x, for every r: v E(f(x_r) - f(x*))
# <= rho^r ({GAP}).""",
}

ENDING = """
if __name__ == "__main__":
    {name}(V | CLAIM, partial(start, **START), partial(play, **PLAY)).prove()
    shown = {shown}
    print("proved:", ", ".join(f"{{k}} = {{CLAIM[k]}}" for k in shown if k in CLAIM))
"""


def text(certificate: Mapping[str, Any], numbers: Mapping[str, Any]) -> str:
    """Return the page of a certificate that is accepted."""
    algorithm = certificate["algorithm"]
    loop, _ = LOOPS[algorithm["name"]]
    settings, modules = numbers["settings"], [_proof]
    if numbers.get("of"):
        modules.append(_of_values)
    name = "ProofOfValues" if numbers.get("of") else "Proof"
    parts = [
        HEADING.format(statement=fill(certificate["statement"], WIDTH)),
        *_imports([loop, _arithmetic, *modules]),
        CLAIMED.format(meant=MEANT[_kind(certificate["kind"], numbers)]),
        *_claim(numbers),
        _assigned("START: dict[str, Any]", _own(settings, loop.start)),
        _assigned("PLAY: dict[str, Any]", _own(settings, loop.play)),
        _headed(f"the loop: {algorithm['source']}", _body(loop)),
        _headed("words of the loop", _body(_arithmetic)),
        *(f"\n\n{_body(module)}" for module in modules),
        _headed("V, and weights of inequalities", _form(numbers)),
        ENDING.format(name=name, shown=SHOWN),
    ]
    return "\n".join(parts)


def _kind(kind: str, numbers: Mapping[str, Any]) -> str:
    """Return the kind of what follows, which without s is a bound of every round."""
    if "of" in numbers:
        return str(numbers["of"])
    return "steady" if kind == "neighbourhood" and not numbers["s"] else kind


def _headed(title: str, written: str) -> str:
    return f"\n\n# {'-' * (WIDTH - 3 - len(title))} {title}\n\n\n{written}"


def _imports(modules: Iterable[ModuleType]) -> Iterator[str]:
    """Yield what modules import from the standard library, and `partial`."""
    found = defaultdict(set, {"functools": {"partial"}})
    for node in (node for m in modules for node in ast.parse(getsource(m)).body):
        if isinstance(node, ast.ImportFrom) and not node.level:
            found[str(node.module)] |= {alias.name for alias in node.names}
    del found["__future__"]
    for module in sorted(found):
        yield f"from {module} import {', '.join(sorted(found[module]))}"


def _body(module: ModuleType) -> str:
    """Return a module without its heading, its imports and its `run`."""
    written = getsource(module)
    lines, left_out = written.splitlines(), set()
    for k, node in enumerate(ast.parse(written).body):
        heading = k == 0 or isinstance(node, ast.ImportFrom)
        if heading or (isinstance(node, ast.FunctionDef) and node.name == "run"):
            left_out |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    kept = [line for k, line in enumerate(lines, 1) if k not in left_out]
    return "\n".join(kept).strip("\n")


def _own(settings: Mapping[str, Any], part: Any) -> dict[str, Any]:
    return {k: settings[k] for k in signature(part).parameters if k in settings}


def _claim(numbers: Mapping[str, Any]) -> Iterator[str]:
    yield "CLAIM: dict[str, Any] = {"
    for key in (key for key in CLAIM if key in numbers):
        yield _filled(f"    {key!r}: {_written(numbers[key])},")
    yield "}"


def _form(numbers: Mapping[str, Any]) -> str:
    left = {k: x for k, x in numbers.items() if k not in (*CLAIM, "settings")}
    parts = [_assigned(f"V[{name!r}]", value) for name, value in left.items()]
    return "\n".join(["V: dict[str, Any] = {}", *parts])


def _assigned(name: str, value: Any) -> str:
    return _filled(f"{name} = {_written(value)}")


def _filled(line: str) -> str:
    """Break a line between the entries of lists."""
    further = " " * (len(line) - len(line.lstrip()) + 4)
    return fill(
        line,
        WIDTH,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _written(value: Any) -> str:
    """Write fractions in few signs; a name has no spaces, so that lines break well."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{k!r}: {_written(x)}' for k, x in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Fraction):
        n, d = value.numerator, value.denominator
        few = f"a page has numbers of at most {DIGITS} digits; got a longer one"
        demand(max(abs(n), d) < 10**DIGITS, few, TooManyError)
        return f"F({n})" if d == 1 else f"F({n}, {d})"
    return repr(value)
