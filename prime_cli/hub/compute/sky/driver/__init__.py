"""A script alone in its folder, so that none of our modules shadow its imports."""
