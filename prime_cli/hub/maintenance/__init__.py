"""Maintenance of a hub's data: garbage collection, backup, restore."""
