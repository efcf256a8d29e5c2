"""Which runs can be resumed, and what a resume must not change."""
