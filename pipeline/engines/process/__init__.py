"""Each engine in a process of its own: making, asking, keeping and replacing it."""
