"""Training loops of the starter models."""
