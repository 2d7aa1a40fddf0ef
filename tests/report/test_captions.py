"""Captions: what is no paragraph is one sentence."""

from __future__ import annotations

import pytest

from flverify._core.errors import InputError
from flverify.report.captions import caption


def test_claims_among_the_paragraphs_are_refused():
    with pytest.raises(InputError, match="name claims by claims=CLAIMS"):
        caption("A line", "Scope: one line.", ("focus.eq4.R",))
