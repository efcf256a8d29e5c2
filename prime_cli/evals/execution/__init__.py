"""A live run: gateway and worker side by side, and the events between them."""
