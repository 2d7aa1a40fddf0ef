"""A gap to the worst quadratics can be real: other functions are worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from flverify.engines.simulate import simulate
from flverify.problems import LogSpiral
from flverify.report import figures
from tests.certify.test_soundness import CLOSE, outcome, some_setting

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_one_of_the_settings_with_a_gap_cannot_be_certified_closely():
    # docs/certificates.md tells of it
    setting = some_setting(2546)
    result = outcome(setting)
    assert result.certified > result.worst.lower_bound + CLOSE
    clients = LogSpiral(setting.law.n_clients, setting.mu, 1, pitch=1)
    sampled = simulate(
        clients,
        result.algorithm,
        setting.law,
        rounds=80,
        runs=20_000,
        seed=3,
        start=[1, 0],
    )
    rate, low, high = figures.load_figure("spiral").rate(sampled.errors)
    assert low > result.worst.lower_bound + 5 * CLOSE
    assert low < rate < high < result.certified
    told = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")
    assert f"{low:.3f} to {high:.3f}" in " ".join(told.split())
