"""Which runs can go on, and whether they stay the same run."""
