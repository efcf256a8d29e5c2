"""Is this environment any good? Asked without a model: see docs/environments.md."""
