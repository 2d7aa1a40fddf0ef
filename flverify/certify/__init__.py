"""Worst-case rates over a whole function class, with exact certificates."""
