"""The gateway: one loopback proxy that all model calls of a run go through."""
