"""Scripts of what is refuted: they run alone, are short, and notice a changed number.

Claims have one, and so has every refuted reading of a claim that is open.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from contextlib import redirect_stdout
from fractions import Fraction
from io import StringIO

import pytest
import sympy

from flverify.claims import counterexamples, judge, ledger
from flverify.claims.audit import audit
from flverify.claims.registry import claims_in, proofs_folder, shipped_claims

LEDGER = proofs_folder() / "ledger.toml"
FOLDER = counterexamples.folder(LEDGER)
SCRIPTS = sorted(FOLDER.glob("*.py"))
LONG = {"sgfocus.thm5"}  # it plays for seconds
ALONE = [
    pytest.param(
        path, id=path.stem, marks=pytest.mark.slow if path.stem in LONG else ()
    )
    for path in SCRIPTS
]
ALLOWED = {"fractions", "itertools", "math"}


def run(text):
    command = [sys.executable, "-I", "-c", text]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def fails(text):
    """Whether a script fails, in this process: hundreds of planted ones are tried."""
    try:
        with redirect_stdout(StringIO()):
            exec(compile(text, "planted", "exec"), {})  # noqa: S102
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
        return True
    return False


def numbers(text):
    """Where the integers stand, but for the sides that the audit has found."""
    start = text.index("Fraction as F\n")
    end = text.index("assert (left, right) ==")
    found = re.finditer(r"(?<![\w.])\d+(?![\w.])", text)
    return [m.span() for m in found if start < m.start() < end]


def instance(text):
    """Where those of the stored instance stand; everything if there is none."""
    begin, end = text.find("at = {"), text.find("}\n")
    spans = numbers(text)
    return [s for s in spans if begin < s[0] < end] if begin >= 0 else spans


def planted(text, span):
    """The script with one number larger by one."""
    begin, end = span
    return f"{text[:begin]}{int(text[begin:end]) + 1}{text[end:]}"


COUNTS = re.compile(r'^(N|n|tau|R|T|H|m) = F\("([^"]*)"\)$', re.MULTILINE)  # n: tau - 1


def test_clients_steps_and_rounds_are_whole_numbers():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in SCRIPTS}
    found = {key: COUNTS.findall(text) for key, text in texts.items()}
    assert sum(len(rows) for rows in found.values()) >= 25
    broken = {k: rows for k, rows in found.items() if any("/" in v for _, v in rows)}
    assert broken == {}
    assert COUNTS.findall('n = F("63/32")\n') == [("n", "63/32")]


def stored(key):
    """eta, L = mu = beta, N, q and tau - 1 of a script's equal clients."""
    text = (FOLDER / f"{key}.py").read_text(encoding="utf-8")
    at = ast.literal_eval(text[text.index("at = ") + 5 : text.index("}\n") + 1])
    h = at["h"] if isinstance(at["h"], list) else [at["h"].split(" x ")[-1]]
    assert len({*h}) == 1
    n = at.get("N", len(h))
    q = Fraction(at.get("q_min", Fraction(1, n)))
    return Fraction(at["step size"]), Fraction(h[0]), n, q, at["tau"] - 1


@pytest.mark.parametrize("key", ["focus.thm1.sc", "focus.thm1.init"])
def test_what_refutes_theorem_1_convex_is_inside_the_caps_of_its_proof(key):
    eta, L, n, q, moves = stored(key)
    assert eta <= 2 * q / (3 * n * (8 * L + L / 2))  # at (102)
    assert (8 * L * eta * moves) ** 2 <= q**3  # Lemma 4


def test_what_refutes_theorem_1_pl_is_inside_the_caps_of_its_proof():
    eta, L, n, q, moves = stored("focus.thm1.pl")
    assert L * n * eta * max(4, 2 * moves) <= 1  # at (105)
    assert (8 * L * eta * moves) ** 2 <= q**3  # Lemma 4


def test_what_refutes_theorem_4_is_inside_the_caps_of_its_proof():
    eta, L, n, q, moves = stored("sgfocus.thm4")
    assert L * n * eta * max(4, 2 * moves) <= 1  # before (135)
    assert eta <= 3 * q / (32 * n)  # before (136)


@pytest.mark.parametrize("key", ["sgfocus.thm5", "sgfocus.thm5.step140"])
def test_what_refutes_theorem_5_has_a_bound_that_is_positive(key):
    eta, L, n, q, moves = stored(key)
    assert n > 8 * L**2
    assert 96 * (eta * L) ** 2 * n <= q**3
    assert 128 * (eta * L * moves) ** 2 <= q**3
    assert eta * L * max(n, moves) <= Fraction(1, 4)
    assert 32 * (eta * n) ** 2 <= 9  # the cap of (140)


def test_what_refutes_the_display_after_135_is_inside_the_caps_around_it():
    text = (FOLDER / "sgfocus.thm4.step136.py").read_text(encoding="utf-8")
    given = re.findall(r'^(\w+) = F\("([^"]*)"\)$', text, re.MULTILINE)
    at = {name: Fraction(value) for name, value in given}
    eta, L, n = at["eta"], at["L"], at["N"]
    assert L * n * eta * max(4, 2 * at["n"]) <= 1
    assert eta <= 3 * at["q"] / (32 * n)


