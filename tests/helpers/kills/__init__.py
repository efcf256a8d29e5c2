"""A served hub that is killed while a client works with it, and what is there afterwards."""
