"""Evaluations on a hub: saved runs pushed to it, and read from it again."""