# the paper sets tau = 1 in what it says of Theorem 2, and Lemma 3 has readings of it
SINGLE_STEPS = ("focus.lemma2", "focus.lemma3", "focus.thm2")


@pytest.mark.slow
def test_what_refutes_a_bound_of_local_steps_has_some_of_them():
    """At tau = 1 caps such as 1/(L (tau-1)) are void, or ask for tau >= 2."""
    statements = {
        key: one.statement
        for key, one in shipped_claims().items()
        if key.startswith("focus.") and not key.startswith(SINGLE_STEPS)
    }
    texts = {path.stem: path.read_text(encoding="utf-8") for path in SCRIPTS}
    capped = {
        name: "'tau': 1," in text
        for name, text in texts.items()
        if r"(\tau-1)}" in statements.get(name.split(".reading")[0], "")
        and "'tau': " in text
    }
    assert {"focus.lemma4", "focus.thm1.sc", "focus.thm1.nc.reading1"} <= {*capped}
    assert [name for name, single in capped.items() if single] == []
    assert "'tau': 2," in texts["focus.thm1.init"]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("path", ALONE)
def test_a_script_is_short_alone_and_confirms_its_counterexample(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= counterexamples.LONGEST
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, ast.Import)
        if isinstance(node, ast.ImportFrom):
            assert node.module in ALLOWED
    done = run(text)
    assert done.returncode == 0, done.stderr
    assert "fails" in done.stdout or "is not" in done.stdout or "below" in done.stdout
    long = re.findall(r"-?[\d/]{41,}", done.stdout)
    told = re.search(r", about (\S+) and (\S+)\n", done.stdout)
    assert (told is not None) == bool(long)
    for side in map(Fraction, long):  # is near one of the two decimals
        errors = [abs(side - Fraction(near)) for near in told.groups()]
        assert min(errors) <= abs(side) / 10**5


@pytest.mark.one_in(3)
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_planted_number_makes_a_script_fail(path):
    # a number of the instance may be idle, all of them are not
    text = path.read_text(encoding="utf-8")
    assert not fails(text)
    assert any(fails(planted(text, span)) for span in instance(text))


def refuted_keys(entries):
    """Name the refuted claims of a ledger, and the refuted readings of open ones."""
    for key, entry in entries.items():
        if entry["verdict"] == "REFUTED":
            yield key
            continue
        for place, verdict in enumerate(entry.get("readings", {}).values(), 1):
            if verdict == "REFUTED":
                yield f"{key}.reading{place}"


def test_the_scripts_are_of_all_that_is_refuted_and_of_nothing_else():
    entries = ledger.read(LEDGER)
    refuted = {*refuted_keys(entries)}
    assert {path.stem for path in SCRIPTS} == refuted
    assert sum(".reading" in key for key in refuted) > 90


def test_what_is_refuted_is_named():
    read = {"x": "PROVED", "y": "REFUTED"}
    entries = {
        "a": {"verdict": "REFUTED", "readings": {"x": "REFUTED"}},
        "b": {"verdict": "PROVED"},
        "c": {"verdict": "INCONCLUSIVE", "readings": read},
    }
    assert [*refuted_keys(entries)] == ["a", "c.reading2"]


def test_every_body_is_of_something_that_is_refuted():
    written = {*counterexamples.bodies(FOLDER / counterexamples.BODIES)}
    assert written <= {*refuted_keys(ledger.read(LEDGER))}


CLAIMS = """
import sympy
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim

x, lam = sympy.Symbol("x", positive=True), sympy.Symbol("B_{r-1}", nonnegative=True)
HERE = dict(source=Source("flverify", "example"), statement="", proposition="p",
            no_control="an example")

@claim("demo.implied", **HERE)
def implied(c):
    return judge.implied([x >= lam, x <= sympy.Rational(1, 2)], x**2 <= lam**2, "all")

@claim("demo.identity", **HERE)
def identity(c):
    return judge.identity([("square", (x + lam)**2, x**2 + lam**2)], "all")

@claim("demo.sign", **HERE)
def sign(c):
    return judge.nonnegative([("gap", x**2 - x)], "all")

@claim("demo.root", **HERE)
def root(c):
    return judge.identity([("root", sympy.sqrt(4 * x**2), 3 * x)], "all")

@claim("demo.open", **HERE)
def open_(c):
    one = judge.Case({"x": "3"}, 9, 8, recheck=lambda: (9, 8))
    return judge.readings({
        "holds": judge.identity([("x", x, x)], "all"),
        'as "printed"': judge.implied([x >= lam], x**2 <= lam**2, "all"),
        "less": judge.instances([one], "<=", "one number"),
    })

@claim("demo.case", **HERE)
def case(c):
    one = judge.Case({"x": "3"}, 9, 8, recheck=lambda: (9, 8))
    return judge.instances([one], "<=", "one number")
"""


