"""Suites: many evaluations described in one TOML file, run as one."""
