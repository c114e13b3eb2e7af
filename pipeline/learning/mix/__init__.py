"""Training data out of all sources."""
