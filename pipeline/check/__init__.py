"""The checks before a service."""
