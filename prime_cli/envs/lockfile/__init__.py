"""`prime.lock`: which environments, in which bytes, a workspace has; written, kept and obeyed."""
