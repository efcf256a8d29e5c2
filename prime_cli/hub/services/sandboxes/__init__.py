"""Sandboxes: rows, owners, quotas and tokens; the supervisor has what runs."""
