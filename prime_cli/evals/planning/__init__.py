"""From the flags of a command to the plan of a run and all that it names."""
