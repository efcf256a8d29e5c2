"""A cache of ready responses for public pages and files, which get most of the requests."""
