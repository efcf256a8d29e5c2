"""Bundles: one file with all that environments need, for machines without a network."""
