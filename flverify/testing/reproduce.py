"""How a reader repeats what an assertion found: a command, or lines of Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from flverify._core.exact import is_symbolic
from flverify.algorithms.agnostic_fedavg import Ball, Box
from flverify.participation._law import Participation
from flverify.participation.explicit_law import ExplicitLaw
from flverify.problems.quadratics import Quadratics
from flverify.testing import written
from flverify.testing.setting import Setting

CATALOGUE = "flverify.algorithms."
COMMON = {"step_size": "--step-size", "local_steps": "--local-steps"}
IN_FILES = ("explicit", "chain")  # laws that a command reads from a file
MOST = 64  # numbers of a problem that are written out


def command(verb: str, asked: Setting, *more: str) -> str:
    """Return the `flverify` command on a setting; empty if there is none."""
    parts = [_algorithm(asked), _law(asked.participation), _problem(asked)]
    if not all(parts):
        return ""
    flat = [word for part in parts for word in part]
    floats = verb in ("rate", "bias") and not _is_exact(asked)
    words = ["flverify", verb, *flat, *(["--float"] if floats else []), *more]
    return " ".join(shlex.quote(word) for word in words)


def certified(
    verb: str, algorithm: Any, law: Participation, options: Iterable[str]
) -> str:
    """Return `flverify VERB` with options; empty if it has no such method or law."""
    parts = [_algorithm_words(algorithm), _law(law)]
    if not all(parts):
        return ""
    size = ["--n-clients", str(law.n_clients)]
    words = ["flverify", verb, *parts[0], *parts[1], *size, *options]
    return " ".join(shlex.quote(word) for word in words)


def law_command(law: Participation) -> str:
    """Return the command that tabulates a law; empty if there is none."""
    words = _law(law)
    size = ["--n-clients", str(law.n_clients)]
    floats = [] if law.exact else ["--float"]
    listed = ["flverify", "law", *words[1:], *size, *floats]
    return " ".join(shlex.quote(word) for word in listed) if words else ""


def script(asked: Setting, imports: Iterable[str], *last: str) -> str:
    """Return Python lines: imports, the problem, algorithm and law, then `last`."""
    writer = _Writer()
    made = {
        "problem": writer.problem(asked.problem),
        "algorithm": writer.algorithm(asked),
        "law": writer.law(asked.participation),
    }
    lines = [*imports, *writer.imports()]
    return "\n".join([*lines, *(f"{k} = {v}" for k, v in made.items()), *last])


def numbers(values: Any) -> str:
    """Numbers as a Python list: rationals as text, so that they stay exact."""
    listed, writer = list(values), _Writer()
    if len(listed) > 1 and all(v == listed[0] for v in listed):
        return f"[{writer.literal(listed[0])}] * {len(listed)}"
    return writer.literal(listed)


def _is_exact(asked: Setting) -> bool:
    settings = [getattr(asked.algorithm, f.name) for f in fields(asked.algorithm)]
    exact = asked.problem.exact and asked.participation.exact
    return exact and not any(isinstance(v, float) for v in settings)


def _option(name: str, value: object) -> list[str]:
    text = str(value)
    return [f"{name}={text}"] if text.startswith("-") else [name, text]


def _algorithm(asked: Setting) -> list[str]:
    return [] if asked.is_function else _algorithm_words(asked.algorithm)


def _algorithm_words(given: Any) -> list[str]:
    if not type(given).__module__.startswith(CATALOGUE):
        return []
    words = [type(given).__module__.removeprefix(CATALOGUE)]
    for one in fields(given):
        value = getattr(given, one.name)
        if is_symbolic(value):
            return []
        if one.name in COMMON:
            words += _option(COMMON[one.name], value)
        elif value != one.default:  # what commands fill in has no default here
            words += ["--set", f"{one.name}={_setting(value)}"]
    return words


def _setting(value: Any) -> str:
    if isinstance(value, Ball):
        return f"ball:{value.radius}"
    if isinstance(value, Box):
        return f"box:{value.lower},{value.upper}"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _law(law: Participation) -> list[str]:
    kinds = law.spec.split(":")
    shipped = type(law).__module__.startswith("flverify.participation.")
    if not shipped or any(kind in IN_FILES for kind in kinds):
        return []
    return ["--law", law.spec]


def _problem(asked: Setting) -> list[str]:
    problem = asked.problem
    if not isinstance(problem, Quadratics) or problem.dim != 1:
        return []
    curvatures, linear = problem.hessians[:, 0, 0], problem.linear[:, 0]
    if len(linear) > MOST or any(h == 0 or is_symbolic(h) for h in curvatures):
        return []
    centres = [b / h for b, h in zip(linear, curvatures, strict=True)]
    listed: dict[str, Any] = {"--curvatures": curvatures, "--centres": centres}
    options = [_option(k, ",".join(map(str, v))) for k, v in listed.items()]
    return [word for option in options for word in option]


class _Writer:
    """Writes values as Python, and remembers what has to be imported."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def imports(self) -> list[str]:
        """Return one line per module."""
        listed = sorted(self._names.items())
        return [f"from {m} import {', '.join(sorted(n))}" for m, n in listed]

    def problem(self, problem: Any) -> str:
        """Write a small quadratic problem out; name any other."""
        small = isinstance(problem, Quadratics) and problem.hessians.size <= MOST
        if not small:
            return f"...  # {problem!r}, the one of the test"
        self._use("flverify.problems", "Quadratics")
        hessians, linear = problem.hessians.tolist(), problem.linear.tolist()
        return f"Quadratics({self.literal(hessians)}, {self.literal(linear)})"

    def algorithm(self, asked: Setting) -> str:
        """Write an algorithm as the call that makes it; name a function."""
        if not asked.is_function:
            return self._or_named(asked.algorithm)
        name = getattr(asked.algorithm, "__qualname__", repr(asked.algorithm))
        home = getattr(asked.algorithm, "__module__", "")
        return f"...  # {home}.{name}, the one of the test"

    def law(self, law: Participation) -> str:
        """Write a law as the call that makes it; name one that cannot be written."""
        return self._or_named(law)

    def _or_named(self, value: Any) -> str:
        text = self.literal(value)
        if "<" not in text:  # as in <Mine at 0x7f>, which is no Python
            return text
        return f"...  # {value!r}, the one of the test"

    def literal(self, value: Any) -> str:
        """Write a value."""
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        if isinstance(value, Fraction):
            return str(value) if value.denominator == 1 else self._rational(value)
        if isinstance(value, list):
            return f"[{', '.join(self.literal(v) for v in value)}]"
        if isinstance(value, tuple):
            inner = ", ".join(self.literal(v) for v in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, Mapping):
            pairs = (f"{self.literal(k)}: {self.literal(v)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        if is_dataclass(value):
            return self._call(value)
        return self._symbolic(value) if is_symbolic(value) else repr(value)

    def _call(self, made: Any) -> str:
        home = type(made).__module__
        parts = home.split(".")
        public = ".".join(parts[:2]) if parts[0] == "flverify" else home
        self._use(public, type(made).__name__)
        if isinstance(made, ExplicitLaw):  # it keeps its table as pairs
            return f"ExplicitLaw({self.literal(dict(made.table))}, {made.n_clients})"
        own = _OwnWriter(self._names) if parts[0] != "flverify" else self
        return written.call(made, own.literal)

    def _rational(self, value: Fraction) -> str:
        return f'"{value}"'

    def _symbolic(self, value: Any) -> str:
        """Write a number or expression of sympy: 1/4 alone would be a float."""
        if value.is_Rational:
            return self.literal(Fraction(value.p, value.q))
        text: str = sympy.srepr(value)
        for name in re.findall(r"[A-Za-z]\w*", re.sub("'[^']*'", "", text)):
            if hasattr(sympy, name):
                self._use("sympy", name)
        return text

    def _use(self, module: str, name: str) -> None:
        self._names.setdefault(module, set()).add(name)


class _OwnWriter(_Writer):
    """Writes settings of a user's own class, which need not read text."""

    def __init__(self, names: dict[str, set[str]]) -> None:
        self._names = names

    def _rational(self, value: Fraction) -> str:
        self._use("fractions", "Fraction")
        return f"Fraction({value.numerator}, {value.denominator})"


def law_script(law: Participation) -> str:
    """Return the Python lines that print a law's averaging weights."""
    writer = _Writer()
    made = f"law = {writer.law(law)}"
    return "\n".join([*writer.imports(), made, "print(law.averaging_weights())"])
