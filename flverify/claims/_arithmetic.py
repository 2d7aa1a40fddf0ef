"""Printed expressions as plain arithmetic on fractions."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable

from flverify._core.errors import InputError

_RELATIONS: dict[str, type[ast.cmpop]] = {"Eq": ast.Eq, "Ne": ast.NotEq}
_PLAIN = {"Max": "max", "Min": "min", "Abs": "abs", "sqrt": "root"}
# what a script says by itself
_TAKEN = {*_PLAIN.values(), "F", "isqrt", "left", "print", "right"}


class _UnknownError(Exception):
    """What has no plain form."""


def renamed(name: str) -> str:
    """Return a name of Python for the name of a symbol.

    Examples
    --------
    >>> renamed("B_{r-1}"), renamed("lambda"), renamed("left"), renamed("tau")
    ('v_B__r_1_', 'v_lambda', 'v_left', 'tau')
    """
    plain = name.isidentifier() and not keyword.iskeyword(name)
    if plain and name not in _TAKEN:
        return name
    return "v_" + re.sub(r"\W", "_", name)


def arithmetic(text: str, names: Iterable[str]) -> str | None:
    """Return an expression or a relation as Python on fractions; None if it has none.

    Every integer becomes a fraction except in an exponent; halves in an exponent and
    square roots become `root`, an exact one.

    Examples
    --------
    >>> arithmetic("8/(1 - q**2/4) <= 16/3", ["q"])
    'F(8) / (F(1) - q ** 2 / F(4)) <= F(16) / F(3)'
    >>> arithmetic("sqrt(2)*x**(3/2)", ["x"])
    'root(F(2)) * root(x) ** 3'
    >>> arithmetic("Eq(log(x), 1)", ["x"]) is None
    True
    """
    for name in sorted(names, key=len, reverse=True):
        if renamed(name) != name:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", renamed(name), text)
    try:
        return ast.unparse(_exact(ast.parse(text, mode="eval").body))
    except (_UnknownError, SyntaxError):
        return None


def sides_of(relation: str) -> tuple[str, str, str]:
    """Split a relation at its sign.

    Examples
    --------
    >>> sides_of("F(1) / q <= F(2)")
    ('F(1) / q', '<=', 'F(2)')
    """
    tree = ast.parse(relation, mode="eval").body
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise InputError(
            f"a relation must have one sign; got {relation}; state its two sides."
        )
    left, right = ast.unparse(tree.left), ast.unparse(tree.comparators[0])
    return left, relation[len(left) : -len(right)].strip(), right


def _exact(node: ast.expr) -> ast.expr:
    match node:
        case ast.Constant(value=bool()) | ast.Name():
            out: ast.expr = node
        case ast.Constant(value=int()):
            out = _call("F", node)
        case ast.UnaryOp(op=ast.Invert()):  # of a truth, which ~ takes for a number
            out = ast.UnaryOp(ast.Not(), _exact(node.operand))
        case ast.UnaryOp():
            out = ast.UnaryOp(node.op, _exact(node.operand))
        case ast.BinOp(op=ast.Pow()):
            out = _power(_exact(node.left), _quotient(node.right))
        case ast.BinOp():
            out = ast.BinOp(_exact(node.left), node.op, _exact(node.right))
        case ast.Compare():
            sides = [_exact(one) for one in node.comparators]
            out = ast.Compare(_exact(node.left), node.ops, sides)
        case ast.Call(func=ast.Name(id=name), args=given):
            out = _function(name, [_exact(one) for one in given])
        case _:
            raise _UnknownError
    return out


def _function(name: str, given: list[ast.expr]) -> ast.expr:
    if name in _RELATIONS:
        return ast.Compare(given[0], [_RELATIONS[name]()], given[1:])
    if name not in _PLAIN:
        raise _UnknownError
    return _call(_PLAIN[name], *given)


def _power(base: ast.expr, exponent: tuple[int, int]) -> ast.expr:
    above, below = exponent
    if below not in (1, 2):
        raise _UnknownError
    rooted = base if below == 1 else _call("root", base)
    return ast.BinOp(rooted, ast.Pow(), ast.Constant(above))


def _call(name: str, *given: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(given), [])


def _quotient(node: ast.expr) -> tuple[int, int]:
    """Numerator and denominator of an exponent."""
    match node:
        case ast.UnaryOp(op=ast.USub()):
            above, below = _quotient(node.operand)
            return -above, below
        case ast.BinOp(op=ast.Div(), left=ast.Constant(value=int(above))) if isinstance(
            node.right, ast.Constant
        ) and isinstance(node.right.value, int):
            return above, node.right.value
        case ast.Constant(value=int(above)):
            return above, 1
    raise _UnknownError
