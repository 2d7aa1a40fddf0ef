"""What pages say, and that they are programs of what they say."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from fractions import Fraction
from functools import partial
from inspect import signature
from random import Random
from types import SimpleNamespace

import pytest

from flverify.algorithms import Focus, GradientDescent
from flverify.certify.check import Rejected
from flverify.certify.check._loops import LOOPS
from flverify.certify.check.page import _arithmetic, _proof, numbers, page
from flverify.certify.check.page._text import _body, _imports, text
from flverify.certify.check.plain import TooManyError
from flverify.certify.rates import certify
from flverify.participation import Bernoulli
from tests.certify import test_page
from tests.certify.test_plain_check import certificate


def ran(program, tmp_path):
    """Run a program as somebody would who has Python alone."""
    path = tmp_path / "proof.py"
    path.write_text(program, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["focus", "fedavg_neighbourhood", "notebook"])
def test_a_page_needs_nothing_but_python(name, tmp_path):
    program = page(certificate(name))
    told = ran(program, tmp_path)
    assert told.returncode == 0, told.stderr
    rho = Fraction(certificate(name)["rho"])
    assert told.stdout.startswith(f"proved: rho = {rho}, s = ")
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom):
            assert node.module.partition(".")[0] in sys.stdlib_module_names
        assert not isinstance(node, ast.Import)
    assert certificate(name)["algorithm"]["source"] in program
    stated = " ".join(program.split('"""')[1].split())
    assert certificate(name)["statement"] in stated
    assert max(map(len, program.splitlines())) <= 88


VALUES = {
    ("average", "fedavg"): (
        "C1 = ",
        "So the average of E (f(x) - f(x*)) over the first K rounds is at most (c/s) M "
        "+ (C0 (f(x_0) - f(x*)) + C1 |x_0 - x*|^2 + C2 M)/(s K).",
    ),
    ("average", "focus, smooth"): (
        "C0 = ",
        "So the average of E |grad f(x)|^2 over the first K rounds is at most (c/s) M "
        "+ (C0 (f(x_0) - f(x*)) + C1 |x_0 - x*|^2 + C2 M)/(s K).",
    ),
    ("gap", "descent"): (
        "beta = 1/10, s = ",
        "for every r: v E(f(x_r) - f(x*)) <= rho^r (C0 (f(x_0) - f(x*)) + "
        "C1 |x_0 - x*|^2 + C2 M).",
    ),
}


@pytest.mark.parametrize(("kind", "name"), VALUES)
def test_a_page_of_values_says_what_it_proves(kind, name, tmp_path):
    found = test_page.of_values(kind, name)
    done = ran(page(found), tmp_path)
    assert done.returncode == 0, done.stderr
    rho = Fraction(found["rho"])
    assert done.stdout.startswith(f"proved: rho = {rho}, ")
    shown, meant = VALUES[kind, name]
    assert shown in done.stdout
    assert said(found).endswith(meant)
    assert max(map(len, page(found).splitlines())) <= 88


def test_a_page_is_of_what_is_accepted_and_of_few_clients():
    with pytest.raises(Rejected, match="the digest must match"):
        page({**certificate("focus"), "rho": "9/10"})
    with pytest.raises(TooManyError, match="at most 6 clients; got 8"):
        page(certificate("eight"))
    with pytest.raises(TooManyError, match="at most 6 clients; got 1000"):
        page(certificate("thousand"))


def test_a_page_has_no_number_that_python_does_not_read():
    ok, long = Fraction(1, 10**4299), Fraction(1, 10**4300)
    c = certificate("focus")
    for fits in (ok, -1 / ok):
        assert ast.parse(text(c, numbers(c) | {"V": {"model": {"model": fits}}}))
    for longer in (long, -1 / long):
        with pytest.raises(TooManyError, match="at most 4300 digits; got a longer one"):
            text(c, numbers(c) | {"V": {"model": {"model": longer}}})


def test_a_page_has_short_lines_where_clients_are_six(tmp_path):
    law = Bernoulli([f"1/{k}" for k in (10, 10, 30, 30, 50, 50)])
    program = page(certify(GradientDescent("1/20"), law, "1/10", 1).certificate)
    assert max(map(len, program.splitlines())) <= 88
    assert ran(program, tmp_path).stdout.startswith("proved: ")


def loops(name, folder):
    """The loop of the checkers, and what a page makes of it."""
    loop, path = LOOPS[name][0], folder / "loop.py"
    imports = _imports([loop, _arithmetic, _proof])
    first = ["from __future__ import annotations", *imports]
    path.write_text("\n".join([*first, _body(loop), _body(_arithmetic)]))
    return loop, SimpleNamespace(**runpy.run_path(str(path)))


