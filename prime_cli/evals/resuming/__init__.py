"""A run goes on where it ended: what of it is owed, and that nothing changes which scores."""
