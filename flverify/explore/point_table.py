"""The table at the point, in HTML: values, how much was shown, and formulas."""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import lru_cache

from flverify.claims.verdict import Verdict
from flverify.explore.at_the_point import PointRow
from flverify.report.pages.mathematics import mathml

_HEAD = (
    '<table><thead><tr><th scope="col">quantity and formula</th>'
    '<th scope="col">value</th><th scope="col">verdict</th></tr></thead><tbody>'
)
_WORDS = frozenset(str(verdict) for verdict in Verdict)


def table(fast: Iterable[PointRow], slow: Iterable[PointRow], note: str) -> str:
    """Return the table; a note stands below it while something is still to come.

    Parameters
    ----------
    fast, slow : rows
        The rounds that follow from a rate come right after it.
    note : str
        HTML.
    """
    rows = [*fast, *slow]
    body = "".join(_row(group) for group in _groups(rows))
    scopes = "".join(
        f"<p><b>{html.escape(labels)}:</b> {html.escape(scope)}.</p>"
        for scope, labels in _scopes(rows).items()
    )
    end = f"<p>{note}</p>" if note else ""
    return f'{_HEAD}{body}</tbody></table>{end}<div class="small">{scopes}</div>'


def _groups(rows: Iterable[PointRow]) -> list[list[PointRow]]:
    """Put rounds and the rate they follow from together: their verdict is one."""
    out: list[list[PointRow]] = []
    for row in rows:
        kind, _, what = row.name.partition("_")
        if what == "rounds" and out and out[-1][0].name == f"{kind}_rate":
            out[-1].append(row)
        else:
            out.append([row])
    return out


def _scopes(rows: Iterable[PointRow]) -> dict[str, str]:
    """Every scope once, with the quantities that have it."""
    out: dict[str, str] = {}
    for row in rows:
        out[row.scope] = (
            f"{out[row.scope]}, {row.label}" if row.scope in out else row.label
        )
    return out


def _row(group: list[PointRow]) -> str:
    labels = [
        f'{html.escape(row.label)} <span class="formula">{formula(row.formula)}</span>'
        for row in group
    ]
    values = [html.escape(row.text) for row in group]
    verdicts = [badge(row.verdict) for row in group]
    return "".join(
        f'<tr class="{"first" if k == 0 else "more"}">'
        f'<th scope="row">{label}</th><td class="value">{value}</td>'
        f"<td>{verdict}</td></tr>"
        for k, (label, value, verdict) in enumerate(
            zip(labels, values, verdicts, strict=True)
        )
    )


def badge(verdict: str) -> str:
    """Return a verdict in its colours, and other words as they are.

    Examples
    --------
    >>> badge("PROVED")
    '<span class="verdict PROVED">PROVED</span>'
    """
    if verdict not in _WORDS:
        return f'<span class="small">{html.escape(verdict)}</span>'
    return f'<span class="verdict {verdict}">{verdict}</span>'


@lru_cache(maxsize=64)
def formula(latex: str) -> str:
    """Return a formula as MathML, or as its text where it cannot be set."""
    # of these the converter knows no letter, or makes too tall a bracket
    plain = latex.replace(r"\varrho", r"\operatorname{spr}").replace(r"\top", "T")
    plain = plain.replace(r"\big", "")
    return mathml(plain) or f"<code>{html.escape(latex)}</code>"
