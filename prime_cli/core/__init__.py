"""Shared by every package: errors, refs, paths, config, progress. Standard library first."""
