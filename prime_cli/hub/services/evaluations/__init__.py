"""Evaluations: made, filled with samples in batches, finished, read, listed, compared over time."""
