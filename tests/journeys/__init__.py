"""Pods from the first command to the last, by processes, on machines that are really there."""
