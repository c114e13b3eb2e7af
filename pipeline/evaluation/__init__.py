"""Comparing captions with a reference, and judging translations afterwards."""
