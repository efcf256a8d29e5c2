"""The published compute API as facts in tables, and traffic held against them."""
