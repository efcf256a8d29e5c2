"""Checks the quality of an environment without a model: see docs/environments.md."""
