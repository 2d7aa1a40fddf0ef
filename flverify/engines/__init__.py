"""The readings of a round: simulate, moments, symbolic; none imports another."""