SETTINGS = {
    "fedavg": [{"aggregation": "all"}, {"server_step_size": Fraction(1, 2)}],
    "feddyn": [{"proximal_weight": Fraction(2, 3)}],
    "fedprox": [{"proximal_weight": Fraction(2, 3)}],
    "fedvarp": [{}, {"empty_round": "step"}],
    "focus": [{}, {"initial_gradients": "start", "initial_tracker": "sum"}],
    "gradient_descent": [{}],
    "mifa": [{}, {"initial_table": "zero", "empty_round": "skip"}],
    "proxskip": [{"variant": "notebook"}, {"probability": Fraction(1, 3)}],
    "scaffold": [{"option": "I"}, {"option": "II"}],
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_of_a_page_is_that_of_the_checkers(name, tmp_path):
    for given in SETTINGS[name]:
        many = (
            {}
            if name == "gradient_descent" or "probability" in given
            else {"local_steps": 3}
        )
        settings = given | many | {"step_size": Fraction(1, 7)}
        ends = [played(loop, settings, Random(name)) for loop in loops(name, tmp_path)]
        assert ends[0] == ends[1]


def played(loop, settings, draw):
    """All states of four clients for some rounds, on vectors of two fractions."""
    slopes = [Fraction(draw.randint(1, 9), 5) for _ in range(4)]
    x0 = [Fraction(draw.randint(-9, 9)) for _ in "ab"]

    def gradient(i, x):
        return [slopes[i] * (x[0] - i), slopes[i] * x[1] + x[0]]

    start, play = (
        partial(f, **{k: settings[k] for k in signature(f).parameters if k in settings})
        for f in (loop.start, loop.play)
    )
    states = [start(gradient, 4, x0)]
    for cohort in ([2, 0], [], [3], [0, 1, 2, 3], [1], [], [3, 2, 1]):
        states.append(play(states[-1], gradient, 4, cohort))
    return states


# -------------------------------------------------------------- what is not proved

STRONGER = {
    "rho": ("'rho': F(", "'rho': F(97, 100) * F("),
    "C1": ("'C1': F(", "'C1': F(1, 2) * F("),
    "C2": ("'C2': F(", "'C2': F(1, 2) * F("),
    "convexity": ("'mu': F(1, 10)", "'mu': F(1, 50)"),
    "smoothness": ("'L': F(1)", "'L': F(3, 2)"),
    "law": ("[F(1, 2), F(1, 2)]", "[F(1, 2), F(1, 5)]"),
    "step size": ("'step_size': F(1, 5)", "'step_size': F(2, 5)"),
    "clients": ("'n_clients': 2", "'n_clients': 3"),
    "a line of the loop": ("y = plus(y, participants", "y = plus(x, participants"),
    "an empty round": ("'empty_round': 'step'", "'empty_round': 'skip'"),
    "a setting": ("'empty_round': 'step'", "'empty_round': 'stop'"),
    "a chance": ("[F(1, 2), F(1, 2)]", "[F(3, 2), F(1, 2)]"),
    "fewer chances": ("[F(1, 2), F(1, 2)]", "[F(1, 2)]"),
    "more chances": ("[F(1, 2), F(1, 2)]", "[F(1, 2), F(1, 2), F(0)]"),
    "a law of another name": ("'kind': 'bernoulli'", "'kind': 'uniform'"),
}


@pytest.mark.parametrize("what", STRONGER)
def test_a_page_of_something_else_stops(what, tmp_path):
    program = page(certificate("focus"))
    assert program.count(STRONGER[what][0]) == 1
    told = ran(program.replace(*STRONGER[what]), tmp_path)
    assert (told.returncode, told.stdout) != (0, "")
    assert told.returncode == 1
    assert "proved:" not in told.stdout


def test_what_is_at_the_end_does_not_change_the_claim(tmp_path):
    program = page(certificate("focus"))
    head = program.partition("'rho': ")[2].partition(",\n")[0]
    assert head == "F(918113, 1000000)"
    lied = program.replace(f"'rho': {head}", "'rho': F(9, 10)")
    lied = lied.replace("\nif __name__", f"\nV['rho'] = {head}\n\nif __name__")
    assert lied.count(head) == 1
    told = ran(lied, tmp_path)
    assert told.stderr.startswith("not proved: decrease: ")
    assert told.stdout == ""


def said(certificate):
    """The comment of a page above its claim."""
    lines = page(certificate).partition("F = Fraction\n")[2].splitlines()
    return " ".join(line.lstrip("# ") for line in lines[: lines.index(CLAIM)])


CLAIM = "CLAIM: dict[str, Any] = {"
SAYS = {
    "focus": "As s = c = 0, for every r: E|x_r - x*|^2 <= rho^r "
    "(C1 |x_0 - x*|^2 + C2 M).",
    "drift": "As s = 0, for every r: E|x_r - x*|^2 <= rho^r "
    "(C1 |x_0 - x*|^2 + C2 M) + c/(1 - rho) M.",
    "fedavg_neighbourhood": "So the average of E |x_r - x*|^2 over the first K rounds "
    "is at most (c/s) M + (C1 |x_0 - x*|^2 + C2 M)/(s K).",
}


@pytest.mark.parametrize("name", SAYS)
def test_a_page_says_what_its_constants_prove(name):
    told = said(certificate(name))
    assert told.endswith(SAYS[name])
    assert "drawn anew in every round" in told
    for part in (
        "E V+ <= rho V - s |x - x*|^2 + c M in every round,",
        "V >= |x - x*|^2 if s is 0, and V >= 0 if it is not,",
        "V_0 <= C1 |x_0 - x*|^2 + C2 M.",
    ):
        assert part in told
    written = numbers(certificate(name))
    assert (written["s"] == 0) == SAYS[name].startswith("As s")
    assert (written["c"] == 0) == ("c = 0" in SAYS[name])


def test_a_page_does_not_depend_on_who_asks():
    law = Bernoulli(["1/2", "1/3"])
    first, second = (certify(Focus("1/5"), law, "1/10", 1) for _ in "ab")
    assert page(first.certificate) == page(second.certificate)
