"""A run while it goes on: gateway and worker side by side, and the events between them."""
