"""What scalar implications are read, searched and re-checked with."""
