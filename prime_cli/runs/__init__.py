"""The folder of a run: its files, the statistics of it, and reading it back."""
