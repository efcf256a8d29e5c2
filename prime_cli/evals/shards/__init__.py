"""Parts of a run on many machines: which one is this, how to submit them, their merge."""
