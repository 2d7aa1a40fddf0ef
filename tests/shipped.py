"""The shipped claims, read once for all tests: sixty files take most of a second."""

from __future__ import annotations

from flverify.claims.registry import shipped_claims

CLAIMS = shipped_claims()
