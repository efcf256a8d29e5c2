"""How pods are reached."""