@pytest.fixture
def judged(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CLAIMS, encoding="utf-8")
    return {one.claim.id: one for one in audit(claims_in([path]).values())}


@pytest.mark.parametrize("kind", ["implied", "identity", "sign", "root"])
def test_expressions_become_arithmetic(judged, kind):
    (one,) = counterexamples.refuted(judged[f"demo.{kind}"])
    assert (one.key, one.claim) == (f"demo.{kind}",) * 2
    text = counterexamples.script(one, {})
    assert run(text).returncode == 0, text
    assert any(fails(planted(text, span)) for span in numbers(text))


@pytest.mark.parametrize("name", ["left", "right", "root", "max", "isqrt", "print"])
def test_a_symbol_may_have_any_name(name):
    one = sympy.Symbol(name, positive=True)
    side = sympy.sqrt(one**2 + 2 * one + 1) + sympy.Max(one, 1)
    found = judge.identity([("it", side, sympy.Abs(one - 1))], "all")
    text = counterexamples.script(as_refuted(found), {})
    assert run(text).returncode == 0, text


def test_what_would_not_run_is_not_written():
    x = sympy.Symbol("x", positive=True)
    rooted = judge.implied([x >= 2, x <= 3], sympy.sqrt(x) >= 2, "all")
    assert rooted.verdict == "REFUTED"
    assert counterexamples.script(as_refuted(rooted), {}) is None
    alike = sympy.symbols("x' x*", positive=True)  # both would be v_x_
    found = judge.identity([("one", *alike)], "all")
    assert counterexamples.script(as_refuted(found), {}) is None


@pytest.mark.parametrize(
    ("names", "written"),
    [("a b", True), ("a+b a-b", False), ("\u00b5 \u03bc", False)],  # micro, mu
)
def test_no_script_takes_two_symbols_for_one(names, written):
    one, other = sympy.symbols(names, positive=True)
    found = judge.implied([one >= 1], other <= 5, "all")
    assert found.verdict == "REFUTED"
    assert (counterexamples.script(as_refuted(found), {}) is not None) is written


def as_refuted(finding):
    return counterexamples.Refuted("demo", "demo", "an example", finding.evidence)


def test_a_case_needs_a_body_and_the_body_is_checked(judged):
    (one,) = counterexamples.refuted(judged["demo.case"])
    assert counterexamples.script(one, {}) is None
    body = 'left, right = F(at["x"]) ** 2, F(8)'
    text = counterexamples.script(one, {"demo.case": body})
    assert run(text).returncode == 0, text
    assert run(text.replace("'x': '3'", "'x': '4'")).returncode != 0
    wrong = counterexamples.script(one, {"demo.case": body.replace("8", "7")})
    assert run(wrong).returncode != 0
    long = counterexamples.script(one, {"demo.case": f"{body}\n" * 30})
    assert long is None


def test_a_reading_has_a_script_of_its_own(judged):
    found = [*counterexamples.refuted(judged["demo.open"])]
    assert [one.key for one in found] == ["demo.open.reading2", "demo.open.reading3"]
    text = counterexamples.script(found[0], {})
    assert "read as 'as 'printed''" in text
    assert run(text).returncode == 0, text
    body = 'left, right = F(at["x"]) ** 2, F(8)'
    for key in ("demo.open.reading3", "demo.open"):
        text = counterexamples.script(found[1], {key: body})
        assert run(text).returncode == 0, text
    wrong = {"demo.open": body, "demo.open.reading3": body.replace("8", "7")}
    assert run(counterexamples.script(found[1], wrong)).returncode != 0


BODIES = """
[begins]
first = "a = 1\\n"
[kinds.one]
begins = "first"
claims = ["x"]
body = "c"
[kinds.one.read]
"y" = "b = 2"
"""


def test_a_line_says_how_a_body_is_read(tmp_path):
    path = tmp_path / "bodies.toml"
    path.write_text(BODIES, encoding="utf-8")
    found = counterexamples.bodies(path)
    assert found == {"x": "a = 1\nc", "y": "a = 1\nb = 2\nc"}


def test_scripts_are_written_and_removed(judged, tmp_path):
    book = tmp_path / "ledger.toml"
    assert counterexamples.renew(judged.values(), book) == []  # no folder
    folder = counterexamples.folder(book)
    folder.mkdir()
    missing = ["demo.open.reading3", "demo.case"]
    assert counterexamples.renew(judged.values(), book) == missing
    assert (folder / "demo.sign.py").is_file()
    assert (folder / "demo.open.reading2.py").is_file()
    mended = judge.identity([("one", Fraction(1), 1)], "one")
    changed = [_with(judged[f"demo.{k}"], mended) for k in ("sign", "open")]
    counterexamples.renew(changed, book)
    assert not (folder / "demo.sign.py").exists()
    assert not (folder / "demo.open.reading2.py").exists()
    assert (folder / "demo.root.py").is_file()


def _with(one, finding):
    return type(one)(one.claim, finding, None, 0.0)
