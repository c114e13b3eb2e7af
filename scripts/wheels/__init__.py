"""Build the packages that the package index has as source only."""
