"""Advice for one's own data: what a log of participants supports, and which step size.

`log` reads an availability log, `fit` says which law it supports, `step_sizes`,
`class_wide`, `budget` and `rarest` say what an algorithm does on a problem under a law.
"""
