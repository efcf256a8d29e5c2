"""Sandboxes in containers of Podman or Docker, by the Engine API."""
