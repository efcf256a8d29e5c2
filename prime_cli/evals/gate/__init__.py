"""Limits of a run, and reports for CI."""
