"""Whether one run is better than another."""
