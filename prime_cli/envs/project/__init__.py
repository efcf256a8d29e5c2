"""Environment projects: folders with a pyproject.toml, made, read, checked and built."""
