"""Tests of the reference loops, against hand computation and known identities."""
