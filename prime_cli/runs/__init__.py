"""The folder of a run: its files, its statistics, and reading it back."""
