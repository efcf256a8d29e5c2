"""The gateway: one loopback proxy for all model calls of a run."""
