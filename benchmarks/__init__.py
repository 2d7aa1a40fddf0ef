"""What is timed and against whom: `python -m benchmarks`, one file per benchmark."""
