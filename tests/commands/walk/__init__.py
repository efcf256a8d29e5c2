"""Every command, run for real in every mode: a world to run it in, and the words it is run with."""
