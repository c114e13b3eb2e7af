"""Start, watch and stop."""
