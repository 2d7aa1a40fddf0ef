"""`flverify check --loop`: a certificate of a method of one's own, and its loop."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from flverify.algorithms import Focus
from flverify.certify.certificate import digest
from flverify.certify.classes import classes
from flverify.certify.neighbourhood import contraction
from flverify.certify.rates import certify
from flverify.participation import Bernoulli, Full
from tests.certify import momentum

LOOP = Path(momentum.__file__)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A certificate of one's own, and one of FOCUS."""
    folder, law = tmp_path_factory.mktemp("own"), Bernoulli(["1/2"] * 2)
    own = momentum.Momentum(Fraction(1, 2), Fraction(1, 4))
    found = contraction(own, law, "1/10", 1, loop=momentum)
    shipped = certify(Focus("1/8"), law, "1/10", 1)
    for name, one in (("own", found), ("focus", shipped)):
        (folder / f"{name}.json").write_text(json.dumps(one.certificate))
    return folder


def test_it_is_accepted_with_its_loop(run, files):
    done = run("check", files / "own.json", "--loop", LOOP)
    words = " ".join(done.stdout.split())
    assert done.code == 0
    assert "algorithm own:Momentum with step_size = 1/2, momentum = 1/4" in words
    assert "momentum.py, with which it was certified" in words


def test_its_json_has_the_rate(run, files):
    found = json.loads(
        run("check", files / "own.json", "--loop", LOOP, "--json").stdout
    )
    certificate = json.loads((files / "own.json").read_text())
    assert (found["accepted"], found["rho"]) == (True, certificate["rho"])
    assert found["plain"] == "accepted"


def test_there_is_no_page_of_it(fails, files, tmp_path):
    place = tmp_path / "proof.py"
    asked = files / "own.json", "--loop", LOOP, "--page", place
    assert "--page must come with a method whose loop" in fails("check", *asked)
    assert not place.exists()


def test_a_changed_loop_is_rejected(run, files, tmp_path):
    changed = tmp_path / "momentum.py"
    changed.write_text(LOOP.read_text() + "\n")
    done = run("check", files / "own.json", "--loop", changed)
    assert done.code == 1
    assert "to the letter" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("own.json", [], "--loop must name the plain loop of 'own:Momentum'"),
        ("focus.json", ["--loop", LOOP], "--loop must come with a method of one's own"),
        ("own.json", ["--loop", "none.py"], "loop must be a file of Python"),
        ("own.json", ["--loop", __file__], "loop must be a file with the functions"),
        ("own.json", ["--loop", LOOP.parent], "loop must be a file of Python"),
    ],
    ids=range(5),
)
def test_a_wrong_loop_is_one_sentence(fails, files, name, options, message):
    assert message in fails("check", files / name, *options)


def test_what_takes_too_long_is_refused(fails, files, tmp_path):
    certificate = json.loads((files / "own.json").read_text())
    found = dict(certificate, law=classes(Full(1001)).description)
    place = tmp_path / "many.json"
    place.write_text(json.dumps({**found, "digest": digest(found)}))
    assert "are played" in fails("check", place, "--loop", LOOP)
