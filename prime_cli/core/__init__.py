"""What everything may use: errors, refs, paths, config, progress. Standard library first."""
