"""Limits that a run is held to, and the reports that a CI reads."""
