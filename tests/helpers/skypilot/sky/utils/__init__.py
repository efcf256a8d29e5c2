"""Odds and ends."""
