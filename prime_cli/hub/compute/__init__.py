"""Where a hub gets machines from: providers, behind one small protocol."""
