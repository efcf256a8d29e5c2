"""Publish a project or a wheel as a version on a hub."""
