"""Sampled trajectories in panels: many runs and step sizes advance together."""

from flverify.engines.simulate._simulate import simulate

__all__ = ["simulate"]
