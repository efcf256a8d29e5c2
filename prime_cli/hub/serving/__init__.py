"""A hub behind a socket: the server, and what it watches, counts and limits around the app."""
