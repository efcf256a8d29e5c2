"""Whose code may run here: owners that somebody trusted, and the signatures of their wheels."""
