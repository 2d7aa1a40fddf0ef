"""`flverify certify FILE.py:CLASS`: a method of one's own, with its loop."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tests.certify import momentum

FILE = Path(momentum.__file__)
HERE = ("--n-clients", 2, "--law", "bernoulli:1/2", "--mu", "1/10", "--smoothness", 1)
ASKED = (*HERE, "--step-size", "1/2")
OWN = (f"{FILE}:Momentum", "--loop", FILE)
B = ("--set", "momentum=1/4")


def test_a_certificate_is_written_and_checked(run, tmp_path):
    place = tmp_path / "own.json"
    done = run("certify", *OWN, *ASKED, *B, "--out", place)
    assert done.code == 0
    assert "own:Momentum with step_size = 1/2, momentum = 1/4, local_steps" in (
        " ".join(done.stdout.split())
    )
    assert run("check", place, "--loop", FILE).code == 0


@pytest.mark.parametrize("command", ["certify", "average"])
@pytest.mark.parametrize("name", ["loop.py", "method.py"])
def test_neither_method_nor_loop_is_written_over(fails, tmp_path, command, name):
    method, loop = tmp_path / "method.py", tmp_path / "loop.py"
    for place in (method, loop):
        place.write_bytes(FILE.read_bytes())
    asked = HERE if command == "certify" else (*HERE[:4], *HERE[6:])
    own = (f"{method}:Momentum", "--loop", loop, *asked, "--step-size", "1/2", *B)
    said = fails(command, *own, "--out", tmp_path / name)
    assert "--out must name another file than" in said
    assert (tmp_path / name).read_bytes() == FILE.read_bytes()


def test_its_json_has_the_settings(run):
    found = run("certify", *OWN, *ASKED, *B, "--json").json
    assert found["status"] == "certified"
    assert found["setting"]["algorithm"] == "own:Momentum"
    assert found["setting"]["settings"]["local_steps"] == 1
    assert Fraction(found["lower_bound"]) < Fraction(found["rate"])


def test_a_rate_below_quadratics_is_not_certified(run):
    done = run("certify", *OWN, *ASKED, *B, "--rate", "1/2", "--local-steps", 2)
    assert done.code == 1
    assert "lies below what the class allows" in " ".join(done.stdout.split())


def written(folder, text):
    place = folder / "method.py"
    place.write_text(text, encoding="utf-8")
    return place


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((OWN[0], *ASKED, *B), "--loop must name the plain loop of"),
        (("focus", "--loop", FILE, *ASKED), "--loop must come with a method of one's"),
        ((*OWN[:2], "none.py", *ASKED, *B), "loop must be a file of Python"),
        ((f"{FILE}:Nothing", *OWN[1:], *ASKED), "has no such 'Nothing'"),
        ((f"{FILE}:Moving", *OWN[1:], *ASKED), "has no such 'Moving'"),
        (("none.py:Mine", *OWN[1:], *ASKED), "in a file that can be read; got none.py"),
        ((*OWN, *ASKED, "--set", "speed=1"), "which has step_size, momentum, local_"),
        ((*OWN, *ASKED, *B, *B), "each setting of Momentum once, as NAME=VALUE; got"),
        ((*OWN, *ASKED, "--set", "step_size=1"), "got 'step_size=1'; leave out what"),
        ((*OWN, *ASKED, "--set", "focus.momentum=1"), "got 'focus.momentum=1'; leave"),
        ((*OWN, *ASKED), "Momentum must be made of its settings; it ends in TypeError"),
        ((*OWN, *ASKED, "--set", "momentum"), "--set must be NAME=VALUE"),
        ((*OWN, *ASKED, "--set", "local_steps=x"), "local_steps"),
        ((f"{FILE}", *OWN[1:], *ASKED, *B), "a certificate must be for one of"),
    ],
    ids=range(14),
)
def test_what_is_wrong_is_one_sentence(fails, arguments, message):
    assert message in fails("certify", *arguments)


@pytest.mark.parametrize("text", ["1/0", "import no_such_module", "def ("])
def test_a_file_that_does_not_run_is_told(fails, tmp_path, text):
    place = written(tmp_path, text)
    said = fails("certify", f"{place}:Mine", "--loop", FILE, *ASKED)
    assert "a method must be in a file that runs" in said


def test_an_error_of_a_method_has_no_full_stop_inside_the_sentence(fails, tmp_path):
    stops = "    def __post_init__(self):\n        raise ValueError('no.')\n\n"
    text = FILE.read_text("utf-8").replace("    State =", f"{stops}    State =")
    place = written(tmp_path, text)
    said = fails("certify", f"{place}:Momentum", *OWN[1:], *ASKED, *B)
    assert "ends in ValueError: no; give what is missing" in said


def test_an_error_of_a_file_has_one_full_stop(fails, tmp_path):
    place = written(tmp_path, "raise ValueError('no.')")
    said = fails("certify", f"{place}:Mine", "--loop", FILE, *ASKED)
    assert said.rstrip().endswith("ValueError: no.")
