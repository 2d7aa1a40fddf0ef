"""A second opinion by cvc5, asked in a child process that can be ended.

One step that cvc5 counts, a cylindrical covering, may take minutes, so no count bounds
it and it never runs in this process; a child that is not back in time has no opinion,
and what z3 found then stands alone. As a script this file is that child.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

STEPS = 2_000_000  # cvc5's own count of resources
PATIENCE = 20.0  # seconds; past it there is no opinion, whatever it would have been

Opinion = Literal["sat", "unsat"]


@cache
def installed() -> bool:
    """Whether cvc5 can be imported."""
    return find_spec("cvc5") is not None


def ask(script: str, patience: float = PATIENCE) -> Opinion | None:
    """Ask cvc5 about an SMT-LIB script that ends in (check-sat).

    Parameters
    ----------
    script : str
    patience : float
        Seconds before the child is killed.

    Returns
    -------
    {"sat", "unsat"} or None
        None where cvc5 is not installed, does not know, or is not back in time.

    Examples
    --------
    >>> ask("(set-logic QF_NRA) (assert false) (check-sat)") in ("unsat", None)
    True
    """
    if not installed():
        return None
    command = [sys.executable, "-P", __file__]
    try:
        child = subprocess.run(  # noqa: S603 - our own file, no shell
            command,
            input=script,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    said = child.stdout.strip()
    if said == "sat":
        return "sat"
    return "unsat" if said == "unsat" else None


def _child(script: str) -> str:
    """Answer of cvc5; runs in the child alone."""
    cvc5 = import_module("cvc5")
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit", str(STEPS))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "question")
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(command.invoke(solver, parser.getSymbolManager()))
    return "".join(answers)


if __name__ == "__main__":
    sys.stdout.write(_child(sys.stdin.read()))
