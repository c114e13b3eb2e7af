"""Figures of the starter models on held-out data."""
