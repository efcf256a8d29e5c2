"""Environment files as data: source lists, content hash, wheels, safe unpacking. No code is run."""
