"""Sandboxes on this machine: providers, and the supervisor that holds what they make."""
