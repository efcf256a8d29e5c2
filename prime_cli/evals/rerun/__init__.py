"""Rerun or rescore a saved run."""
