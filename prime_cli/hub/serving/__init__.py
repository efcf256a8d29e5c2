"""A served hub: the server, and the middleware around the application."""
