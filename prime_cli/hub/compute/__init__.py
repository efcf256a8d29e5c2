"""Providers of machines, behind one small protocol."""
