"""Builds the packages that the index has as source only."""
