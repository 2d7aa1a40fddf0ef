"""A claim that raises becomes an error of its own; all others are judged and kept."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flverify._core.errors import InputError
from flverify.claims.audit import Audited, ClaimsFailedError, Failed, attempt
from flverify.claims.registry import claims_in
from flverify.claims.store import Store
from flverify.claims.workers import judge_all

FILE = """
import os

from flverify._core.errors import RefusedError
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim

HERE = dict(source=Source("flverify", "example"), statement="", proposition="p",
            constants={"two": 2}, twin={"two": 3})


@claim("demo.first", **HERE)
def first(c):
    return judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")


@claim("demo.refused", **HERE)
def refused(c):
    raise RefusedError("the engine refuses this.")


@claim("demo.twin", **HERE)
def twin(c):
    return judge.identity([("sum", 2, [2][c.two - 2])], scope="the two numbers")


@claim("demo.nothing", **HERE)
def nothing(c):
    return None


@claim("demo.last", **HERE)
def last(c):
    return judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")
"""
DEAD = """

@claim("demo.dead", **HERE)
def dead(c):
    os.kill(os.getpid(), 9)
"""
SLEEPING = """

@claim("demo.sleeping", **HERE)
def sleeping(c):
    import time
    time.sleep(3600)
"""
UNGUARDED = """
from pathlib import Path

from flverify.claims.audit import ClaimsFailedError
from flverify.claims.registry import claims_in
from flverify.claims.workers import judge_all

known = claims_in([Path({path!r})])
claims = [known["demo.first"], known["demo.last"]]
try:
    list(judge_all(claims, kept=None, fresh=True, workers=2))
except ClaimsFailedError as error:
    print(error)
"""
BAD = ["demo.refused", "demo.twin", "demo.nothing"]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FILE, encoding="utf-8")
    return file


def judged(claims, kept, **options):
    """Return the ids that were judged, those from the store, and those that failed."""
    found, error = [], None
    running = judge_all(claims, kept=kept, **{"fresh": False, "workers": 1, **options})
    try:
        found.extend(running)
    except ClaimsFailedError as raised:
        error = raised
    names = {one.claim.id for _, one, _ in found}
    known = {one.claim.id for _, one, kept in found if kept}
    return names, known, error


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_others_are_judged_and_kept(path, tmp_path, workers):
    claims = list(claims_in([path]).values())
    kept = Store(tmp_path / "kept")
    names, known, error = judged(claims, kept, workers=workers)
    assert names == {"demo.first", "demo.last"}
    assert not known
    assert [one.claim.id for one in error.failed] == BAD
    names, known, error = judged(claims, kept, workers=workers)
    assert names == known == {"demo.first", "demo.last"}
    assert [one.claim.id for one in error.failed] == BAD


def test_the_error_says_which_claim_and_where(path):
    failed = {
        k: one.why
        for k, c in claims_in([path]).items()
        if isinstance(one := attempt(c), Failed)
    }
    assert list(failed) == BAD
    assert "the check of demo.refused" in failed["demo.refused"]
    assert "RefusedError: the engine refuses this (" in failed["demo.refused"]
    assert "IndexError" in failed["demo.twin"]
    assert "mine.py, line 25" in failed["demo.twin"]
    assert "a finding of the judge; got None" in failed["demo.nothing"]
    together = str(ClaimsFailedError([Failed(None, "one."), Failed(None, "two.")]))
    assert together == "one; two."


ODD = """

@claim("demo.odd", **{{**HERE, "twin": {{}}, "no_control": "it is open", {twin}}})
def odd(c):
    found = {{"a": judge.identity([("sum", 2, 2)], scope="the two numbers")}}
    found["b"] = judge.inconclusive("open")
    return judge.readings(found) if c.two == 2 else {returned}
"""


@pytest.mark.parametrize("returned", ["None", "'REFUTED'"])
@pytest.mark.parametrize(
    ("twin", "said"),
    [
        ("'twin': {'two': 3}", "must return a finding of the judge; got {returned};"),
        ("'reading_twins': {'a': {'two': 3}}", "must run without an exception"),
    ],
)
def test_a_twin_has_to_return_a_finding_too(path, returned, twin, said):
    path.write_text(FILE + ODD.format(twin=twin, returned=returned), encoding="utf-8")
    failed = attempt(claims_in([path])["demo.odd"])
    assert isinstance(failed, Failed)
    assert f"the check of demo.odd {said.format(returned=returned)}" in failed.why


@pytest.mark.slow
def test_a_worker_that_dies_is_one_error_whatever_it_leaves(path):
    dead = "".join(DEAD.replace("dead", f"dead{k}") for k in range(5))
    path.write_text(FILE + dead, encoding="utf-8")
    claims = [c for k, c in claims_in([path]).items() if k not in BAD]
    names, _, error = judged(claims, None, workers=2)
    (one,) = error.failed
    left = [claim.id for claim in claims if claim.id not in names]
    assert one.claim.id == left[0]
    assert (
        f"left {len(left)} claims without an answer, the first of them {left[0]}"
        in (one.why)
    )
    assert "demo.dead4" not in str(error)
    assert "ended abruptly" in str(error)
    assert "--workers 1" in str(error)
    assert "main guard" in str(error)


@pytest.mark.slow
def test_a_script_without_a_main_guard_gets_one_sentence(path, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED.format(path=str(path)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert "left 2 claims without an answer, the first of them demo.first" in (
        done.stdout
    )
    assert "demo.last" not in done.stdout


@pytest.mark.parametrize("given", ["mine.py", Path("mine.py"), ["mine.py"], None])
def test_files_of_claims_are_a_list_of_paths(given):
    with pytest.raises(InputError, match="must be a list of paths; got"):
        claims_in(given)


def test_an_interruption_is_let_through(path):
    (claim, *_) = claims_in([path]).values()

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged([claim], None, check=interrupted)


def test_closing_ends_the_processes_that_judge(path):
    path.write_text(FILE + SLEEPING, encoding="utf-8")
    known = claims_in([path])
    claims = [known["demo.first"], known["demo.sleeping"]]
    before = {*multiprocessing.active_children()}  # of other tests
    running = judge_all(claims, kept=None, fresh=True, workers=2)
    assert next(running)[0] == 0
    begun = time.monotonic()
    running.close()
    assert time.monotonic() - begun < 30  # of an hour
    assert {*multiprocessing.active_children()} <= before


def test_a_claim_that_is_well_is_no_failure(path: Path):
    (claim, *_) = claims_in([path]).values()
    assert isinstance(attempt(claim), Audited)
