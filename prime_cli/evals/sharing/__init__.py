"""Evaluations on a hub: push saved runs, and download them."""
