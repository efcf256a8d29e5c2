"""Evaluations: create, fill with samples in batches, finish, read, list, compare over time."""
