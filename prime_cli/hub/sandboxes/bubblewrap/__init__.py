"""Sandboxes of bubblewrap: this system's programs, a root in memory, and nothing else."""
