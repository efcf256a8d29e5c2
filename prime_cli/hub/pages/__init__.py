"""Pages for browsers, written by the server."""
