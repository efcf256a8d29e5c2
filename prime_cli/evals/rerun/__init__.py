"""A saved run once more: its answers replayed, the whole of it rerun, its rewards given anew."""
