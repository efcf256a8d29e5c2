"""A script alone in its folder, so that nothing of ours is in the way of what it imports."""
