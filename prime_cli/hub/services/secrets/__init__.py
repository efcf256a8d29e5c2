"""Secrets and variables: of owners, and of environments."""
