"""What a person or a script sees: the only importer of rich."""
