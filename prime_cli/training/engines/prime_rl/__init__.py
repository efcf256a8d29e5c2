"""prime-rl as an engine: its file is generated, its launcher runs in the user's checkout."""
